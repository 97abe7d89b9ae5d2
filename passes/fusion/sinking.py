"""Whether element-wise work can be done at other places, and beside them: where what it is a part of is read.

::

    %e = generic {exp} ins(%x)                                    %x : 4x5
    %p = insert_slice %e into (fill %c)[0, 1] [4, 5]              exp may be computed at all places of 4x8
"""

from __future__ import annotations

from mlir import ir

from ..costs.cost import Cost
from ..costs.count import work_of
from ..costs.machine import Machine
from ..costs.roofline import arithmetic_of, predict
from ..divisions import may_trap
from ..operations import defining_op
from ..structured import (
    ASSUMED,
    STRUCTURED,
    body_of,
    elements_of,
    has_one_use,
    inputs_of,
    is_pointwise,
    maps_of,
)
from ..tiling.access import nest_of

# Times as many elements that special functions are computed for to save a fill. The roofline has no price for
# tests of places, and would allow more. (Two Zen 5 cores, exp of 64x60x60 floats padded to 64x64x64: 157 µs
# in one kernel, 92 in two.)
MOST_MORE = 1.1

_PURE = ("arith.", "math.", "linalg.index", "linalg.yield")


def can_sink(value: ir.Value) -> bool:
    """Whether ``value`` can be made at other places, and something beside it, of what is at hand."""
    maker = defining_op(value, "linalg.generic")
    if maker is None or not is_pointwise(maker) or not inputs_of(maker):
        return False
    work = [inner.operation for inner in body_of(maker).operations]
    if any(may_trap(inner) or not inner.name.startswith(_PURE) for inner in work):
        return False
    *reads, write = maps_of(maker)
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    return (
        write == ir.AffineMap.get_identity(write.n_dims, value.context)
        and not any(True for _ in body_of(maker).arguments[len(reads)].uses)
        and all(isinstance(expr, plain) for where in reads for expr in where.results)
        and all(_runs_through(value, where, each) for where, each in zip(reads, maker.operands, strict=False))
        and all(is_in_memory(each) or can_sink(each) for each in inputs_of(maker))
    )


def is_made_once(value: ir.Value) -> bool:
    """Whether nobody else reads ``value`` or what it is made of, which would be computed again for them."""
    return has_one_use(value) and all(
        is_in_memory(each) or is_made_once(each) for each in inputs_of(value.owner)
    )


def should_sink(value: ir.Value, whole: ir.Value, copied: int, machine: Machine) -> bool:
    """Whether what makes ``value`` should be computed for all of ``whole``; ``copied``: bytes saved by that.

    These are moved where the tensor that ``value`` is put into is copied before, as in slice_scatter: special
    functions may take as long as that. (300x512 floats, four of whose rows become exps, then doubled: 11
    µs for 19 on two Zen 5 cores.)
    """
    if elements_of(whole) <= MOST_MORE * elements_of(value):
        return True
    more = work_beside(value, whole)
    if not more.special:
        return True
    return bool(copied) and sum(arithmetic_of(more, machine)) <= predict(Cost(copied), machine).seconds


def work_beside(value: ir.Value, whole: ir.Value) -> Cost:
    """What it takes to make ``value`` for all of ``whole`` that it would not take otherwise."""
    return _special_work(value).repeated(elements_of(whole) / max(elements_of(value), 1) - 1)


def _special_work(value: ir.Value) -> Cost:
    """The special functions, and what goes with them, that make ``value`` of what is in memory."""
    if not can_sink(value):
        return Cost(0)
    made = value.owner.operation
    return sum(map(_special_work, inputs_of(made)), work_of(nest_of(made), ASSUMED))


def _runs_through(made: ir.Value, where: ir.AffineMap, read: ir.Value) -> bool:
    """Whether the loops along which ``made`` lies run through all of what they read."""
    return all(
        isinstance(expr, ir.AffineConstantExpr) or size == made.type.shape[expr.position]
        for expr, size in zip(where.results, read.type.shape if where.results else (), strict=True)
    )


def is_in_memory(value: ir.Value) -> bool:
    """Whether no kernel makes ``value``, or any makes it itself."""
    maker = defining_op(value)
    return maker is None or maker.name not in STRUCTURED or maker.name == "linalg.fill"
