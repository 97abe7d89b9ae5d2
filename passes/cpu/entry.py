"""The C entry points of the object: `int32_t mlopt_main(int64_t *args)`.

Each public function gets one. The array holds a pointer for every argument in order, then
the workspace's pointer, the number of threads, and each dynamic size of the arguments in
order. The status is 0, or the number of the assert that failed (see mlopt-cpu-status).

    func.func @main(%x: memref<?xf32>, %out: memref<?xf32>) { … call @kernel_0 … }

    func.func private @main(%threads: index {mlopt.threads}, %status: memref<i32> {mlopt.status},
                            %args: !llvm.ptr) {
      // pointers and sizes become memrefs where they are needed
      … call @kernel_0 …
    }
    func.func @mlopt_main(%args: !llvm.ptr) -> i32 {
      // a status cell is made
      call @main(…, %args)
      return the status cell
    }

All other functions become internal symbols, and kernels are not inlined.
A function that holds a scf.forall, or calls one that does, gets the number of threads; one
that may assert gets the status cell. A scalar argument is passed by a pointer to it.
`@main_workspace` of mlopt-cpu-arena becomes `int64_t mlopt_main_workspace(int64_t *args)`.
Legal for functions without results whose buffers have the identity layout.

Lowering: nothing can be called without it. 0.02 s of compile time for two GPT-2 blocks, 0.13 s for 48.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import KERNEL, STATUS, THREADS
from ..base import Pass
from .entry_points import add_entry, check_host
from .functions import (
    defined_functions,
    is_public,
    reaches,
    set_noinline,
    set_private,
    thread_through,
)


@dataclass(frozen=True)
class CpuEntry(Pass):
    """Add the C entry points; pass threads and a status cell to the functions that need them."""

    name: ClassVar[str] = "mlopt-cpu-entry"

    def run(self, op: ir.Operation) -> None:
        """Write an entry function for each public function, which becomes private."""
        hosts = [function for function in defined_functions(op) if is_public(function)]
        for function in hosts:
            check_host(function)
        thread_through(op, reaches(op, "scf.forall"), ir.IndexType.get(), THREADS)
        cell = ir.Type.parse("memref<i32>")
        thread_through(op, reaches(op, "cf.assert"), cell, STATUS)
        sizes = {function.sym_name.value: function for function in defined_functions(op)}
        for function in defined_functions(op):
            set_private(function)
            if KERNEL.get(function):
                set_noinline(function)
        for function in hosts:
            add_entry(op, function, sizes.get(f"{function.sym_name.value}_workspace"))
