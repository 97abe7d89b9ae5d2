"""Which bytes of its sectors a launch uses, and how much of these each access asks for at once.

Of a column of a matrix a launch uses a few bytes of each sector: whoever asks for the sector once, and for
all of these, asks for no more than it must. What is loaded is told from what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .ptx import Array
from .traffic import SECTOR

_FIRST = np.uint32(0x00010001)  # bytes of a sector that begin 16 aligned ones, and that end them
_LAST = np.uint32(0x80008000)


class _Side(NamedTuple):
    """The sectors that are loaded, or stored to, in order, and the bits of the bytes that are used."""

    sectors: Array
    bytes: Array


class _Asked(NamedTuple):
    """The sectors that the warps of a line ask for, bits of the bytes, and of those that the launch uses."""

    sectors: Array
    bytes: Array
    used: Array


@dataclass(frozen=True)
class Used:
    """Of a whole launch; lines are those of its PTX."""

    sides: tuple[_Side, ...]
    lines: dict[int, _Asked]

    @classmethod
    def of(cls, accesses: Iterable[tuple[int, Array, Array, bool]]) -> Used:
        """From lines, sectors of warps, bits of their bytes, and whether they are stored."""
        found = list(accesses)
        sides, lines = list[_Side](), dict[int, _Asked]()
        for stores in (False, True):
            own = [each for each in found if each[3] == stores]
            if not own:
                continue
            side = _union(*(np.concatenate([each[part] for each in own]) for part in (1, 2)))
            sides.append(side)
            for line in dict.fromkeys(each[0] for each in own):
                sectors, touched = (
                    np.concatenate([each[part] for each in own if each[0] == line]) for part in (1, 2)
                )
                used = side.bytes[np.searchsorted(side.sectors, sectors)]
                lines[line] = _Asked(sectors, touched, used)
        return cls(tuple(sides), lines)

    @property
    def bytes(self) -> int:
        """What is loaded, and what is stored, each byte once."""
        return sum(int(np.bitwise_count(side.bytes).sum()) for side in self.sides)

    def filled(self, line: int) -> float:
        """How many sectors' used bytes the warps of a line ask for; no more than the sectors they touch."""
        asked = self.lines.get(line)
        if asked is None:
            return 0.0
        return float((np.bitwise_count(asked.bytes) / np.bitwise_count(asked.used)).sum())

    def has_no_neighbours(self, line: int, size: int) -> bool:
        """Whether beside each access of a line, ``size`` bytes, no byte of its aligned 16 is used."""
        asked = self.lines.get(line)
        if asked is None:
            return False
        starts = asked.bytes & np.uint32(sum(1 << at for at in range(0, 1 << SECTOR, size)))
        before = starts & (asked.used << np.uint32(1)) & ~_FIRST
        after = (starts << np.uint32(size - 1)) & (asked.used >> np.uint32(1)) & ~_LAST
        return not (before | after).any()


def _union(sectors: Array, touched: Array) -> _Side:
    order = np.argsort(sectors, kind="stable")
    sectors, touched = sectors[order], touched[order]
    starts = np.flatnonzero(np.concatenate([[True], sectors[1:] != sectors[:-1]]))
    return _Side(sectors[starts], np.bitwise_or.reduceat(touched, starts))
