"""Which loops of a product run along its rows, its columns and its sums.

The rows of a convolution are places of several images: loops that one factor has, the other has not. Where
their sizes are powers of two a place is one number, and each of its bits is one loop's::

    32 rows of 2x4x4    0b10110 is the second image, row 1, column 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from mlir import ir

from .tiles import contract_loops, sizes_of


@dataclass(frozen=True)
class Side:
    """The loops that a product's rows, or columns, run along, from slow to fast, and their sizes.

    Those of several loops are powers of two. Without loops there is one element.
    """

    loops: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many places there are."""
        return prod(self.sizes)

    def place(self, offsets: Sequence[int]) -> int:
        """The number of a place, by its offset along each loop."""
        number = 0
        for offset, size in zip(offsets, self.sizes, strict=True):
            number = number * size + offset
        return number

    def offsets(self, place: int) -> Mapping[int, int]:
        """A place's offset along each loop; the slowest one has what lies beyond."""
        return _offsets(self, place)

    def axes(self, extent: int, step: int) -> list[tuple[int, int, int]]:
        """An axis of registers along this as axes (loop, extent, step)."""
        if len(self.loops) < 2:
            return [(loop, extent, step) for loop in self.loops]
        return [
            (loop, each, own)
            for each, part in bits_of(extent, step)
            for loop, own in self.offsets(part).items()
            if own
        ]


@cache
def _offsets(side: Side, place: int) -> Mapping[int, int]:
    found = {}
    for loop, size in zip(side.loops[:0:-1], side.sizes[:0:-1], strict=True):
        place, found[loop] = divmod(place, size)
    return found | dict.fromkeys(side.loops[:1], place)


def bits_of(extent: int, step: int) -> list[tuple[int, int]]:
    """An axis whose extent is a power of two as axes of two, from slow to fast."""
    return [(2, step << bit) for bit in reversed(range(extent.bit_length() - 1))]


@dataclass(frozen=True)
class Roles:
    """What runs along a product's rows and columns, and the loop of its sums; None if it has one element."""

    rows: Side
    columns: Side
    depth: int | None


def roles_of(contract: ir.Operation) -> Roles | str:
    """Which loops have which role, or why there is none for some."""
    left, right, result = contract_loops(contract)
    sizes = {
        loop: size
        for loops, operand in zip((left, right), contract.operands, strict=False)
        for loop, size in zip(loops, sizes_of(operand), strict=True)
    }
    wide = [loop for loop in sizes if sizes[loop] != 1]
    rows = [loop for loop in result if loop in wide and loop not in right]
    columns = [loop for loop in result if loop in wide and loop not in left]
    depth = [loop for loop in wide if loop not in result]
    shared = [loop for loop in wide if loop in left and loop in right and loop in result]
    if shared or len(columns) > 1 or len(depth) > 1:
        return "a factor has several dims that the other one lacks, or both share one with the result"
    if len(rows) > 1 and any(sizes[loop] & (sizes[loop] - 1) for loop in rows):
        return "its rows run along several dims, whose sizes are no powers of two"
    high, beside = (Side(tuple(side), tuple(sizes[loop] for loop in side)) for side in (rows, columns))
    return Roles(high, beside, next(iter(depth), None))


def loop_size(op: ir.Operation, loop: int | None) -> int:
    """The size of a loop of a product."""
    for loops, operand in zip(contract_loops(op), op.operands, strict=True):
        if loop in loops:
            return sizes_of(operand)[loops.index(loop)]
    return 1
