"""The shapes that attention's rows go through, and the finest one that all of them are made of.

Reshapes split and join the dims around the last one: 4 x 21 rows of grouped heads are 2 x 6 x 7 queries.
Both are products of neighbours in 2 x 2 x 3 x 7. Sizes that are not known are symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import prod

from mlir import ir

from ..raising.reshape import joined_dims
from ..structured import DYNAMIC


@dataclass(frozen=True)
class Size:
    """A number times sizes that are not known, each by its number."""

    number: Fraction
    symbols: tuple[int, ...] = ()

    def times(self, other: Size) -> Size:
        """The product."""
        return Size(self.number * other.number, tuple(sorted((*self.symbols, *other.symbols))))

    def over(self, other: Size) -> Size | None:
        """The quotient; None if ``other`` has a symbol that this has not."""
        left = list(self.symbols)
        for symbol in other.symbols:
            if symbol not in left:
                return None
            left.remove(symbol)
        return Size(self.number / other.number, tuple(left)) if other.number else None


ONE = Size(Fraction(1))
Shape = list[Size]


def product(sizes: Sequence[Size]) -> Size:
    """All of them multiplied."""
    total = ONE
    for size in sizes:
        total = total.times(size)
    return total


@dataclass
class Rows:
    """The shapes of the rows; ``known`` has a dim of a tensor for each size that is not a number."""

    known: dict[Size, tuple[ir.Value, int]] = field(default_factory=dict)
    symbols: int = 0

    def first(self, value: ir.Value) -> Shape:
        """The dims of ``value`` but the last."""
        return [self._declare(value, dim, None) for dim in range(value.type.rank - 1)]

    def reshaped(self, shape: Shape, op: ir.Operation) -> Shape | None:
        """What becomes of a shape in a reshape that keeps the last dim."""
        groups = joined_dims(op)[:-1]
        if op.name == "tensor.collapse_shape":
            joined = [product([shape[dim] for dim in group]) for group in groups]
            for dim, size in enumerate(joined):
                self._declare(op.results[0], dim, size)
            return joined
        split: Shape = []
        for size, group in zip(shape, groups, strict=True):
            sizes = [op.results[0].type.shape[dim] for dim in group]
            if sizes.count(DYNAMIC) > 1:
                return None
            rest = size.over(Size(Fraction(prod(each for each in sizes if each != DYNAMIC))))
            if rest is None:
                return None
            for dim, each in zip(group, sizes, strict=True):
                part = rest if each == DYNAMIC else Size(Fraction(each))
                split.append(self._declare(op.results[0], dim, part))
        return split

    def _declare(self, value: ir.Value, dim: int, size: Size | None) -> Size:
        number = value.type.shape[dim]
        if number != DYNAMIC:
            return Size(Fraction(number))
        if size is None:
            size = Size(Fraction(1), (self.symbols,))
            self.symbols += 1
        self.known.setdefault(size, (value, dim))
        return size


def refined(shapes: Sequence[Shape]) -> Shape | None:
    """The shape of which each of ``shapes`` joins neighbours, without dims of one element; None: none."""
    ends = {ONE}
    for shape in shapes:
        end = ONE
        for size in reversed(shape):
            end = end.times(size)
            ends.add(end)
    ordered = sorted(ends, key=lambda size: (len(size.symbols), size.number))
    factors: Shape = []
    for smaller, larger in pairwise(ordered):
        factor = larger.over(smaller)
        if factor is None or (not factor.symbols and factor.number.denominator != 1):
            return None
        factors.append(factor)
    return factors[::-1]


def parts(shape: Shape, factors: Shape) -> list[list[int]] | None:
    """For each dim of ``shape`` the numbers of the factors that it joins; None if it does not."""
    found: list[list[int]] = []
    at = 0
    for size in shape:
        group: list[int] = []
        total = ONE
        while total != size and at < len(factors):
            total = total.times(factors[at])
            group.append(at)
            at += 1
        if total != size:
            return None
        found.append(group)
    return found if at == len(factors) else None
