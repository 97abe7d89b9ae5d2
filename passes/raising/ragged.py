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
from mlir.dialects import arith, linalg, tensor

from ..constants import constant, index_constant
from ..operations import defining_op
from ..structured import (
    body_of,
    copy_generic,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    kinds_of,
    make_copy,
    make_empty,
    maps_of,
    replace_op,
    sizes_of,
)
from .divided import LONGEST_CHAIN, can_go_along
from .loop_parts import ask_with_loops, dim_of_loop, with_loops
from .partial import combiner_of, is_idempotent


@dataclass(frozen=True)
class _Parts:
    """``count`` parts of ``width`` elements of a dim, one after the other, from ``start`` on."""

    count: int
    width: int
    start: int = 0

    def position(self, loops: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
        """Where the two loops through them are in the dim."""
        return loops[0] * self.width + loops[1] + self.start

    def place(self, loops: list[ir.Value]) -> ir.Value:
        """The same, of values."""
        number = arith.addi(arith.muli(loops[0], index_constant(self.width)), loops[1])
        return arith.addi(number, index_constant(self.start)) if self.start else number


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
    with op.location, ir.InsertionPoint(op):
        main = _reduced(op, loop, _Parts(count, width))
        rest = _reduced(op, loop, _Parts(count, share, extent - count * share))
    before = read_again(extent, count, width)
    combiner = combiner_of(rest)
    assert combiner is not None
    if before and not is_idempotent(combiner):
        _leave_out(rest, combiner, loop, share, before)
    replace_op(op, main.results)
    return main, rest


def _leave_out(op: ir.Operation, combiner: ir.Operation, loop: int, width: int, before: int) -> None:
    """Let the reduction ``op`` over parts of ``width`` in a loop start behind ``before`` elements."""
    accumulator = body_of(op).arguments[len(inputs_of(op))]
    number = 1 if combiner.operands[0] == accumulator else 0
    neutral = fill_value(inits_of(op)[0])
    assert neutral is not None
    with op.location, ir.InsertionPoint(op):
        least, neutral = index_constant(before), constant(neutral)
    with op.location, ir.InsertionPoint(combiner):
        loops = [linalg.IndexOp(each).result for each in (loop, loop + 1)]
        is_left = arith.cmpi(arith.CmpIPredicate.sge, _Parts(0, width).place(loops), least)
        combiner.operands[number] = arith.select(is_left, combiner.operands[number], neutral)


def _reduced(op: ir.Operation, loop: int, parts: _Parts) -> ir.Operation:
    """``op`` over parts of the loop."""
    (init,) = inits_of(op)
    fill = fill_value(init)
    assert fill is not None, "a reduction in any order starts from a fill"
    empty = make_empty(init, location=op.location, at=ir.InsertionPoint(op))
    return _again(op, loop, parts, linalg.fill(constant(fill), outs=[empty]), LONGEST_CHAIN)


def _again(op: ir.Operation, loop: int, parts: _Parts, init: ir.Value, depth: int) -> ir.Operation:
    """``op`` once more, with a parts of a loop instead of all of it."""
    inputs, maps, kinds = [], maps_of(op), kinds_of(op)
    made: dict[tuple[ir.Value, int], ir.Value] = {}
    for value, where in zip(inputs_of(op), maps, strict=False):
        dim = dim_of_loop(where, loop)
        if dim is not None:
            if (value, dim) not in made:
                made[value, dim] = _taken(value, dim, parts, depth)
            value = made[value, dim]
        inputs.append(value)
    maps = [with_loops(where, loop, 1) for where in maps]
    kinds = [*kinds[:loop], *[kinds[loop]] * 2, *kinds[loop + 1 :]]
    new = copy_generic(op, [*inputs, init], at=ir.InsertionPoint.current, maps=maps, kinds=kinds)
    ask_with_loops(new, loop, 1, parts.place)
    return new


def _taken(value: ir.Value, dim: int, parts: _Parts, depth: int) -> ir.Value:
    """Parts of a dim of ``value``: made again if that is element-wise work, else read."""
    sizes = sizes_of(value)
    empty = tensor.EmptyOp(
        [*sizes[:dim], parts.count, parts.width, *sizes[dim + 1 :]], element_type(value)
    ).result
    maker = defining_op(value, "linalg.generic")
    if maker is not None and depth and can_go_along(maker, dim):
        return _again(maker, dim, parts, empty, depth - 1).results[0]
    loops = [ir.AffineExpr.get_dim(loop) for loop in range(len(sizes) + 1)]
    position = parts.position(loops[dim : dim + 2])
    read = ir.AffineMap.get(len(loops), 0, [*loops[:dim], position, *loops[dim + 2 :]])
    return make_copy(
        value, empty, read, "slice", location=ir.Location.current, at=ir.InsertionPoint.current
    ).results[0]
