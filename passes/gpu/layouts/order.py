"""Reads come first in their block: all of a task's loads are on their way before one is waited for.

But those whose places are read themselves, or computed from tiles.

Not the factors of a product behind a loop that multiplies, of its last, ragged step: their fragments would
fill registers beside the loop's sums and its own factors. A product of 4095x4093 and 4093x4097 bf16 had 255
registers and spilled 624 bytes.

What is read behind a loop of warpgroups, as a bias, stays behind it, but comes before the wait for the last
step's product: there is time enough, and a thread whose sums are all of 256 columns has 64 of a bias. Of
ragged ones, whose conditions stay in registers, too, blocks of 128x256 spilled 212 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlir import ir

from ....dialects.attributes import MMA
from ....dialects.layouts import WARP
from ...operations import defining_op, nested_ops
from ..buffers import buffer_of, written_by
from .access import bytes_of
from .tiles import is_tile, sizes_of
from .warpgroup import warpgroup_of

REGISTERS = 48  # of a thread, 4 bytes each, that reads may fill ahead
_READ = "vector.transfer_read"
_LOADS = (_READ, "memref.load")
_CONVERT = "mlopt.convert_layout"
_SCALAR = ("arith.", "affine.", "memref.load", "memref.dim")


def loads_first(block: ir.Block, warps: int) -> None:
    """Move reads to their block's beginning, with the positions that they need, as far as registers go.

    They stay behind what the block has written to their buffers, and so do all after them.
    """
    ops = [op.operation for op in block.operations]
    for op in ops:
        for region in op.regions:
            for body in region.blocks:
                loads_first(body, warps)
    left = REGISTERS * 4 * WARP * warps
    moved: list[ir.Operation] = []
    multiplied, behind = False, None
    written: set[ir.Value] = set()
    for op in ops:
        written |= written_by([op, *nested_ops(op)])
        marks = (
            [each for each in nested_ops(op) if MMA.name in each.attributes] if op.name == "scf.for" else []
        )
        multiplied = multiplied or bool(marks)
        if any(warpgroup_of(each) is not None for each in marks):
            _move(moved, block, behind)
            moved, behind = [], op
        if op.name != _READ or (multiplied and is_multiplied(op)):
            continue
        before = _needed(op, block)
        if before is None:
            continue
        tile = op.results[0]
        left -= bytes_of(tile.type.element_type) * prod(sizes_of(tile))
        if left < 0 or is_own(op.operands[0]):
            break
        if not written.isdisjoint(
            buffer_of(each.operands[0]) for each in (*before, op) if each.name in _LOADS
        ):
            break
        needed = [one for one in before if behind is None or behind.is_before_in_block(one)]
        moved += [one for one in (*needed, op) if one not in moved]
    _move(moved, block, behind)


def _move(ops: Sequence[ir.Operation], block: ir.Block, behind: ir.Operation | None) -> None:
    """Let ops begin a block, or come ``behind`` one of it."""
    for op in reversed(ops):
        if behind is None:
            op.move_before(block.operations[0])
        else:
            op.move_after(behind)


def last_read_behind(loop: ir.Operation) -> ir.Operation:
    """The last of the reads that come together behind a loop, none of them a factor; else the loop.

    They come before all that takes the loop's sums.
    """
    last, reached, sums = loop, False, list(loop.results)
    for each in loop.block.operations:
        op = each.operation
        if reached and op.name == _READ and not is_multiplied(op):
            last = op
        elif reached and (not op.name.startswith(_SCALAR) or any(value in sums for value in op.operands)):
            break
        reached = reached or op == loop
    return last


def last_of_reads(op: ir.Operation) -> ir.Operation:
    """The last of the reads that stand together from ``op`` on, with positions between; else ``op``."""
    if op.name != _READ:
        return op
    last, reached = op, False
    for other in op.block.operations:
        reached = reached or other.operation == op
        if not reached:
            continue
        if other.operation.name == op.name or other.operation.name == _CONVERT:
            last = other.operation
        elif not other.operation.name.startswith(_SCALAR) or any(map(is_tile, other.operation.results)):
            break
    return last


def is_own(buffer: ir.Value) -> bool:
    """Whether a buffer is the block's own, in shared memory: written by the task before it is read."""
    return defining_op(buffer, "memref.alloca") is not None


def is_multiplied(read: ir.Operation) -> bool:
    """Whether a product on tensor cores has what is read for a factor, in whatever layout."""
    users = [use.owner for use in read.results[0].uses]
    return any(
        MMA.name in user.attributes or (user.name == _CONVERT and is_multiplied(user)) for user in users
    )


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
