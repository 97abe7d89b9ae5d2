"""Softmaxes in tile IR: sums of exponentials relative to their maximum, whoever wrote them."""

from __future__ import annotations

from mlir import ir

from .combining import kept_dims, kind_of, reduced_dims
from .constants import is_zero, splat_of
from .operations import defining_op
from .reshapes import RESHAPES

REDUCTION = "vector.multi_reduction"


def is_softmax_sum(total: ir.Operation) -> bool:
    """Whether a reduction adds up exponentials of numbers less their maximum."""
    if kind_of(total) != "add" or not isinstance(total.results[0].type, ir.VectorType):
        return False
    if not isinstance(total.results[0].type.element_type, ir.F32Type):
        return False
    power = defining_op(total.operands[0], "math.exp")
    difference = defining_op(power.operands[0], "arith.subf") if power is not None else None
    if difference is None or not is_zero(splat_of(total.operands[1])):
        return False
    x, relative = difference.operands
    maximum, places = _behind_reshapes(relative)
    if maximum is None or maximum.name != REDUCTION or kind_of(maximum) != "maximumf":
        return False
    least = splat_of(maximum.operands[1])
    if maximum.operands[0] != x or reduced_dims(maximum) != reduced_dims(total):
        return False
    if least is None or ir.FloatAttr(least).value != -float("inf"):
        return False
    sizes = ir.VectorType(x.type).shape
    return all(places[dim] == at or sizes[dim] == 1 for at, dim in enumerate(kept_dims(total))) and not any(
        places[dim] is not None and sizes[dim] != 1 for dim in reduced_dims(total)
    )


def maximum_of(total: ir.Operation) -> ir.Operation:
    """The maximum that the exponentials of a softmax's sum are relative to."""
    difference = total.operands[0].owner.operands[0].owner
    maximum = _behind_reshapes(difference.operands[1])[0]
    assert maximum is not None
    return maximum


def _behind_reshapes(value: ir.Value) -> tuple[ir.Operation | None, list[int | None]]:
    """What made a tile before it was stretched or reshaped, and which of that one's dims each dim is."""
    places: list[int | None] = list(range(ir.VectorType(value.type).rank))
    while (op := defining_op(value, *RESHAPES)) is not None and isinstance(
        op.operands[0].type, ir.VectorType
    ):
        found = RESHAPES[op.name](op)
        places = [None if place is None else found[place] for place in places]
        value = op.operands[0]
    return defining_op(value), places


def divisions_by(value: ir.Value) -> list[ir.Operation]:
    """The divisions by a tile, reshaped or not."""
    found = []
    for use in value.uses:
        user = use.owner.operation
        if user.name == "arith.divf" and use.operand_number == 1:
            found.append(user)
        elif user.name in RESHAPES:
            found += divisions_by(user.results[0])
    return found
