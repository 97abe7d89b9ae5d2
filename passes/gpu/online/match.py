"""A loop for the maximum of rows, and one for the sum of exponentials relative to a row's value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mlir import ir

from ...combining import kind_of, reduced_dims
from ...constants import integer_of, is_zero, splat_of
from ...operations import attributes_of, defining_op, ops_named
from ...reshapes import RESHAPES
from ..layouts.access import access_of
from ..layouts.overlaps import buffer_of
from ..layouts.tiles import is_tile, sizes_of

_SLT = 2  # arith.cmpi's predicate
_PURE = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "vector.step")


@dataclass(frozen=True)
class Pair:
    """Two loops over the same steps: ``maxima`` of ``value``, and ``sums`` of its exponentials.

    ``masked`` is the value, or minus infinity beyond the last element. ``spread`` is what it is relative to,
    the same along what is reduced; ``total`` the reduction of the sums.
    """

    maxima: ir.Operation
    sums: ir.Operation
    total: ir.Operation
    bounds: tuple[int, int, int]
    value: ir.Value
    masked: ir.Value
    spread: ir.Value


def find_pair(forall: ir.Operation) -> Pair | None:
    """The first two loops of a task that can be one, or None."""
    written = [buffer_of(access_of(op)) for op in ops_named(forall, "vector.transfer_write")]
    loops = [op.operation for op in forall.regions[0].blocks[0].operations if op.operation.name == "scf.for"]
    for first, second in pairwise(loops):
        found = _pair(first, second, written)
        if found is not None:
            return found
    return None


def _pair(maxima: ir.Operation, sums: ir.Operation, written: Sequence[ir.Value]) -> Pair | None:
    bounds = _bounds(maxima)
    if bounds is None or bounds != _bounds(sums) or _reduction_of(maxima, "maximumf") is None:
        return None
    total = _reduction_of(sums, "add")
    if total is None or not is_zero(splat_of(sums.operands[3])):
        return None
    masked = _other(maxima, "arith.maximumf")
    power = _other(sums, "arith.addf")
    if masked is None or power is None:
        return None
    value, power = _without_end(masked, bounds[1]), _without_end(power, bounds[1])
    difference = defining_op(power, "math.exp")
    difference = defining_op(difference.operands[0], "arith.subf") if difference is not None else None
    if difference is None or not _is_spread(difference.operands[1], total, sums):
        return None
    bodies = [loop.regions[0].blocks[0] for loop in (maxima, sums)]
    if not _is_same(value, difference.operands[0], [body.arguments[0] for body in bodies], written):
        return None
    return Pair(maxima, sums, total, bounds, value, masked, difference.operands[1])


def _bounds(loop: ir.Operation) -> tuple[int, int, int] | None:
    """Where a loop begins and ends, and its step, if they are known and it carries one tile."""
    numbers = [integer_of(operand) for operand in list(loop.operands)[:3]]
    first, last, step = numbers
    if first is None or last is None or step is None or len(loop.results) != 1:
        return None
    return (first, last, step) if is_tile(loop.results[0]) else None


def _reduction_of(loop: ir.Operation, kind: str) -> ir.Operation | None:
    """The reduction that alone reads what a loop carries."""
    uses = [use.owner.operation for use in loop.results[0].uses]
    if len(uses) != 1 or uses[0].name != "vector.multi_reduction" or kind_of(uses[0]) != kind:
        return None
    return uses[0] if uses[0].operands[0] == loop.results[0] and uses[0].block == loop.block else None


def _other(loop: ir.Operation, name: str) -> ir.Value | None:
    """What each step combines with what the loop carries, by an op of this name."""
    body = loop.regions[0].blocks[0]
    step = defining_op(body.operations[len(body.operations) - 1].operands[0], name)
    if step is None or step.operands[0] != body.arguments[1] or len(list(body.arguments[1].uses)) != 1:
        return None
    return step.operands[1]


def _without_end(value: ir.Value, extent: int) -> ir.Value:
    """A value before the neutral element took its place beyond ``extent``."""
    select = defining_op(value, "arith.select")
    if select is None or not _ends_at(select.operands[0], extent):
        return value
    return select.operands[1]


def _ends_at(mask: ir.Value, extent: int) -> bool:
    """Whether a mask says which positions of the steps are before ``extent``."""
    while not isinstance(mask.owner, ir.Block) and mask.owner.name in RESHAPES:
        mask = mask.owner.operands[0]
    compare = defining_op(mask, "arith.cmpi")
    if compare is None or ir.IntegerAttr(compare.attributes["predicate"]).value != _SLT:
        return False
    places, limit = defining_op(compare.operands[0], "arith.addi"), splat_of(compare.operands[1])
    if places is None or not any(defining_op(each, "vector.step") for each in places.operands):
        return False
    return isinstance(limit, ir.IntegerAttr) and limit.value == extent


def _is_spread(value: ir.Value, reduction: ir.Operation, loop: ir.Operation) -> bool:
    """Whether a tile comes from outside of the loop, stretched along what is reduced."""
    shape = sizes_of(value)
    places: list[int | None] = list(range(len(shape)))
    body = loop.regions[0].blocks[0]
    while not isinstance(value.owner, ir.Block) and value.owner.name in RESHAPES:
        op = value.owner.operation
        found = RESHAPES[op.name](op) if is_tile(op.operands[0]) else [None] * len(sizes_of(value))
        places = [None if place is None else found[place] for place in places]
        value = op.operands[0]
    if isinstance(value.owner, ir.Block) or value.owner.operation.block == body:
        return False
    return all(places[dim] is None or shape[dim] == 1 for dim in reduced_dims(reduction))


def _is_same(one: ir.Value, other: ir.Value, steps: Sequence[ir.Value], written: Sequence[ir.Value]) -> bool:
    """Whether two values are equal in the same step of their loops."""
    if one == other or (one == steps[0] and other == steps[1]):
        return True
    if isinstance(one.owner, ir.Block) or isinstance(other.owner, ir.Block) or one.type != other.type:
        return False
    first, second = one.owner.operation, other.owner.operation
    if first.name != second.name or attributes_of(first) != attributes_of(second):
        return False
    reads = first.name == "vector.transfer_read" and buffer_of(access_of(first)) not in written
    if not reads and not first.name.startswith(_PURE):
        return False
    if len(first.operands) != len(second.operands):
        return False
    return all(_is_same(*both, steps, written) for both in zip(first.operands, second.operands, strict=True))
