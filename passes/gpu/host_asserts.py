"""Checks of values in host functions become kernels: only a kernel can read the device's memory.

    func.func @main(%x: memref<6xi64>, …) {
      call @kernel_0_compare_all(%x, %b)
      %v = memref.load %b[] : memref<i8>
      %holds = arith.cmpi ne, %v, %c0 : i8
      cf.assert %holds, "RuntimeError: Class values must be non-negative."
  ->
      call @kernel_0_compare_all(%x, %b)
      call @assert_0(%b)

    func.func private @assert_0(%b: memref<i8>) attributes {mlopt.kernel, mlopt.ops = ["assert"], …} {
      scf.forall (%i) in (1) { … the load, the comparison, the assert … }

A check that fails leaves its number in the status cell, and raises when the call is waited for; the kernels
after it run on, with what they are given. The call stands where the check stood, or before the first op after
the loads that may write to memory. Legal for checks that depend on elements at constant places and on
constants; those of sizes stay, and so does what is in loops, and what is written to between two of the loads.
Runs after bufferization, before mlopt-gpu-assign-layouts.

Effect: programs with F.one_hot or masked_scatter compile, which were refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import func

from ...dialects.attributes import BYTES, FLOPS, KERNEL, OPS
from ..base import Pass
from ..cpu.functions import fresh_name, hosts_of
from ..operations import ops_named
from .layouts.access import bytes_of
from .plain_loops import task_loop

_KEEPING = ("memref.alloc", "memref.cast", "memref.dim", "memref.load", "cf.assert")  # no op that may write


@dataclass(frozen=True)
class GpuHostAsserts(Pass):
    """Turn the checks of elements in host functions into calls of kernels."""

    name: ClassVar[str] = "mlopt-gpu-host-asserts"

    def run(self, op: ir.Operation) -> None:
        """Move the asserts outside of kernels that read memory."""
        count = 0
        for function in hosts_of(op):
            found = [(check, needed_by(check)) for check in ops_named(function, "cf.assert")]
            places = [place_of(check, needed) if can_move(check, needed) else None for check, needed in found]
            for (check, needed), place in zip(found, places, strict=True):
                if place is not None:
                    with check.location:
                        _move(op, check, needed, place, fresh_name(op, f"assert_{count}"))
                    count += 1


def needed_by(check: ir.Operation) -> list[ir.Operation]:
    """The ops that a check's condition comes from, in order."""
    found: list[ir.Operation] = []

    def visit(value: ir.Value) -> None:
        if isinstance(value.owner, ir.Block) or isinstance(value.type, ir.MemRefType):
            return
        op = value.owner.operation
        if op not in found:
            for operand in op.operands:
                visit(operand)
            found.append(op)

    visit(check.operands[0])
    return found


def can_move(check: ir.Operation, needed: list[ir.Operation]) -> bool:
    """Whether a check reads memory, and else needs nothing but constants and arithmetic."""
    reads = [op for op in needed if op.name == "memref.load"]
    plain = all(op.name.startswith("arith.") for op in needed if op not in reads)
    values = [operand for op in needed for operand in op.operands]
    given = [value for value in values if isinstance(value.owner, ir.Block)]
    is_known = all(isinstance(value.type, ir.MemRefType) for value in given)
    contiguous = all(_is_contiguous(read.operands[0].type) for read in reads)
    return bool(reads) and plain and is_known and contiguous and check.parent.name == "func.func"


def place_of(check: ir.Operation, needed: list[ir.Operation]) -> ir.Operation | None:
    """The last op, up to a check, before which all that it reads is as it was loaded; None: no such op."""
    ops = [op.operation for op in check.block.operations]
    reads = [op for op in needed if op.name == "memref.load"]
    if not all(read in ops for read in reads):
        return None
    numbers = sorted(map(ops.index, reads))
    end = ops.index(check)
    writers = (number for number in range(numbers[0], end) if _may_write(ops[number]))
    place = next(writers, end)
    return ops[place] if place > numbers[-1] else None


def _may_write(op: ir.Operation) -> bool:
    return op.name not in _KEEPING and not op.name.startswith("arith.")


def _is_contiguous(kind: ir.MemRefType) -> bool:
    return kind.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(kind.rank))


def _move(
    module: ir.Operation, check: ir.Operation, needed: list[ir.Operation], place: ir.Operation, name: str
) -> None:
    buffers = list(dict.fromkeys(op.operands[0] for op in needed if op.name == "memref.load"))
    kinds = [ir.MemRefType(buffer.type) for buffer in buffers]
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        kernel = func.FuncOp(name, (kinds, []), visibility="private")
    with ir.InsertionPoint(kernel.add_entry_block()):
        loop = task_loop([1])
        func.ReturnOp([])
    KERNEL.set(kernel, True)
    OPS.set(kernel, ("assert",))
    BYTES.set(kernel, sum(bytes_of(kind.element_type) for kind in kinds))
    FLOPS.set(kernel, 0)
    inside = dict(zip(buffers, kernel.arguments, strict=True))
    end = loop.body.operations[-1]
    for op in (*needed, check):
        copy = op.clone(ir.InsertionPoint(end)).operation
        for number, operand in enumerate(op.operands):
            copy.operands[number] = inside[operand]
        inside.update(zip(op.results, copy.results, strict=True))
    with ir.InsertionPoint(place):
        func.CallOp([], ir.FlatSymbolRefAttr.get(name), buffers)
    check.erase()
    for op in reversed(needed):
        if not any(list(result.uses) for result in op.results):
            op.erase()
