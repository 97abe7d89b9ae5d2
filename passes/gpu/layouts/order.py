"""Reads come first in their block: all of a task's loads are on their way before one is waited for.

Not the factors of a product behind a loop that multiplies, of its last, ragged step: their fragments would
fill registers beside the loop's sums and its own factors. A product of 4095x4093 and 4093x4097 bf16 had 255
registers and spilled 624 bytes.
"""

from __future__ import annotations

from math import prod

from mlir import ir

from ....dialects.attributes import MMA
from ....dialects.layouts import WARP
from ...operations import defining_op, nested_ops
from .access import bytes_of
from .tiles import is_tile, sizes_of

REGISTERS = 48  # of a thread, 4 bytes each, that reads may fill ahead
_SCALAR = ("arith.", "affine.", "memref.load", "memref.dim")


def loads_first(block: ir.Block, warps: int) -> None:
    """Move reads to their block's beginning, with the positions that they need, as far as registers go."""
    ops = [op.operation for op in block.operations]
    for op in ops:
        for region in op.regions:
            for inner in region.blocks:
                loads_first(inner, warps)
    left = REGISTERS * 4 * WARP * warps
    moved: list[ir.Operation] = []
    multiplied = False
    for op in ops:
        multiplied = multiplied or (
            op.name == "scf.for" and any(MMA.name in each.attributes for each in nested_ops(op))
        )
        if op.name != "vector.transfer_read" or (multiplied and _is_multiplied(op)):
            continue
        tile = op.results[0]
        left -= bytes_of(tile.type.element_type) * prod(sizes_of(tile))
        before = _needed(op, block)
        if left < 0 or before is None or is_own(op.operands[0]):
            break
        moved += [one for one in (*before, op) if one not in moved]
    for op in reversed(moved):
        op.move_before(block.operations[0])


def last_of_reads(op: ir.Operation) -> ir.Operation:
    """The last of the reads that stand together from ``op`` on, with positions between; else ``op``."""
    if op.name != "vector.transfer_read":
        return op
    last, reached = op, False
    for other in op.block.operations:
        reached = reached or other.operation == op
        if not reached:
            continue
        if other.operation.name == op.name or other.operation.name == "mlopt.convert_layout":
            last = other.operation
        elif not other.operation.name.startswith(_SCALAR) or any(map(is_tile, other.operation.results)):
            break
    return last


def is_own(buffer: ir.Value) -> bool:
    """Whether a buffer is the block's own, in shared memory: written by the task before it is read."""
    return defining_op(buffer, "memref.alloca") is not None


def _is_multiplied(read: ir.Operation) -> bool:
    """Whether a product on tensor cores has what is read for a factor."""
    return any(MMA.name in use.owner.attributes for use in read.results[0].uses)


def _needed(read: ir.Operation, block: ir.Block) -> list[ir.Operation] | None:
    """The ops of the block that a read's positions come from, in order; None if they come from tiles."""
    found: list[ir.Operation] = []
    for operand in read.operands:
        if isinstance(operand.owner, ir.Block) or operand.owner.operation.block != block:
            continue
        op = operand.owner.operation
        if op in found:
            continue
        if not op.name.startswith(_SCALAR) or any(map(is_tile, (*op.operands, *op.results))):
            return None
        before = _needed(op, block)
        if before is None:
            return None
        found += [one for one in (*before, op) if one not in found]
    return found
