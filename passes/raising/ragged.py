"""Reductions of a number of elements that nothing divides: parts of one width, and what is left over.

::

    generic {sum} (i reduced) ins(%x : 1000003)
  ->
    %a = generic (p, w) ins(%x at p * 4096 + w) -> 244x4096
    %m = generic {sum} (p, w reduced) ins(%a)
    %b = generic (w) ins(%x at w + 999424) -> 579
    %t = generic {sum} (w reduced) ins(%b)
    %m + %t

Legal where the order of the reduction is free, it starts from a neutral element, and each dim is one loop of
static size. Element-wise work before it is written again for both, so that nothing but what it reads comes
from memory. Kernels read at such places directly: %a and %b are not made.
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
from .parts import elementwise


@dataclass(frozen=True)
class _Part:
    """Elements of a dim, from ``start`` on: one loop runs through them, or two that have these ``sizes``."""

    start: int
    sizes: tuple[int, ...]

    @property
    def added(self) -> int:
        """How many loops there are more than before."""
        return len(self.sizes) - 1

    def position(self, loops: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
        """Where the loops are in the dim."""
        return loops[0] * self.sizes[1] + loops[1] if self.added else loops[0] + self.start

    def place(self, loops: list[ir.Value]) -> ir.Value:
        """The same, of values."""
        if not self.added:
            return arith.addi(loops[0], index_constant(self.start))
        return arith.addi(arith.muli(loops[0], index_constant(self.sizes[1])), loops[1])


def split_raggedly(op: ir.Operation, loop: int, extent: int, width: int) -> ir.Operation:
    """The reduction over parts of ``width`` in a reduced ``loop``; what is left is added to it.

    It has two loops for the one. ``op`` has one result, and its body yields what combines; it is erased.
    """
    parts = extent // width
    combiner = body_of(op).operations[-1].operation.operands[0].owner.name
    with op.location, ir.InsertionPoint(op):
        main = _reduced(op, loop, _Part(0, (parts, width)))
        rest = _reduced(op, loop, _Part(parts * width, (extent - parts * width,)))
    plain = ir.AffineMap.get_identity(op.results[0].type.rank, op.context)
    both = elementwise(
        op.results[0],
        [main.results[0], rest.results[0]],
        [plain, plain],
        ir.InsertionPoint(op),
        lambda one, other: ir.Operation.create(combiner, [one.type], [one, other]).results[0],
    )
    replace_op(op, [both])
    return main


def _reduced(op: ir.Operation, loop: int, part: _Part) -> ir.Operation:
    """``op`` over a part of the loop."""
    (init,) = inits_of(op)
    fill = fill_value(init)
    assert fill is not None, "a reduction in any order starts from a fill"
    empty = make_empty(init, location=op.location, at=ir.InsertionPoint(op))
    return _again(op, loop, part, linalg.fill(constant(fill), outs=[empty]), LONGEST_CHAIN)


def _again(op: ir.Operation, loop: int, part: _Part, init: ir.Value, depth: int) -> ir.Operation:
    """``op`` once more, with a part of a loop instead of all of it."""
    inputs, maps, kinds = [], maps_of(op), kinds_of(op)
    made: dict[tuple[ir.Value, int], ir.Value] = {}
    for value, where in zip(inputs_of(op), maps, strict=False):
        dim = dim_of_loop(where, loop)
        if dim is not None:
            if (value, dim) not in made:
                made[value, dim] = _taken(value, dim, part, depth)
            value = made[value, dim]
        inputs.append(value)
    maps = [with_loops(where, loop, part.added) for where in maps]
    kinds = [*kinds[:loop], *[kinds[loop]] * (part.added + 1), *kinds[loop + 1 :]]
    new = copy_generic(op, [*inputs, init], at=ir.InsertionPoint.current, maps=maps, kinds=kinds)
    ask_with_loops(new, loop, part.added, part.place)
    return new


def _taken(value: ir.Value, dim: int, part: _Part, depth: int) -> ir.Value:
    """A part of a dim of ``value``: made again if that is element-wise work, else read."""
    sizes = sizes_of(value)
    empty = tensor.EmptyOp([*sizes[:dim], *part.sizes, *sizes[dim + 1 :]], element_type(value)).result
    maker = defining_op(value, "linalg.generic")
    if maker is not None and depth and can_go_along(maker, dim):
        return _again(maker, dim, part, empty, depth - 1).results[0]
    loops = [ir.AffineExpr.get_dim(loop) for loop in range(len(sizes) + part.added)]
    behind = dim + part.added + 1
    position = part.position(loops[dim:behind])
    read = ir.AffineMap.get(len(loops), 0, [*loops[:dim], position, *loops[behind:]])
    return make_copy(
        value, empty, read, "slice", location=value.location, at=ir.InsertionPoint.current
    ).results[0]
