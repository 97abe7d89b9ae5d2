"""What of a launch's accesses an L2 cache answers, and what memory must move: from a trace, replayed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .ptx import Array
from .traffic import SECTOR, bytes_of_warps
from .used import Used

if TYPE_CHECKING:
    from .context import Context


class _Touches(NamedTuple):
    """The sectors that the warps of one access touch, each once a warp; an atomic reads and writes.

    ``line`` is the access's in the PTX, ``bytes`` are the bits of those that a warp touches of a sector,
    ``first`` says which sectors are the first of a warp.
    """

    line: int
    blocks: Array
    step: int
    sectors: Array
    bytes: Array
    first: Array
    reads: bool
    writes: bool


class Trace:
    """The sectors of global memory that each block of a launch has touched, in its order."""

    def __init__(self) -> None:
        self._touches: list[_Touches] = []
        self._first = -1  # block of the batch that runs
        self._step = 0

    def access(self, x: Context, line: int, kind: str, addresses: Array, size: int) -> tuple[int, int]:
        """Lanes load from, store to or change memory (``kind``), ``size`` bytes each.

        Returns their sectors, and the bytes, each once a warp, summed over warps.
        """
        if x.batch.blocks[0] != self._first:
            self._first, self._step = int(x.batch.blocks[0]), 0
        self._step += 1
        warps, sectors, touched = bytes_of_warps(x.lanes, addresses, size)
        blocks = x.batch.blocks[warps // x.batch.shape.warps_in_block]
        reads, writes = kind != "store", kind != "load"
        first = np.diff(warps, prepend=-1) != 0
        self._touches.append(_Touches(line, blocks, self._step, sectors, touched, first, reads, writes))
        return len(sectors), int(np.bitwise_count(touched).sum())

    def used(self) -> Used:
        """Which bytes of the sectors the launch has loaded, and stored."""
        every = self._touches
        return Used.of((each.line, each.sectors, each.bytes, each.first, each.writes) for each in every)

    def asked_again(self, without: Collection[int] = ()) -> float:
        """How often a block asks for a sector, on average: more than once if it reads a row again.

        Accesses of the PTX lines ``without`` are left out.
        """
        touches = [each for each in self._touches if each.line not in without]
        if not touches:
            return 1.0
        counts = [len(each.sectors) for each in touches]
        blocks = np.concatenate([each.blocks for each in touches])
        sectors = np.concatenate([each.sectors for each in touches])
        order = np.lexsort((sectors, blocks))
        blocks, sectors = blocks[order], sectors[order]
        new = (np.diff(blocks) != 0) | (np.diff(sectors) != 0)
        return sum(counts) / (1 + int(np.count_nonzero(new)))

    def common(self, blocks: int) -> Array:
        """The sectors that each of ``blocks`` blocks touches, as weights of a norm; in order."""
        if not self._touches:
            return np.empty(0, np.int64)
        owners = np.concatenate([each.blocks for each in self._touches])
        sectors = np.concatenate([each.sectors for each in self._touches])
        order = np.lexsort((owners, sectors))
        owners, sectors = owners[order], sectors[order]
        first = np.ones(len(sectors), np.bool_)
        first[1:] = (np.diff(owners) != 0) | (sectors[1:] != sectors[:-1])
        each, count = np.unique(sectors[first], return_counts=True)
        found: Array = each[count == blocks]
        return found

    def moved(self, resident: int, capacity: float, without: Array | None = None) -> int:
        """The bytes that memory gives and takes if ``resident`` blocks run at once before ``capacity`` bytes.

        Blocks run in waves in the order of their numbers, those of a wave side by side, access by access. A
        sector is still there if less than ``capacity`` was asked for since its last touch: then as many
        different bytes at most came in, and a cache that drops what was used longest ago has kept it (its
        sets, and what it might keep beyond that, are left out). Else it is read again; what was written to it
        is written back once. Sectors ``without`` take their room, but are not counted.
        """
        if not self._touches:
            return 0
        counts = [len(each.sectors) for each in self._touches]

        def spread(values: list[int] | list[bool]) -> Array:
            return np.repeat(np.array(values), counts)

        waves = np.concatenate([each.blocks for each in self._touches]) // resident
        time = np.empty(len(waves), np.int64)
        time[np.lexsort((spread([each.step for each in self._touches]), waves))] = np.arange(len(waves))
        sectors = np.concatenate([each.sectors for each in self._touches])
        order = np.lexsort((time, sectors))
        sectors, time = sectors[order], time[order]
        comes = np.ones(len(sectors), np.bool_)
        comes[1:] = (sectors[1:] != sectors[:-1]) | (np.diff(time) << SECTOR >= capacity)
        reads = spread([each.reads for each in self._touches])[order]
        writes = spread([each.writes for each in self._touches])[order]
        stays = np.cumsum(comes)  # ascends
        counted = np.ones(len(sectors), np.bool_) if without is None else ~np.isin(sectors, without)
        comes, writes = comes & counted, writes & counted
        changed = stays[writes]
        written = int(np.count_nonzero(np.diff(changed))) + bool(len(changed))
        return (int(np.count_nonzero(reads & comes)) + written) << SECTOR
