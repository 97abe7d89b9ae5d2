"""Tiles of more than two dims that lie in shared memory as rows: all dims but the inner one are one there.

2x4x4x64, along the last dim      position (1, 2, 3, 40)  ->  (27, 40) of 32x64
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from mlir import ir

from ....dialects.layouts import Axis, Layout, Position
from .fragment import Words

T = TypeVar("T")


@dataclass(frozen=True)
class Flat:
    """``sizes`` are the tile's, powers of two; ``inner`` is the dim along which rows run."""

    sizes: tuple[int, ...]
    inner: int

    @property
    def rows(self) -> tuple[int, int]:
        """The sizes of what it is in shared memory: its rows, and a row."""
        return prod(self.sizes) // self.sizes[self.inner], self.sizes[self.inner]

    def position(self, position: Position) -> Position:
        """Where a position lies among the rows; steps of layouts, too."""
        row = 0
        for dim, (at, size) in enumerate(zip(position, self.sizes, strict=True)):
            row = row if dim == self.inner else row * size + at
        return row, position[self.inner]

    def layout(self, layout: Layout) -> Layout:
        """A layout of the tile as one of its rows."""
        registers = tuple(Axis(axis.extent, self.position(axis.step)) for axis in layout.registers)
        return Layout(2, registers, tuple(map(self.position, layout.bits)))


def flat_of(sizes: tuple[int, ...], inner: int | None, *layouts: Layout) -> Flat | None:
    """How a tile in these layouts can lie as rows along ``inner``, if it has more than two dims.

    Its sizes are powers of two, which no layout goes beyond: each bit of a row's number is one dim's.
    """
    if inner is None or sum(size != 1 for size in sizes) < 3 or any(size & (size - 1) for size in sizes):
        return None
    beyond = any(
        covered > size for layout in layouts for covered, size in zip(layout.covered, sizes, strict=True)
    )
    return None if beyond else Flat(sizes, inner)


class Renamed(Mapping[Position, T], Words):
    """What another mapping has, by other positions."""

    def __init__(self, values: Mapping[Position, T], names: Mapping[Position, Position]) -> None:
        self._values, self._names = values, names

    def __getitem__(self, position: Position) -> T:
        return self._values[self._names[position]]

    def word(self, positions: Sequence[Position]) -> ir.Value | None:
        """The register of 32 bits that has the elements at ``positions``, if they were loaded so."""
        if not isinstance(self._values, Words) or any(position not in self._names for position in positions):
            return None
        return self._values.word([self._names[position] for position in positions])

    def __iter__(self) -> Iterator[Position]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
