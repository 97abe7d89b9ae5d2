r"""A hook at the beginning and at the end of each kernel, for profilers; two comparisons while there is none.

    func.func @main(%x: memref<…>) {
      call @softmax_0(%x) : (memref<…>) -> ()
    func.func private @softmax_0(%x: memref<…>) attributes {mlopt.kernel} {
      scf.forall …
      return

    func.func @main(%x: memref<…>, %hook: !llvm.ptr {mlopt.hook}) {
      call @softmax_0(%x, %hook) : (memref<…>, !llvm.ptr) -> ()
    func.func private @softmax_0(%x: memref<…>, %hook: !llvm.ptr {mlopt.hook}) attributes {mlopt.kernel} {
      call @mlopt_hook(%hook, %name, %begin) : …    // %name: "softmax_0\00"; asks whether there is a hook
      scf.forall …
      call @mlopt_hook(%hook, %name, %end) : …
      return

The hook is a C function `void hook(const char *kernel, int32_t begins)`. The entry point
`mlopt_main_hooked` takes it beside the array of arguments, `mlopt_main` passes none.
If a kernel fails, its end is not reported. Legal on memrefs, for kernels of one block: they return nothing.
Each kernel has it once: with two calls beside each call in @main, the 48 layers of bench/layers.py took
0.83 s of code generation instead of 0.52.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, func, llvm

from ..dialects.attributes import HOOK, KERNEL
from .base import Pass, PassError
from .cpu.functions import (
    adopt_function,
    callers_of,
    calls_in,
    defined_functions,
    fresh_name,
    marked_argument,
    set_noinline,
    set_private,
    thread_through,
)

_CALL_HOOK = """
func.func private @NAME(%hook: !llvm.ptr, %kernel: !llvm.ptr, %begins: i32) {
  %none = llvm.mlir.zero : !llvm.ptr
  %hooked = llvm.icmp "ne" %hook, %none : !llvm.ptr
  scf.if %hooked {
    llvm.call %hook(%kernel, %begins) : !llvm.ptr, (!llvm.ptr, i32) -> ()
  }
  return
}
"""


@dataclass(frozen=True)
class Hooks(Pass):
    """Tell a hook when each kernel begins and ends."""

    name: ClassVar[str] = "mlopt-hooks"

    def run(self, op: ir.Operation) -> None:
        """Give kernels that are called the hook, and the functions that call them; they tell it."""
        calls = {function.sym_name.value: calls_in(function) for function in defined_functions(op)}
        called = {callee for found in calls.values() for _, callee in found}
        kernels = [
            function
            for function in defined_functions(op)
            if KERNEL.get(function) and function.sym_name.value in called
        ]
        names = {kernel.sym_name.value for kernel in kernels}
        for kernel in kernels:
            symbol = kernel.sym_name.value
            if any(callee in names for _, callee in calls[symbol]):
                raise PassError(kernel, f"kernels do not call kernels: @{symbol}")
            if len(kernel.body.blocks) > 1:
                raise PassError(kernel, f"@{symbol} has several blocks; run {self.name} on structured loops")
        if not kernels:
            return
        thread_through(op, callers_of(op, names), llvm.PointerType.get(), HOOK)
        helper = fresh_name(op, "mlopt_hook")
        told = adopt_function(op, _CALL_HOOK.replace("NAME", helper))
        set_private(told)
        set_noinline(told)
        for kernel in kernels:
            _tell(kernel, helper, _name_constant(op, kernel.sym_name.value))


def _name_constant(module: ir.Operation, kernel: str) -> str:
    """A global with the kernel's name as a C string."""
    symbol = fresh_name(module, f"{kernel}_name")
    adopt_function(module, f'llvm.mlir.global internal constant @{symbol}("{kernel}\\00")')
    return symbol


def _tell(kernel: func.FuncOp, helper: str, name: str) -> None:
    hook, i32 = marked_argument(kernel, HOOK), ir.IntegerType.get_signless(32)
    assert hook is not None
    begin = ir.InsertionPoint.at_block_begin(kernel.entry_block)
    for place, begins in ((begin, 1), (ir.InsertionPoint.at_block_terminator(kernel.entry_block), 0)):
        with place, kernel.location:
            address = llvm.AddressOfOp(hook.type, name).result
            func.CallOp([], helper, [hook, address, arith.constant(i32, begins)])
