r"""A hook around each call of a kernel, for profilers; one comparison a call while there is none.

    func.func @main(%x: memref<…>) {
      call @softmax_0(%x) : (memref<…>) -> ()

    func.func @main(%x: memref<…>, %hook: !llvm.ptr {mlopt.hook}) {
      %hooked = llvm.icmp "ne" %hook, %null
      scf.if %hooked { call @mlopt_hook(%hook, %name, %begin) : … }    // %name: "softmax_0\00"
      call @softmax_0(%x) : (memref<…>) -> ()
      scf.if %hooked { call @mlopt_hook(%hook, %name, %end) : … }

The hook is a C function `void hook(const char *kernel, int32_t begins)`. The entry point
`mlopt_main_hooked` takes it beside the array of arguments, `mlopt_main` passes none.
If a kernel fails, its end is not reported. Launches of GPU kernels get the same.
Legal on memrefs: kernels return nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, func, llvm, scf

from ..dialects.attributes import HOOK, KERNEL
from .base import Pass, PassError
from .cpu.functions import (
    adopt_function,
    callers_of,
    calls_in,
    defined_functions,
    fresh_name,
    marked_argument,
    set_private,
    thread_through,
)
from .operations import ops_named

_CALL_HOOK = """
func.func private @NAME(%hook: !llvm.ptr, %kernel: !llvm.ptr, %begins: i32) {
  llvm.call %hook(%kernel, %begins) : !llvm.ptr, (!llvm.ptr, i32) -> ()
  return
}
"""


@dataclass(frozen=True)
class Hooks(Pass):
    """Tell a hook when each kernel begins and ends."""

    name: ClassVar[str] = "mlopt-hooks"

    def run(self, op: ir.Operation) -> None:
        """Give the functions that call kernels the hook, and call it around those calls."""
        sites = {function.sym_name.value: _sites(op, function) for function in defined_functions(op)}
        callers = callers_of(op, {name for name, found in sites.items() if found})
        if not callers:
            return
        thread_through(op, callers, llvm.PointerType.get(), HOOK)
        helper = fresh_name(op, "mlopt_hook")
        set_private(adopt_function(op, _CALL_HOOK.replace("NAME", helper)))
        kernels = dict.fromkeys(kernel for found in sites.values() for _, kernel in found)
        names = {kernel: _name_constant(op, kernel) for kernel in kernels}
        for function in defined_functions(op):
            if sites.get(function.sym_name.value):
                _hook_calls(function, helper, [(site, names[k]) for site, k in _sites(op, function)])


def _sites(module: ir.Operation, function: func.FuncOp) -> list[tuple[ir.Operation, str]]:
    """The calls and launches of kernels in ``function``, with the kernels' names."""
    kernels = {f.sym_name.value for f in defined_functions(module) if KERNEL.get(f)}
    calls = [(call, callee) for call, callee in calls_in(function) if callee in kernels]
    if calls and function.sym_name.value in kernels:
        raise PassError(function, f"kernels do not call kernels: @{function.sym_name.value}")
    launches = ops_named(function, "gpu.launch_func")
    return calls + [(launch, ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1]) for launch in launches]


def _name_constant(module: ir.Operation, kernel: str) -> str:
    """A global with the kernel's name as a C string."""
    symbol = fresh_name(module, f"{kernel}_name")
    adopt_function(module, f'llvm.mlir.global internal constant @{symbol}("{kernel}\\00")')
    return symbol


def _hook_calls(function: func.FuncOp, helper: str, sites: Sequence[tuple[ir.Operation, str]]) -> None:
    hook = marked_argument(function, HOOK)
    assert hook is not None
    with ir.InsertionPoint.at_block_begin(function.entry_block), function.location:
        null = llvm.ZeroOp(hook.type).result
        hooked = llvm.ICmpOp(llvm.ICmpPredicate.ne, hook, null).result
    for call, name in sites:
        _tell(ir.InsertionPoint(call), call.location, hooked, helper, hook, name, begins=1)
        _tell(ir.InsertionPoint.after(call), call.location, hooked, helper, hook, name, begins=0)


def _tell(
    place: ir.InsertionPoint,
    location: ir.Location,
    hooked: ir.Value,
    helper: str,
    hook: ir.Value,
    name: str,
    begins: int,
) -> None:
    with place, location:
        branch = scf.IfOp(hooked)
    with ir.InsertionPoint(branch.then_block), location:
        address = llvm.AddressOfOp(hook.type, name).result
        func.CallOp([], helper, [hook, address, arith.constant(ir.IntegerType.get_signless(32), begins)])
        scf.YieldOp([])
