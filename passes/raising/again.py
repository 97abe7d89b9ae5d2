"""A reduction once more, over some places of a loop; the element-wise work before it goes along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import constant
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
    sizes_of,
)
from ..subsets import Size
from .divided import LONGEST_CHAIN
from .loop_parts import ask_with_loops, dim_of_loop, with_loops
from .partial import combiner_of


class Places(Protocol):
    """Places of a dim, which several loops run through."""

    @property
    def sizes(self) -> Sequence[Size]:
        """The steps of each of these loops."""

    def position(self, loops: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
        """Where the loops are in the dim."""

    def place(self, loops: list[ir.Value]) -> ir.Value:
        """The same, of values."""

    def readable(self, value: ir.Value, dim: int) -> ir.Value:
        """What ``value`` is read from, which has all of these places along ``dim``."""

    def can_go_along(self, maker: ir.Operation, dim: int) -> bool:
        """Whether an op makes its one result element by element, and can do so at these places."""


def reduced(op: ir.Operation, loop: int, places: Places) -> ir.Operation:
    """The reduction ``op``, which has one result and any order, over ``places`` of a loop."""
    (init,) = inits_of(op)
    fill = fill_value(init)
    assert fill is not None, "a reduction in any order starts from a fill"
    empty = make_empty(init, location=op.location, at=ir.InsertionPoint(op))
    return _again(op, loop, places, linalg.fill(constant(fill), outs=[empty]), LONGEST_CHAIN)


def pass_over(op: ir.Operation, loops: Sequence[int], is_meant: Callable[[list[ir.Value]], ir.Value]) -> None:
    """Let the reduction ``op`` take its neutral element where, by these of its loops, no element is meant."""
    combiner = combiner_of(op)
    neutral = fill_value(inits_of(op)[0])
    assert combiner is not None and neutral is not None, "a reduction in any order starts from a fill"
    accumulator = body_of(op).arguments[len(inputs_of(op))]
    number = 1 if combiner.operands[0] == accumulator else 0
    with op.location, ir.InsertionPoint(op):
        nothing = constant(neutral)
    with op.location, ir.InsertionPoint(combiner):
        at = [linalg.IndexOp(loop).result for loop in loops]
        combiner.operands[number] = arith.select(is_meant(at), combiner.operands[number], nothing)


def _again(op: ir.Operation, loop: int, places: Places, init: ir.Value, depth: int) -> ir.Operation:
    """``op`` once more, at ``places`` of a loop; up to ``depth`` ops before it go along."""
    inputs, maps, kinds, loops = [], maps_of(op), kinds_of(op), len(places.sizes)
    made: dict[tuple[ir.Value, int], ir.Value] = {}
    for value, where in zip(inputs_of(op), maps, strict=False):
        dim = dim_of_loop(where, loop)
        if dim is not None:
            if (value, dim) not in made:
                made[value, dim] = _taken(value, dim, places, depth)
            value = made[value, dim]
        inputs.append(value)
    maps = [with_loops(where, loop, loops - 1) for where in maps]
    kinds = [*kinds[:loop], *[kinds[loop]] * loops, *kinds[loop + 1 :]]
    new = copy_generic(op, [*inputs, init], at=ir.InsertionPoint.current, maps=maps, kinds=kinds)
    ask_with_loops(new, loop, loops - 1, places.place)
    return new


def _taken(value: ir.Value, dim: int, places: Places, depth: int) -> ir.Value:
    """``places`` of a dim of ``value``: made again if that is element-wise work, else read."""
    sizes, count = sizes_of(value), len(places.sizes)
    empty = tensor.EmptyOp([*sizes[:dim], *places.sizes, *sizes[dim + 1 :]], element_type(value)).result
    maker = defining_op(value, "linalg.generic")
    if maker is not None and depth and places.can_go_along(maker, dim):
        return _again(maker, dim, places, empty, depth - 1).results[0]
    loops = [ir.AffineExpr.get_dim(loop) for loop in range(len(sizes) + count - 1)]
    position = places.position(loops[dim : dim + count])
    read = ir.AffineMap.get(len(loops), 0, [*loops[:dim], position, *loops[dim + count :]])
    whole = places.readable(value, dim)
    return make_copy(
        whole, empty, read, "slice", location=ir.Location.current, at=ir.InsertionPoint.current
    ).results[0]
