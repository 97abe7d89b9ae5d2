"""Reductions of as many elements as nothing divides: parts of one width, each with some of what is left.

::

    generic {sum} (i reduced) ins(%x : 1000003)
  ->
    %a = generic (p, w) ins(%x at p * 4096 + w) -> 244x4096
    %s = generic {sum} (p | w reduced) ins(%a)
    %b = generic (p, w) ins(%x at p * 3 + w + 999271) -> 244x3       the last 732
    %t = generic {sum} (p | w reduced) ins(%b where p * 3 + w >= 153, else 0) outs(%s)
    generic {sum} (p reduced) ins(%t)

Of the 1000003 elements 579 are left, 3 for each part; the 153 before them are in a part already. Reading
these again keeps every read within the tensor; a maximum takes them as they are.

Legal where the order of the reduction is free, it starts from a neutral element, and each dim is one loop of
static size. Element-wise work before it is written again for both, so that nothing but what it reads comes
from memory. Kernels read at such places directly: %a and %b are not made. All is one kernel, and what reads
the sum adds the parts up, as where a number has divisors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from ..constants import index_constant, is_zero, scalar_constant
from ..structured import body_of, loop_extents, replace_op
from .again import pass_over, reduced
from .divided import can_go_along
from .partial import combiner_of, is_idempotent
from .parts import body_ops

_PASSING_OVER = (
    *("linalg.index", "linalg.index", "arith.constant", "arith.muli", "arith.addi"),
    *("arith.constant", "arith.cmpi", "arith.select", "arith.addf"),
)


@dataclass(frozen=True)
class _Parts:
    """``count`` parts of ``width`` elements of a dim, one after the other, from ``start`` on."""

    count: int
    width: int
    start: int = 0

    @property
    def sizes(self) -> tuple[int, int]:
        """A loop over the parts, and one over the elements of each."""
        return self.count, self.width

    def position(self, loops: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
        """Where the two loops through them are in the dim."""
        return loops[0] * self.width + loops[1] + self.start

    def place(self, loops: list[ir.Value]) -> ir.Value:
        """The same, of values."""
        number = arith.addi(arith.muli(loops[0], index_constant(self.width)), loops[1])
        return arith.addi(number, index_constant(self.start)) if self.start else number

    def readable(self, value: ir.Value, dim: int) -> ir.Value:  # noqa: ARG002
        """The tensor itself: no place is outside of it."""
        return value

    def can_go_along(self, maker: ir.Operation, dim: int) -> bool:
        """What can be divided can be made in parts."""
        return can_go_along(maker, dim)


def read_again(extent: int, count: int, width: int) -> int:
    """How many elements ``count`` parts have twice that share what parts of ``width`` elements leave over."""
    return (count * width - extent) % count


def split_raggedly(
    op: ir.Operation, loop: int, extent: int, count: int, width: int
) -> tuple[ir.Operation, ir.Operation]:
    """The reduction over ``count`` parts of ``width`` in a reduced ``loop``, and that over what is left.

    Both have two loops for the one, of which the outer ones are alike. ``op``, which has one result, is
    replaced by the first; the second is for the caller to go on with.
    """
    share = -(-(extent - count * width) // count)
    left = _Parts(count, share, extent - count * share)
    with op.location, ir.InsertionPoint(op):
        main = reduced(op, loop, _Parts(count, width))
        rest = reduced(op, loop, left)
    before = read_again(extent, count, width)
    combiner = combiner_of(rest)
    assert combiner is not None
    if before and not is_idempotent(combiner):
        from_start = _Parts(count, share)
        pass_over(
            rest,
            (loop, loop + 1),
            lambda at: arith.cmpi(arith.CmpIPredicate.sge, from_start.place(at), index_constant(before)),
        )
    replace_op(op, main.results)
    return main, rest


def passed_over(op: ir.Operation) -> tuple[int, int] | None:
    """The loop over the parts, and how many of all elements are passed over, of a rest that was split off.

    None if the body of ``op`` is not that of a sum that `split_raggedly` made, with elements to pass over.
    """
    ops = body_ops(op, *_PASSING_OVER)
    if not ops:
        return None
    part, element, share, start, place, before, is_meant, chosen, total = ops
    value, accumulator = body_of(op).arguments
    loops = [each.attributes["dim"].value for each in (part, element)]
    wired = (
        list(start.operands) == [part.results[0], share.results[0]]
        and list(place.operands) == [start.results[0], element.results[0]]
        and list(is_meant.operands) == [place.results[0], before.results[0]]
        and list(chosen.operands)[:2] == [is_meant.results[0], value]
        and set(total.operands) == {chosen.results[0], accumulator}
    )
    wide, first, neutral = (
        scalar_constant(each) for each in (share.results[0], before.results[0], chosen.operands[2])
    )
    if not wired or wide is None or first is None or not is_zero(neutral):
        return None
    is_at_least = is_meant.attributes["predicate"].value == int(arith.CmpIPredicate.sge)
    return (loops[0], first.value) if is_at_least and wide.value == loop_extents(op)[loops[1]] else None
