"""The C entry points of the object: `int32_t mlopt_main(int64_t *args)`.

Each public function gets one. The array holds a pointer for every argument in order, then
the workspace's pointer, the number of threads, and each dynamic size of the arguments in
order. The status is 0, or the number of the assert that failed (see mlopt-cpu-status).

    func.func @main(%x: memref<?xf32>, %out: memref<?xf32>) { … call @kernel_0 … }

    func.func private @main(%x: …, %out: …, %threads: index {mlopt.threads},
                            %status: memref<i32> {mlopt.status}) …
    func.func @mlopt_main(%args: !llvm.ptr) -> i32 {
      // pointers and sizes become memrefs, a status cell is made
      call @main(…)
      return the status cell
    }

All other functions become internal symbols, and kernels are not inlined.
A function that holds a scf.forall, or calls one that does, gets the number of threads; one
that may assert gets the status cell. A scalar argument is passed by a pointer to it.
`@main_workspace` of mlopt-cpu-arena becomes `int64_t mlopt_main_workspace(int64_t *args)`.
Legal for functions without results whose buffers have the identity layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import func

from ..base import Pass, PassError
from .entry_text import entry_function, workspace_function
from .functions import (
    STATUS,
    THREADS,
    WORKSPACE,
    adopt_function,
    append_argument,
    append_operands,
    callees_first,
    calls_in,
    defined_functions,
    is_public,
    marked_argument,
    reaches,
    set_noinline,
    set_private,
)

PREFIX = "mlopt_"


@dataclass(frozen=True)
class CpuEntry(Pass):
    """Add the C entry points; pass threads and a status cell to the functions that need them."""

    name: ClassVar[str] = "mlopt-cpu-entry"

    def run(self, op: ir.Operation) -> None:
        """Write an entry function for each public function, which becomes private."""
        hosts = [function for function in defined_functions(op) if is_public(function)]
        for function in hosts:
            _check_host(function)
        _thread_through(op, reaches(op, "scf.forall"), ir.IndexType.get(), THREADS)
        cell = ir.Type.parse("memref<i32>")
        _thread_through(op, reaches(op, "cf.assert"), cell, STATUS)
        sizes = {function.sym_name.value: function for function in defined_functions(op)}
        for function in defined_functions(op):
            set_private(function)
            if "mlopt.kernel" in function.attributes:
                set_noinline(function)
        for function in hosts:
            _add_entry(op, function, sizes.get(f"{function.sym_name.value}_workspace"))


def _check_host(function: func.FuncOp) -> None:
    name = function.sym_name.value
    if function.type.results:
        raise PassError(
            function,
            f"@{name} returns values, an entry point cannot; mlopt-outline makes them arguments",
        )
    for number, type_ in enumerate(function.type.inputs):
        if isinstance(type_, ir.UnrankedMemRefType):
            raise PassError(function, f"argument {number} of @{name} has no rank: {type_}")
        if isinstance(type_, ir.MemRefType) and type_.layout != _identity(type_):
            message = f"argument {number} of @{name} is {type_}; entry points take contiguous buffers"
            raise PassError(function, message)


def _identity(type_: ir.MemRefType) -> ir.Attribute:
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))


def _thread_through(module: ir.Operation, names: set[str], type_: ir.Type, mark: str) -> None:
    """Give the functions ``names`` an argument marked ``mark``, and pass it along in their calls."""
    functions = [function for function in callees_first(module) if function.sym_name.value in names]
    for function in functions:
        argument = append_argument(function, type_, mark)
        for call, callee in calls_in(function):
            if callee in names:
                append_operands(call, [argument])


def _add_entry(module: ir.Operation, function: func.FuncOp, sizes: func.FuncOp | None) -> None:
    name = function.sym_name.value
    marks = {
        argument.arg_number: mark
        for mark in (WORKSPACE, THREADS, STATUS)
        if (argument := marked_argument(function, mark)) is not None
    }
    texts = [entry_function(PREFIX + name, name, list(function.type.inputs), marks)]
    if sizes is not None:
        callee = sizes.sym_name.value
        texts.append(workspace_function(PREFIX + callee, callee, list(sizes.type.inputs)))
    for text in texts:
        entry = adopt_function(module, text)
        if WORKSPACE in function.attributes:
            entry.attributes[WORKSPACE] = function.attributes[WORKSPACE]
