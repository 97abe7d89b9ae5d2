"""One layout for a kernel, given class by class: which thread bits and registers run along each class.

A *class* is a dim that tiles share (`dims`). A thread bit may run along several classes, if no tile has two
of them. What a tile's layout is follows: the steps of its own classes (`Spread.layout`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ....dialects.layouts import LANE_BITS, Axis, Layout, Position
from ...powers import power_below


@dataclass
class Spread:
    """The steps of the ``32 * warps`` threads of a block, and of the registers, class by class.

    ``bits`` has a dict from class to step for each thread bit, lanes first; ``registers`` the axes
    ``(class, extent, step)`` from slow to fast. ``extents`` are the classes'; ``apart`` are those that a
    class shares a tile with.
    """

    extents: Sequence[int]
    apart: Sequence[Collection[int]]
    warps: int
    bits: list[dict[int, int]] = field(default_factory=list)
    registers: list[tuple[int, int, int]] = field(default_factory=list)
    placed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.warps & (self.warps - 1) or self.warps < 1:
            raise ValueError(f"a block has a power of two of warps, not {self.warps}")
        self.bits = self.bits or [{} for _ in range(LANE_BITS + self.warps.bit_length() - 1)]

    def layout(self, classes: Sequence[int | None]) -> Layout:
        """The layout of a tile whose dims are these classes; None for dims of one element."""

        def step(steps: dict[int, int]) -> Position:
            return tuple(steps.get(each, 0) if each is not None else 0 for each in classes)

        axes = tuple(
            Axis(extent, step({each: stride})) for each, extent, stride in self.registers if each in classes
        )
        return Layout(len(classes), axes, tuple(step(bit) for bit in self.bits))

    def fill(
        self,
        classes: Sequence[int],
        width: int,
        warps_last: Collection[int] = (),
        line: int | None = None,
        rows: int = 1,
    ) -> None:
        """Spread classes that have no place yet, innermost in memory first.

        Each thread has ``width`` neighbours of the first class, and ``rows`` of the second; then come the
        lanes, then the warps, then registers, each along the first class that still has something to cover.
        Lanes that have ``line`` elements of the first class go on along the others, if there is something to
        cover. Warps halve what is even first, so that fewer are idle, and run along the classes
        ``warps_last`` only when the others are covered: those are reduced, which is dearer across warps.
        """
        new = [each for each in classes if each not in self.placed]
        if not new:
            return
        covered = dict.fromkeys(new, 1)
        first = classes[0]
        own = min(width, power_below(self.extents[first])) if first in covered else 1
        covered[first] = own
        if rows > 1:
            covered[classes[1]] = rows
        for bit in range(LANE_BITS):
            has_line = line is not None and covered[new[0]] >= line
            self._take(bit, [*new[1:], new[0]] if has_line else new, covered)
        for bit in range(LANE_BITS, len(self.bits)):
            self._take(
                bit, sorted(new, key=lambda one: (one in warps_last, self._rest(one, covered) % 2)), covered
            )
        if not self.placed:
            self._lower(warps_last)
        axes = []
        for each in reversed(new):
            rest = self._rest(each, covered)
            if rest > 1:
                axes.append((each, rest, covered[each]))
        if rows > 1:
            axes.append((classes[1], rows, 1))
        if own > 1:
            axes.append((first, own, 1))
        self.registers += axes
        self.placed |= set(new)

    def put(self, each: int, bits: dict[int, int], registers: Iterable[tuple[int, int]]) -> None:
        """Place a class as an op wants it: the steps of thread bits along it, (extent, step) of registers."""
        for bit, step in bits.items():
            self.bits[bit][each] = step
        self.registers += [(each, extent, step) for extent, step in registers]
        self.placed.add(each)

    def is_free(self, bit: int, each: int) -> bool:
        """Whether a thread bit runs along neither a class nor one that it shares a tile with."""
        return not any(other in self.bits[bit] for other in (each, *self.apart[each]))

    def _rest(self, each: int, covered: dict[int, int]) -> int:
        """How often what is covered of a class must be repeated."""
        return -(-self.extents[each] // covered[each])

    def _lower(self, classes: Collection[int]) -> None:
        """Let the lowest warp bits run along ``classes``: warps that share a row are neighbours then.

        Their numbers are those of their places, in memory and among a row's partial results.
        """
        self.bits[LANE_BITS:] = sorted(
            self.bits[LANE_BITS:], key=lambda bit: not any(each in classes for each in bit)
        )

    def _take(self, bit: int, among: Iterable[int], covered: dict[int, int]) -> None:
        """Let a thread bit run along the first class that has something left, if it may."""
        for each in among:
            if self.is_free(bit, each) and self._rest(each, covered) > 1:
                self.bits[bit][each] = covered[each]
                covered[each] *= 2
                return
