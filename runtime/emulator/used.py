"""Which bytes of its sectors a launch uses, and how much of these each access asks for at once.

Of a column of a matrix a launch uses a few bytes of each sector: whoever asks for the sector once, and for
all of these, asks for no more than it must. What is loaded is told from what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .ptx import Array
from .traffic import SECTOR

_FIRST = np.uint32(0x00010001)  # bytes of a sector that begin 16 aligned ones, and that end them
_LAST = np.uint32(0x80008000)
_WHOLE = 128  # bytes of a request of 4 a lane


class _Side(NamedTuple):
    """The sectors that are loaded, or stored to, in order, and the bits of the bytes that are used."""

    sectors: Array
    bytes: Array


class _Asked(NamedTuple):
    """The sectors that the warps of a line ask for, bits of the bytes, and of those that the launch uses.

    ``first``: which are a warp's first ones.
    """

    sectors: Array
    bytes: Array
    used: Array
    first: Array

    @property
    def starts(self) -> Array:
        """Where each warp's sectors begin."""
        return np.flatnonzero(self.first)

    @property
    def sizes(self) -> Array:
        """How many bytes each warp asks for."""
        sizes: Array = np.add.reduceat(np.bitwise_count(self.bytes).astype(np.int64), self.starts)
        return sizes


@dataclass(frozen=True)
class Used:
    """Of a whole launch; lines are those of its PTX."""

    sides: tuple[_Side, ...]
    lines: dict[int, _Asked]

    @classmethod
    def of(cls, accesses: Iterable[tuple[int, Array, Array, Array, bool]]) -> Used:
        """From lines, sectors of warps, bits of their bytes, which are the first, and if they are stored."""
        found = list(accesses)
        sides, lines = list[_Side](), dict[int, _Asked]()
        for stores in (False, True):
            own = [each for each in found if each[4] == stores]
            if not own:
                continue
            side = _union(*(np.concatenate([each[part] for each in own]) for part in (1, 2)))
            sides.append(side)
            for line in dict.fromkeys(each[0] for each in own):
                sectors, touched, first = (
                    np.concatenate([each[part] for each in own if each[0] == line]) for part in (1, 2, 3)
                )
                used = side.bytes[np.searchsorted(side.sectors, sectors)]
                lines[line] = _Asked(sectors, touched, used, first)
        return cls(tuple(sides), lines)

    @property
    def bytes(self) -> int:
        """What is loaded, and what is stored, each byte once."""
        return sum(int(np.bitwise_count(side.bytes).sum()) for side in self.sides)

    @cached_property
    def is_aligned(self) -> bool:
        """Whether no line's warps begin at several places of sectors, as at rows of x[:, 1:] they have to.

        Of warps that ask for neighbours, 4 bytes a lane or more.
        """
        for each in self.lines.values():
            runs = np.logical_and.reduceat(each.first | (np.diff(each.sectors, prepend=-1) == 1), each.starts)
            runs &= each.sizes >= _WHOLE
            if len(np.unique((each.bytes & -each.bytes)[each.starts][runs])) > 1:
                return False
        return True

    def filled(self, line: int) -> float:
        """How many sectors' used bytes the warps of a line ask for; no more than the sectors they touch.

        One more a request than its bytes fill if the launch is not aligned.
        """
        asked = self.lines.get(line)
        if asked is None:
            return 0.0
        shares = np.bitwise_count(asked.bytes) / np.bitwise_count(asked.used)
        if self.is_aligned:
            return float(shares.sum())
        touched = np.diff(np.append(asked.starts, len(asked.first)))
        most = np.minimum(touched, -(-asked.sizes // (1 << SECTOR)) + 1)
        return float(np.maximum(np.add.reduceat(shares, asked.starts), most).sum())

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
