"""Where the totals of a block's warps lie in shared memory until threads add them up: without bank conflicts.

First come a thread's totals that one access stores, with those of a few more warps if one access can load all
of them; then those of the next lane, then the other warps'. So what a warp stores or loads lies side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from ....dialects.layouts import BANK_BYTES, BANKS, LANE_BITS, Axis, Layout
from ..layouts.access import WIDE

MANY = 8  # totals of warps, from which on lanes add them up
MOST = 16  # of all that a thread adds up itself: their registers come beside the elements that wait for them.
# Of 64 bits two shuffles each would take more: 128 bytes spilled where f64 are reduced in two directions.


@dataclass(frozen=True)
class Partials:
    """Each thread has ``totals`` of ``size`` bytes; ``bits`` are those of a thread's number in its block.

    Of them ``warps`` are reduced over, ``owns`` tell elements of the result apart, the others make copies.
    """

    totals: int
    size: int
    bits: int
    owns: tuple[int, ...]
    warps: tuple[int, ...]

    @property
    def elements(self) -> int:
        """How many totals there are in all."""
        return self.totals << len(self.owns) + len(self.warps)

    @property
    def wide(self) -> int:
        """The totals that a thread stores at once."""
        return gcd(self.totals, WIDE // self.size)

    @property
    def width(self) -> int:
        """The totals that a thread loads at once."""
        return self.wide << self._beside

    @cached_property
    def lanes(self) -> tuple[int, ...]:
        """Where lanes share the totals of many warps: the lane bits that say which each one loads."""
        free = [bit for bit in range(LANE_BITS) if bit not in self.owns]
        are_beside = self.size <= BANK_BYTES and self.totals << len(self.warps) > MOST
        shares = are_beside or 1 << len(self.warps) >= MANY
        return tuple(free[: len(self.warps)]) if shares else ()

    @property
    def writes(self) -> Layout:
        """Where a thread's stores begin, along the one dim of shared memory."""
        return self._layout([self._accesses], self._steps)

    @property
    def reads(self) -> Layout:
        """Where its loads begin: of a store's totals those of all its warps, then the next store's."""
        steps = {bit: self._steps[bit] for bit in self.owns}
        steps |= {lane: self._steps[bit] for lane, bit in zip(self.lanes, self.warps, strict=False)}
        far = [self._steps[bit] for bit in self.warps[len(self.lanes) + self._beside :]]
        warps = [Axis(1 << len(far), (far[0],))] if far else []
        return self._layout([self._accesses, *warps], steps)

    @property
    def _accesses(self) -> Axis:
        """A thread's stores."""
        return Axis(self.totals // self.wide, (self.wide << len(self._near) + len(self.warps),))

    @property
    def _near(self) -> list[int]:
        """The lane bits that tell elements apart."""
        return [bit for bit in self.owns if bit < LANE_BITS]

    @cached_property
    def _beside(self) -> int:
        """The bits of warps whose totals lie side by side: no more than the banks hold of all lanes."""
        room = min(WIDE, BANKS * BANK_BYTES >> len(self._near)) // (self.wide * self.size)
        return 0 if self.lanes or not room else min(room.bit_length() - 1, len(self.warps))

    @cached_property
    def _steps(self) -> dict[int, int]:
        """What each bit adds to a place."""
        stands_for = dict(zip(self.lanes, self.warps, strict=False))  # a warp's bit for each lane's
        near = [stands_for.get(bit, bit) for bit in sorted((*self._near, *self.lanes))]
        far = self.warps[len(self.lanes) :]
        order = [*far[: self._beside], *near, *far[self._beside :]]
        others = [bit for bit in self.owns if bit >= LANE_BITS]
        steps = {bit: self.wide << at for at, bit in enumerate(order)}
        return steps | {bit: self.totals << len(order) + at for at, bit in enumerate(others)}

    def _layout(self, axes: Sequence[Axis], steps: Mapping[int, int]) -> Layout:
        return Layout(1, tuple(axes), tuple((steps.get(bit, 0),) for bit in range(self.bits)))
