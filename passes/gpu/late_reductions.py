"""Reduce once after a loop, not in each of its steps.

Before::

    %s = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<32xf32>) {
      %v = vector.transfer_read %x[%k, %j], … : vector<64x32xf32>
      %t = vector.multi_reduction <add>, %v, %acc [0] : vector<64x32xf32> to vector<32xf32>
      scf.yield %t
    }

After::

    %p = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %neutral) -> (vector<64x32xf32>) {
      %v = vector.transfer_read %x[%k, %j], … : vector<64x32xf32>
      %t = arith.addf %acc, %v : vector<64x32xf32>
      scf.yield %t
    }
    %s = vector.multi_reduction <add>, %p, %zero [0] : vector<64x32xf32> to vector<32xf32>

In a step each thread only adds to registers of its own; shuffles and barriers come once. A loop that goes on
where another one has ended, as over what whole steps leave of a size, goes on with that one's tile, and one
reduction follows both. A total of everything, which comes as a tile without dims, is carried as a scalar
first, so that its steps have this form, too. Legal where the loop carries an accumulator for nothing else;
the order of additions changes, as it may.

Effect: softmax of 256x50257 has 2 barriers in its PTX instead of 4, and its maximum and its sum can be one
loop: mlopt-gpu-online-sums asks for this form. Rows of 1000 have no loop: the same code without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..base import Pass
from ..combining import kind_of, neutral_of, op_of, reduced_dims
from ..constants import constant, splat_constant, splat_of
from ..operations import attributes_of, defining_op, nested_ops

_REDUCTION = "vector.multi_reduction"


@dataclass(frozen=True)
class LateReductions(Pass):
    """Move reductions behind the loops that carry their accumulators."""

    name: ClassVar[str] = "mlopt-gpu-late-reductions"

    def run(self, op: ir.Operation) -> None:
        """Rewrite all loops, inner ones first, so that an outer one can follow."""
        for block in (block for region in op.regions for block in region.blocks):
            for loop in [inner for inner in nested_ops(block) if inner.name == "scf.for"]:
                carry_scalars(loop)
            _erase_unused(block)
            for loop in reversed([inner for inner in nested_ops(block) if inner.name == "scf.for"]):
                delay(loop)
            for reduction in [inner for inner in nested_ops(block) if inner.name == _REDUCTION]:
                if (earlier := can_continue(reduction)) is not None:
                    go_on(reduction, earlier)


def carry_scalars(loop: ir.Operation) -> None:
    """Let the loop carry scalars for tiles without dims, of which it takes the scalar in each step."""
    body = loop.regions[0].blocks[0]
    end = body.operations[len(body.operations) - 1].operation
    found = [number for number in range(len(loop.results)) if _holds_scalar(body.arguments[1 + number])]
    found = [number for number in found if defining_op(end.operands[number], "vector.broadcast") is not None]
    if not found:
        return
    starts = list(loop.operands)[3:]
    for number in found:
        carried, spread = body.arguments[1 + number], end.operands[number].owner.operation
        with ir.InsertionPoint(loop), loop.location:
            starts[number] = _scalar_of(starts[number])
        carried.set_type(starts[number].type)
        for extract in [use.owner.operation for use in carried.uses]:
            extract.results[0].replace_all_uses_with(carried)
            extract.erase()
        end.operands[number] = spread.operands[0]
    again = _rebuilt(loop, starts)
    for number, (old, new) in enumerate(zip(loop.results, again.results, strict=True)):
        if number in found:
            with ir.InsertionPoint.after(again), loop.location:
                new = ir.Operation.create("vector.broadcast", [old.type], [new]).results[0]
        old.replace_all_uses_with(new)
    loop.erase()


def _erase_unused(block: ir.Block) -> None:
    for op in [inner for inner in nested_ops(block) if inner.name == "vector.broadcast"]:
        if not list(op.results[0].uses):
            op.erase()


def _holds_scalar(carried: ir.Value) -> bool:
    is_tile = isinstance(carried.type, ir.VectorType) and ir.VectorType(carried.type).rank == 0
    return is_tile and all(use.owner.operation.name == "vector.extract" for use in carried.uses)


def _scalar_of(tile: ir.Value) -> ir.Value:
    """The element of a tile without dims."""
    spread, splat = defining_op(tile, "vector.broadcast"), splat_of(tile)
    if spread is not None:
        return spread.operands[0]
    if splat is not None:
        return constant(splat)
    nowhere = {"static_position": ir.DenseI64ArrayAttr.get([])}
    return ir.Operation.create("vector.extract", [tile.type.element_type], [tile], nowhere).results[0]


def can_delay(loop: ir.Operation, number: int) -> ir.Operation | None:
    """The reduction that makes the loop's value of this number, if it can wait; else None."""
    body = loop.regions[0].blocks[0]
    made = body.operations[len(body.operations) - 1].operands[number]
    if isinstance(made.owner, ir.Block) or made.owner.name != _REDUCTION:
        return None
    reduction = made.owner.operation
    carried = body.arguments[1 + number]
    alone = len(list(carried.uses)) == 1 and len(list(made.uses)) == 1
    if not alone or reduction.operands[1] != carried or reduction.block != body:
        return None
    return reduction


def delay(loop: ir.Operation) -> None:
    """Let the loop carry what its reductions would reduce."""
    found = {
        number: reduction
        for number in range(len(loop.results))
        if (reduction := can_delay(loop, number)) is not None
    }
    if not found:
        return
    body = loop.regions[0].blocks[0]
    end = body.operations[len(body.operations) - 1].operation
    starts = list(loop.operands)[3:]
    for number, reduction in found.items():
        source = reduction.operands[0]
        with ir.InsertionPoint(loop), reduction.location:
            neutral = neutral_of(kind_of(reduction), source.type.element_type)
            starts[number] = splat_constant(source.type, neutral)
        carried = body.arguments[1 + number]
        carried.set_type(source.type)
        with ir.InsertionPoint(reduction), reduction.location:
            name = op_of(kind_of(reduction), source.type.element_type)
            step = ir.Operation.create(name, [source.type], [carried, source]).results[0]
        end.operands[number] = step
    again = _rebuilt(loop, starts)
    for number, (old, new) in enumerate(zip(loop.results, again.results, strict=True)):
        if number in found:
            new = _after(again, found[number], new, loop.operands[3 + number])
        old.replace_all_uses_with(new)
    for reduction in found.values():
        reduction.erase()
    loop.erase()


def _rebuilt(loop: ir.Operation, starts: Sequence[ir.Value]) -> ir.Operation:
    """The loop's body in a loop that begins with ``starts``; ``loop`` is left empty."""
    with ir.InsertionPoint(loop), loop.location:
        kinds = [start.type for start in starts]
        again = ir.Operation.create("scf.for", kinds, [*list(loop.operands)[:3], *starts], regions=1)
        loop.regions[0].blocks[0].append_to(again.regions[0])
    return again


def can_continue(reduction: ir.Operation) -> ir.Operation | None:
    """The reduction that this one, of what a loop carries, only adds to; None if it reduces otherwise."""
    tile, start = reduction.operands
    loop, earlier = defining_op(tile, "scf.for"), defining_op(start, _REDUCTION)
    if loop is None or earlier is None or len(list(start.uses)) != 1 or len(list(tile.uses)) != 1:
        return None
    kind, begins = kind_of(reduction), loop.operands[3 + ir.OpResult(tile).result_number]
    with reduction.location:
        if splat_of(begins) != neutral_of(kind, tile.type.element_type):
            return None
    same = earlier.operands[0].type == tile.type and kind_of(earlier) == kind
    is_before = earlier.block == loop.block and earlier.is_before_in_block(loop)
    return earlier if same and is_before and reduced_dims(earlier) == reduced_dims(reduction) else None


def go_on(reduction: ir.Operation, earlier: ir.Operation) -> None:
    """Let the loop before ``reduction`` begin with the tile that ``earlier`` reduces."""
    tile = reduction.operands[0]
    tile.owner.operands[3 + ir.OpResult(tile).result_number] = earlier.operands[0]
    reduction.operands[1] = earlier.operands[1]
    earlier.erase()


def _after(loop: ir.Operation, reduction: ir.Operation, total: ir.Value, start: ir.Value) -> ir.Value:
    with ir.InsertionPoint.after(loop), reduction.location:
        attributes = attributes_of(reduction)
        kind = reduction.results[0].type
        return ir.Operation.create(reduction.name, [kind], [total, start], attributes).results[0]
