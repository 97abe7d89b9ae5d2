"""Contractions: a square of the product for each thread, the reduced dim of the factors all in registers.

The result's last dim, along which it is stored, gets up to four neighbours a thread; lanes form a rectangle
of 8 x 4 threads, so that a warp reads each element of both factors from shared memory a few times only.
The factors come through an mlopt.convert_layout each: they are read from memory as they lie there.
Where another contraction has placed one side already, the other one gets the threads that are left:
attention's keys run along the threads of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout
from .dims import Dims
from .spread import Spread
from .tiles import contract_loops, is_uniform

NEIGHBOURS = 4  # elements of 4 bytes in a 16-byte store
FAST_LANE_BITS = 3  # of the five; the others run across


@dataclass
class _Side:
    """The classes along one side of the square, innermost first, and what covers them so far."""

    classes: list[int]
    extents: Sequence[int]
    covered: dict[int, int] = field(default_factory=dict)
    bits: dict[int, dict[int, int]] = field(default_factory=dict)
    runs: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.covered = dict.fromkeys(self.classes, 1)
        self.bits = {each: {} for each in self.classes}
        self.runs = dict.fromkeys(self.classes, 1)

    def open(self) -> int | None:
        """The first class that is not covered yet."""
        return next((each for each in self.classes if self.covered[each] < self.extents[each]), None)

    def size(self) -> int:
        """The elements along this side, each class rounded up to a power of two."""
        return prod(1 << (self.extents[each] - 1).bit_length() for each in self.classes)

    def run(self, length: int) -> None:
        """Give each thread ``length`` neighbours of the innermost class, or what it has."""
        if self.classes:
            first = self.classes[0]
            while self.covered[first] < min(length, self.extents[first]):
                self.covered[first] *= 2
            self.runs[first] = self.covered[first]

    def take(self, bit: int, spread: Spread) -> bool:
        """Let a thread bit run along this side, if it may, and there is something left to cover."""
        each = self.open()
        if each is None or not spread.is_free(bit, each):
            return False
        self.bits[each][bit] = self.covered[each]
        self.covered[each] *= 2
        return True

    def place(self, spread: Spread) -> None:
        """Put the classes; registers cover what threads do not."""
        for each in reversed(self.classes):
            rest = -(-self.extents[each] // self.covered[each])
            axes = [(rest, self.covered[each])] if rest > 1 else []
            if self.runs[each] > 1:
                axes.append((self.runs[each], 1))
            spread.put(each, self.bits[each], axes)


class Contract:
    """The layouts that vector.contract wants."""

    def cuts(self, op: ir.Operation) -> Sequence[int]:
        """The factors get a layout of their own."""
        return [number for number in (0, 1) if not is_uniform(op.operands[number])]

    def place(self, op: ir.Operation, dims: Dims, spread: Spread) -> None:
        """Spread the result's classes over threads and registers, the reduced one over registers alone."""
        result = dims.of(op.results[0])
        loops = contract_loops(op)
        inner_first = [
            (each, loop)
            for each, loop in zip(reversed(result), reversed(loops[2]), strict=True)
            if each is not None and each not in spread.placed
        ]
        if inner_first:
            fast_factor = 0 if inner_first[0][1] in loops[0] else 1
            fast = [each for each, loop in inner_first if loop in loops[fast_factor]]
            slow = [each for each, loop in inner_first if loop not in loops[fast_factor]]
            _place_square(_Side(fast, dims.extents), _Side(slow, dims.extents), spread)
        for number in (0, 1):
            for each in () if is_uniform(op.operands[number]) else dims.of(op.operands[number]):
                if each is not None and each not in spread.placed:
                    spread.put(each, {}, [(dims.extents[each], 1)])

    def wants(self, op: ir.Operation, layout: Layout) -> Mapping[int, Layout]:
        """None but the kernel's."""
        del op, layout
        return {}


def _place_square(fast: _Side, slow: _Side, spread: Spread) -> None:
    each_thread = max(fast.size() * slow.size() >> len(spread.bits), 1)
    fast.run(min(NEIGHBOURS, each_thread))
    slow.run(min(NEIGHBOURS, max(each_thread // NEIGHBOURS, 1)))
    for bit in range(len(spread.bits)):
        along_fast = bit < FAST_LANE_BITS or (bit >= LANE_BITS and (bit - LANE_BITS) % 2 == 1)
        first, second = (fast, slow) if along_fast else (slow, fast)
        if not first.take(bit, spread):
            second.take(bit, spread)
    fast.place(spread)
    slow.place(spread)


RULE = Contract()
