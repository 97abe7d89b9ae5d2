"""A total of as many rows as nobody knows: a known number of parts, which take blocks of rows in turns.

::

    generic {sum} (i, j reduced) ins(%x : ?x1021)
  ->
    %x0 = %x in a fill of 0, of a multiple of 256 rows
    %a = generic (p, t, w, j) ins(%x0 at (t * 256 + p * 4 + w, j)) -> 64x?x4x1021
    %s = generic {sum} (p | t, w, j reduced) ins(%a) -> tensor<64xf32>
    generic {sum} (p reduced) ins(%s)

Each row as a part of its own would leave parts of unknown number, and one task would have to add them up
before any could read the sum: x / x.sum() would be three kernels. A block has `BLOCK` elements, so that it
is read in a long run, and sums are as exact as those of blocks: a part adds up one number a turn.

Legal where the order of the reduction is free, it starts from a neutral element, and the loop is a whole dim
of all that has it. Kernels read through the fill (`tiling/pads.py`), which is never made. Element-wise work
before it is written again, so that nothing but what it reads comes from memory; what it makes of the fill is
left out.
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
    dim_of,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    maps_of,
    replace_op,
    sizes_of,
)
from ..subsets import Size
from ..tiling.vectors import zero_of
from .again import pass_over, reduced
from .divided import reads_whole_dims, works_in_order
from .loop_parts import dim_of_loop
from .partial import combiner_of
from .slices import insert

BLOCK = 4096  # elements of a block, or one row that has more


@dataclass(frozen=True)
class _Turns:
    """``count`` parts take blocks of ``width`` of ``size`` places in ``turns``; ``outside`` comes then."""

    count: int
    width: int
    turns: ir.Value
    size: ir.Value
    outside: ir.Attribute

    @property
    def sizes(self) -> tuple[Size, ...]:
        """A loop over the parts, one over their turns, and one over a block that has several places."""
        return (self.count, self.turns, self.width)[: 2 + (self.width > 1)]

    def position(self, loops: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
        """Where the loops are among the places."""
        part, turn, *inside = loops
        first = turn * (self.count * self.width) + part * self.width
        return first + inside[0] if inside else first

    def place(self, loops: list[ir.Value]) -> ir.Value:
        """The same, of values."""
        part, turn, *inside = loops
        first = self._first(part, turn)
        return arith.addi(first, inside[0]) if inside else first

    def is_inside(self, loops: list[ir.Value]) -> ir.Value:
        """Whether they are at a place that there is; a block's places are compared with one number."""
        part, turn, *inside = loops
        first, less = self._first(part, turn), arith.CmpIPredicate.slt
        if inside:
            return arith.cmpi(less, inside[0], arith.subi(self.size, first))
        return arith.cmpi(less, first, self.size)

    def _first(self, part: ir.Value, turn: ir.Value) -> ir.Value:
        """The first place of a block."""
        block = arith.addi(arith.muli(turn, index_constant(self.count)), part)
        return block if self.width == 1 else arith.muli(block, index_constant(self.width))

    def readable(self, value: ir.Value, dim: int) -> ir.Value:
        """``value`` in a fill of whole turns."""
        sizes, element = sizes_of(value), element_type(value)
        whole = arith.muli(self.turns, index_constant(self.count * self.width))
        empty = tensor.EmptyOp([*sizes[:dim], whole, *sizes[dim + 1 :]], element).result
        outside = constant(self.outside if self.outside.type == element else zero_of(element))
        return insert(value, linalg.fill(outside, outs=[empty]), [0] * len(sizes), sizes, "pad")

    def can_go_along(self, maker: ir.Operation, dim: int) -> bool:  # noqa: ARG002
        """What works element by element can do so at any places."""
        return works_in_order(maker) and reads_whole_dims(maker)


def can_take_turns(op: ir.Operation, loop: int) -> bool:
    """Whether what has the loop has it as a whole dim, and a place in memory: truth values have none."""
    reads = zip(inputs_of(op), maps_of(op), strict=False)
    along = [value for value, where in reads if dim_of_loop(where, loop) is not None]
    return bool(along) and reads_whole_dims(op) and all(element_type(value).width >= 8 for value in along)


def take_turns(op: ir.Operation, loop: int, count: int, width: int) -> ir.Operation:
    """The reduction ``op`` over ``count`` parts of a loop, which blocks of ``width`` places of it go round.

    A loop over the parts, which is to be a loop of the result, stands for the one, with others behind it.
    """
    neutral = fill_value(inits_of(op)[0])
    assert neutral is not None, "a reduction in any order starts from a fill"
    with op.location, ir.InsertionPoint(op):
        size = _size(op, loop)
        turns = arith.ceildivui(size, index_constant(count * width))
        places = _Turns(count, width, turns, size, neutral)
        new = reduced(op, loop, places)
    if not _takes_what_is_outside(op, loop, places):
        pass_over(new, range(loop, loop + len(places.sizes)), places.is_inside)
    replace_op(op, new.results)
    return new


def _size(op: ir.Operation, loop: int) -> ir.Value:
    """The extent of a loop."""
    for value, where in zip(inputs_of(op), maps_of(op), strict=False):
        dim = dim_of_loop(where, loop)
        if dim is not None:
            return dim_of(value, dim)
    raise AssertionError("can_take_turns has asked")


def _takes_what_is_outside(op: ir.Operation, loop: int, places: _Turns) -> bool:
    """Whether ``op`` combines what it reads as it is, so that its neutral element may be behind that."""
    inputs, combiner, dim = inputs_of(op), combiner_of(op), dim_of_loop(maps_of(op)[0], loop)
    assert combiner is not None
    alone = len(inputs) == 1 and set(combiner.operands) == set(body_of(op).arguments)
    if dim is None or not alone or element_type(inputs[0]) != places.outside.type:
        return False
    maker = defining_op(inputs[0], "linalg.generic")
    return maker is None or not places.can_go_along(maker, dim)
