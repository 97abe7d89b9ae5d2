"""A reduction of what another reduction makes is one, over all that both reduce.

::

    %r = generic {amax} (b, i | j reduced) ins(%x : 15x17x31) -> tensor<15x17xf32>
    generic {amax} (b | i reduced) ins(%r) -> tensor<15xf32>
  ->
    generic {amax} (b | i, j reduced) ins(%x) -> tensor<15xf32>

Legal where both combine by one operation in any order, from equal numbers on, and nothing else reads %r. A
product of matrices stays one, with the schedule of its own. An extreme of several dims comes as such a chain,
one dim after the other. As one reduction it is split as all are: x / x.amax() of 4096x256 is two kernels, not
three, x.amax((1, 2)) one, not two.
"""

from __future__ import annotations

from mlir import ir

from ..operations import defining_op
from ..structured import (
    body_of,
    copy_generic,
    element_type,
    fill_value,
    has_one_use,
    inits_of,
    inputs_of,
    kinds_of,
    maps_of,
    replace_op,
    structured_ops,
)
from .bodies import is_contraction
from .partial import can_reorder, combiner_of


def join_reductions(func: ir.Operation) -> None:
    """Join the reductions of ``func`` with those whose results they reduce."""
    for op in structured_ops(func):
        while (inner := _reduction_before(op)) is not None and can_join(op, inner):
            op = _join(op, inner)


def _reduction_before(op: ir.Operation) -> ir.Operation | None:
    """The reduction whose results ``op`` combines, if that is all it does."""
    plain = len(inputs_of(op)) == 1 and len(op.results) == 1 and len(body_of(op).operations) == 2
    if not plain or "reduction" not in kinds_of(op):
        return None
    inner = defining_op(op.operands[0], "linalg.generic")
    if inner is None or "reduction" not in kinds_of(inner) or is_contraction(inner):
        return None  # products have schedules of their own, with a result for each row and column
    return inner


def can_join(op: ir.Operation, inner: ir.Operation) -> bool:
    """Whether both reduce by one operation in any order, and nothing else reads what ``inner`` makes."""
    if len(inner.results) != 1 or not has_one_use(inner.results[0]):
        return False
    if not can_reorder(op) or not can_reorder(inner):
        return False
    made, kept = maps_of(inner)[-1], maps_of(op)[-1]
    plain = made.is_projected_permutation and kept.is_projected_permutation
    every = maps_of(op)[0].is_permutation and len(made.results) == kinds_of(inner).count("parallel")
    if not plain or not every:
        return False  # numbers would be left out, or count several times
    one, other = combiner_of(op), combiner_of(inner)
    assert one is not None and other is not None
    start = fill_value(inits_of(op)[0])
    return (
        one.name == other.name
        and set(one.operands) == set(body_of(op).arguments)
        and start == fill_value(inits_of(inner)[0])
        and element_type(op.results[0]) == element_type(inner.results[0])
    )


def _join(op: ir.Operation, inner: ir.Operation) -> ir.Operation:
    """``inner`` with what ``op`` reduces reduced as well, in place of ``op``."""
    read, made = (
        [ir.AffineDimExpr(each).position for each in m.results] for m in (maps_of(op)[0], maps_of(inner)[-1])
    )
    loop_of = dict(zip(read, made, strict=True))  # inner's, by op's
    kinds = ["reduction"] * len(kinds_of(inner))
    for loop, kind in enumerate(kinds_of(op)):
        kinds[loop_of[loop]] = kind
    kept = [
        ir.AffineDimExpr.get(loop_of[ir.AffineDimExpr(each).position]) for each in maps_of(op)[-1].results
    ]
    result = ir.AffineMap.get(len(kinds), 0, kept, inner.context)
    new = copy_generic(
        inner,
        [*inputs_of(inner), *inits_of(op)],
        at=ir.InsertionPoint(op),
        maps=[*maps_of(inner)[:-1], result],
        kinds=kinds,
    )
    replace_op(op, list(new.results))
    inner.erase()
    return new
