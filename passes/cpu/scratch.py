"""Scratch that is too large for any stack becomes memory of the thread's own.

    scf.forall (%i) = (0) to (1024) step (64) {
      %panel = memref.alloca() {alignment = 64 : i64} : memref<1024x64xf32>
      %sums = memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>

    scf.forall (%i) = (0) to (1024) step (64) {
      %panel_at = call @mlopt_scratch(%c278528, %c0) : (i64, i64) -> !llvm.ptr
      cf.assert %panel_at != null, "MemoryError: …"
      %panel = the memref at %panel_at
      %sums_at = call @mlopt_scratch(%c278528, %c262144)
      %sums = …

`@mlopt_scratch` is the loader's (mlopt.runtime.thread_scratch): of a thread's memory, which has as many bytes
as the first operand says, the address of the byte that the second one says. A thread keeps its memory
from task to task, and runs one task at a time, so that a task has it to itself. The address is no `noalias`:
the next task gets the same one, and LLVM may have both in one loop.

Legal for scratch of constant size in kernels. Tasks with at most ``stack`` bytes of it keep them on the
stack. Runs before mlopt-cpu-entry, which gives kernels that may fail their status cell.

Effect: a product of 512x1024x1024, whose panel has 256 KB, runs on a thread with a stack of 128 KB, where
it ended the process. On one thread of a Zen 4 twelve products, attentions and softmaxes take 0.98 to 1.03
of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, cf, func, llvm

from ...dialects.attributes import KERNEL
from ..base import Pass, PassError
from ..operations import ops_named
from .descriptors import memref_at
from .functions import defined_functions
from .strips.types import bytes_of

FUNCTION = "mlopt_scratch"
ALIGNMENT = 64
_DECLARATION = f"func.func private @{FUNCTION}(i64, i64) -> (!llvm.ptr {{llvm.align = {ALIGNMENT} : i64}})"


@dataclass(frozen=True)
class CpuScratch(Pass):
    """``stack``: the bytes that a task may keep on the stack."""

    name: ClassVar[str] = "mlopt-cpu-scratch"
    stack: int = 16 * 1024

    def run(self, op: ir.Operation) -> None:
        """Replace the memref.allocas of each task with too much of them."""
        kernels = [function for function in defined_functions(op) if KERNEL.get(function)]
        # A kernel of one task may have lost its scf.forall.
        tasks = [task for kernel in kernels for task in ops_named(kernel, "scf.forall") or [kernel]]
        large = [
            buffers
            for task in tasks
            if sum(map(_bytes_of, buffers := ops_named(task, "memref.alloca"))) > self.stack
        ]
        for buffers in large:
            _replace(buffers)
        if large:
            parsed = ir.Module.parse(_DECLARATION)
            op.regions[0].blocks[0].append(parsed.body.operations[0])


def _bytes_of(buffer: ir.Operation) -> int:
    """The bytes of a buffer, whole cache lines."""
    kind = buffer.results[0].type
    if len(buffer.operands):
        raise PassError(buffer, "mlopt-cpu-scratch: a task's scratch must have a constant size")
    size = bytes_of(kind.element_type)
    for extent in kind.shape:
        size *= extent
    return -(-size // ALIGNMENT) * ALIGNMENT


def _replace(buffers: list[ir.Operation]) -> None:
    i64, pointer = ir.IntegerType.get_signless(64), llvm.PointerType.get()
    total, offset = sum(map(_bytes_of, buffers)), 0
    for number, buffer in enumerate(buffers):
        with ir.InsertionPoint(buffer), buffer.location:
            operands = [arith.constant(i64, total), arith.constant(i64, offset)]
            start = func.CallOp([pointer], FUNCTION, operands).result
            if not number:  # a thread that has memory has all of it
                address = llvm.PtrToIntOp(i64, start).result
                given = arith.cmpi(arith.CmpIPredicate.ne, address, arith.constant(i64, 0))
                cf.assert_(given, f"MemoryError: no memory for the {total} bytes of scratch of a thread")
            buffer.results[0].replace_all_uses_with(memref_at(start, buffer.results[0].type))
        offset += _bytes_of(buffer)
        buffer.erase()
