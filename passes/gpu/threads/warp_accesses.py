"""What the warps of a block do to store or load a tile in shared memory, and how many passes it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ....dialects.layouts import BANK_BYTES, WARP, Layout, Position, phase_lanes, wavefronts

Place = Callable[[Position], int]


@dataclass(frozen=True)
class WarpAccesses:
    """Accesses of ``width`` neighbours along ``inner``, by the threads that do not make copies, or by all."""

    layout: Layout
    sizes: tuple[int, ...]
    inner: int
    width: int
    element_bytes: int
    has_copies: bool

    @cached_property
    def count(self) -> int:
        """How many all warps make."""
        return sum(self._wanted.values())

    @cached_property
    def least(self) -> int:
        """The passes that they take without conflicts."""
        share = phase_lanes(self._bytes)
        total = 0
        for (room, _), count in self._wanted.items():
            lanes = self._lanes(room)
            shares = (lanes[first : first + share] for first in range(0, WARP, share))
            total += count * sum(map(any, shares))
        return total

    def passes(self, place: Place, most: int, gap: int = 0) -> int:
        """The passes that they take where ``place`` says; of more than ``most``, some larger number.

        ``gap``: the elements that lie between groups of rows there.
        """
        total, known = 0, dict[tuple[Position, int], int]()
        wanted = self._wanted if gap * self.element_bytes % BANK_BYTES else self._in_words
        lanes = [place(position) * self.element_bytes for position in self.layout.lane_positions]
        for (room, offset), count in wanted.items():
            first = place(offset) * self.element_bytes % BANK_BYTES
            if (room, first) not in known:
                acting = zip(lanes, self._lanes(room), strict=True)
                addresses = [lane + first if acts else None for lane, acts in acting]
                known[room, first] = wavefronts(addresses, self._bytes)
            total += count * known[room, first]
            if total > most:
                break
        return total

    @property
    def _bytes(self) -> int:
        return self.width * self.element_bytes

    @cached_property
    def _reach(self) -> Position:
        """One more than the last position of a warp's lanes, from its first one's."""
        return tuple(1 + max(each) for each in zip(*self.layout.lane_positions, strict=True))

    @cached_property
    def _wanted(self) -> Counter[tuple[Position, Position]]:
        """How often a warp makes an access with so much room for its lanes, and from what position on.

        Accesses of whole words begin anywhere alike: one position stands for all.
        """
        found: Counter[tuple[Position, Position]] = Counter()
        origin = (0,) * len(self.sizes)
        idle = 0 if self.has_copies else self.layout.copies
        for thread in range(0, self.layout.threads, WARP):
            if thread & idle:
                continue
            own = self.layout.thread_position(thread)
            for register in self.layout.register_positions:
                if register[self.inner] % self.width:
                    continue
                at = tuple(one + other for one, other in zip(own, register, strict=True))
                left = (size - start for size, start in zip(self.sizes, at, strict=True))
                room = tuple(map(min, left, self._reach))
                if all(part > 0 for part in room):
                    found[room, at if self._bytes < BANK_BYTES else origin] += 1
        return found

    @cached_property
    def _in_words(self) -> Counter[tuple[Position, Position]]:
        """`_wanted`, where only the place within a word counts, which no stride and no swizzle changes."""
        word = max(BANK_BYTES // self.element_bytes, 1)
        found: Counter[tuple[Position, Position]] = Counter()
        for (room, at), count in self._wanted.items():
            found[room, tuple(part % word for part in at)] += count
        return found

    @cached_property
    def _rooms(self) -> dict[Position, list[bool]]:
        """What `_lanes` has found."""
        return {}

    def _lanes(self, room: Position) -> list[bool]:
        """Whether each lane takes part."""
        if room in self._rooms:
            return self._rooms[room]
        idle = 0 if self.has_copies else self.layout.copies
        self._rooms[room] = [
            not lane & idle and all(map(int.__lt__, position, room))
            for lane, position in enumerate(self.layout.lane_positions)
        ]
        return self._rooms[room]
