"""What the threads of a batch know of each other's past: by warps, and by lanes where one acts alone.

``known[block, row, column]`` is the time up to which what the column stands for happened before what the row
stands for does now. The first rows and columns are those of the warps. A lane that has learnt something alone
has a row of its own until its warp meets; one that has told something alone has a column of its own from then
on. Neither is ever behind that of its warp. Other columns are those of the mbarriers at which copies arrive,
and of the warpgroups whose wgmma read. ``fenced`` is the same for what a fence.proxy.async stands between,
None before the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .clock import Clock
from .lanes import WARP, bits
from .ptx import Array

if TYPE_CHECKING:
    from .batch import Batch


class Knowledge:
    """Of the threads of a batch. Warps are numbered through the batch, threads through their clusters."""

    def __init__(self, batch: Batch, clock: Clock) -> None:
        self.batch = batch
        self.clock = clock
        shape = batch.shape
        self.warps = shape.warps_in_block
        self.known = np.zeros((shape.blocks, self.warps, shape.cluster_warps), np.int32)
        self.fenced: Array | None = None
        rank = np.arange(shape.blocks) % shape.cluster
        self.own = rank[:, None] * self.warps + np.arange(self.warps)  # the columns of a block's warps
        self.floor = np.zeros(shape.blocks, np.int32)  # what every warp of a block knows of every other
        # For lanes of a warp, when they met at a bar.warp.sync for a part of it.
        self.met: Array | None = None
        self.told = np.zeros((shape.blocks, self.warps), np.int32)  # when lanes of a warp last told others
        self.apart: dict[int, dict[int, int]] = {}  # by warps, the rows of lanes that have one
        self._row = np.tile(np.repeat(np.arange(self.warps), WARP), (shape.blocks, 1))
        self._free: list[list[int]] = [[] for _ in range(shape.blocks)]
        self._rows = [self.warps] * shape.blocks  # so many have been in use
        self._column = np.repeat(np.arange(shape.cluster_warps), WARP)
        self.lone, self._its_warp = np.zeros((2, 0), np.intp)  # the columns of lanes, and of their warps

    def rows(self, block: Array, thread: Array) -> Array:
        """The rows of threads."""
        if not self.apart:
            return (thread >> 5) % self.warps
        found: Array = self._row[block, thread % (self.warps * WARP)]
        return found

    def columns(self, other: Any) -> Any:
        """The columns of threads; numbers beyond those of threads are 32 times that of a column."""
        if not len(self.lone):
            return other >> 5
        return self._column[other]

    def knows(self, block: Array, thread: Array, other: Array) -> Array:
        """Up to which time threads know what other threads of their clusters did."""
        found: Array = self.known[block, self.rows(block, thread), self.columns(other)]
        if self.met is not None:
            warp = block * self.warps + (thread >> 5) % self.warps
            met = self.met[warp, thread & (WARP - 1), other & (WARP - 1)]
            found = np.where(thread >> 5 == other >> 5, np.maximum(found, met), found)
        return found

    def knows_own(self, block: Array, thread: Array) -> Array:
        """Up to which time threads know what lanes of their warps did, or others know of these."""
        inside = (thread >> 5) % self.warps
        if self.apart:
            known = self.known[block, self.rows(block, thread), thread >> 5]
            lone: Array = np.maximum(known, self.told[block, inside])
            return lone
        each = np.arange(len(self.own))[:, None]
        warps = np.maximum(self.known[each, np.arange(self.warps), self.own], self.told)
        found: Array = warps.take(block * self.warps + inside)
        return found

    def unknown_lanes(self, block: Array, thread: Array, warp: int, lanes: Array, when: Array) -> Array:
        """Of lanes of a warp of the cluster, bits for each thread, those that it does not know of by then."""
        one, left = np.uint32(1), lanes
        if self.met is None and not (self._its_warp == warp).any():
            return lanes
        while left.any():  # the lowest lane of each thread's, then the next one
            lowest = left & (~left + one)
            lane = np.bitwise_count(lowest - one) & np.uint8(WARP - 1)
            known = self.knows(block, thread, warp * WARP + lane.astype(np.int64)) >= when
            lanes = np.where(known, lanes & ~lowest, lanes)
            left = left ^ lowest
        return lanes

    def proxy_row(self, block: int, thread: int) -> Array:
        """By columns, up to which time is behind a fence.proxy.async that a thread knows of."""
        if self.fenced is None:
            return np.zeros(self.known.shape[2], np.int32)
        found: Array = self.fenced[block, self._row[block, thread % (self.warps * WARP)]]
        return found

    def between_lanes(self, block: Array, thread: Array, other: Array, when: Array) -> Array:
        """Whether some lane of each thread's warp knows of something as late by some lane of the other's."""
        inside, column = (thread >> 5) % self.warps, other >> 5
        keys, which = np.unique(np.stack([block, inside, column]), axis=1, return_inverse=True)
        times = [self._most(*key) for key in keys.T.tolist()]
        found: Array = np.array(times)[which.reshape(-1)] >= when
        return found

    def _most(self, block: int, inside: int, column: int) -> int:
        rows = [inside, *self.apart.get(block * self.warps + inside, {}).values()]
        columns = [column, *self.lone[self._its_warp == column].tolist()]
        return int(self.known[block][np.ix_(rows, columns)].max())

    def block_knows(self, block: int, other: Array) -> Array:
        """Up to which time any thread of a block knows what threads of its cluster did."""
        warps = range(block * self.warps, (block + 1) * self.warps)
        rows = [*range(self.warps), *(row for warp in warps for row in self.apart.get(warp, {}).values())]
        found: Array = self.known[block][np.ix_(rows, self.columns(other))].max(axis=0)
        return found

    # -- rows ----------------------------------------------------------------------------------

    def rows_of(self, warp: int, lanes: int) -> list[int]:
        """The rows of some lanes of a warp, which are bits."""
        apart = self.apart.get(warp, {})
        rows = [row for lane, row in apart.items() if lanes >> lane & 1]
        return rows if len(rows) == lanes.bit_count() else [warp % self.warps, *rows]

    def least(self, warp: int) -> int:
        """A lane of a warp that knows no more than all of it do."""
        apart = self.apart.get(warp, {})
        return next((lane for lane in range(WARP) if lane not in apart), 0)

    def joined(self, warp: int, lanes: int) -> Array:
        """What some lanes of a warp know together, and behind it what they know to be fenced."""
        block, rows = warp // self.warps, self.rows_of(warp, lanes)
        known = self.known[block, rows].max(axis=0)
        fenced = np.zeros_like(known) if self.fenced is None else self.fenced[block, rows].max(axis=0)
        return np.stack([known, fenced])

    def learn(self, warp: int, lanes: int, news: Array) -> None:
        """Lanes of a warp know now what is in ``news``, as `joined` gives it."""
        block, inside = divmod(warp, self.warps)
        alive = int(self.batch.alive_in_warp[warp])
        whole = lanes & alive == alive
        if whole:
            rows = [inside, *self.apart.get(warp, {}).values()]
        else:
            lone = [self._lone_row(warp, lane, news) for lane in bits(lanes)]
            rows = [row for row in lone if row != inside]
        for table, more in zip((self.known, self.fenced), news, strict=True):
            if table is not None:
                for row in rows:
                    np.maximum(table[block, row], more, out=table[block, row])
        mine = [row for lane, row in self.apart.get(warp, {}).items() if alive >> lane & 1]
        if not whole and len(mine) == alive.bit_count():  # each has looked for itself
            for table in (self.known, self.fenced):
                if table is not None:
                    table[block, inside] = table[block, mine].min(axis=0)

    def meet(self, warp: int, lanes: int) -> None:
        """Each of these lanes of a warp knows now what any of them does; a whole warp has one row again."""
        if warp not in self.apart:
            return
        self.learn(warp, lanes, self.joined(warp, lanes))
        block, inside = divmod(warp, self.warps)
        alive = int(self.batch.alive_in_warp[warp])
        if lanes & alive == alive:
            self._free[block] += self.apart.pop(warp).values()
            self._row[block, inside * WARP : (inside + 1) * WARP] = inside

    def _lone_row(self, warp: int, lane: int, news: Array) -> int:
        """The row of a lane that learns something alone: that of its warp, if there is no news."""
        block, inside = divmod(warp, self.warps)
        row = int(self._row[block, inside * WARP + lane])
        pairs = zip((self.known, self.fenced), news, strict=True)
        late = [(more > table[block, row]).any() for table, more in pairs if table is not None]
        if row != inside or not any(late):
            return row
        if not self._free[block]:
            self._free[block].append(self._rows[block])
            self._rows[block] += 1
        row = self._free[block].pop()
        if row == self.known.shape[1]:
            self.known = _longer(self.known)
            self.fenced = None if self.fenced is None else _longer(self.fenced)
        for table in (self.known, self.fenced):
            if table is not None:
                table[block, row] = table[block, inside]
        self.apart.setdefault(warp, {})[lane] = row
        self._row[block, inside * WARP + lane] = row
        return row

    # -- what threads tell ---------------------------------------------------------------------

    def tells(self, warp: int, lanes: int, *, own: bool = True) -> Array:
        """What lanes of a warp tell of the past, up to now: what they know; and what they did, if ``own``."""
        block, inside = divmod(warp, self.warps)
        now = self.clock.now
        self.told[block, inside] = now
        if own and lanes != int(self.batch.shape.members[warp]):
            return self.lanes_tell(warp, lanes)
        row = self.joined(warp, lanes)
        if own:
            row[0, self.own[block, inside]] = now
        return self.level(row)

    def lanes_tell(self, warp: int, lanes: int) -> Array:
        """What a part of a warp tells: of the other lanes only what these know of them."""
        block, inside = divmod(warp, self.warps)
        mine = bits(lanes)
        times = dict.fromkeys(mine, self.clock.now)
        if self.met is not None:
            met, before = self.met[warp, mine].max(axis=0), self.known[block, inside, self.own[block, inside]]
            times = {lane: int(met[lane]) for lane in np.flatnonzero(met > before).tolist()} | times
        columns = [self.lone_column(warp, lane) for lane in times]
        row = self.joined(warp, lanes)
        row[0, columns] = np.maximum(row[0, columns], np.array([*times.values()], np.int32))
        return row

    # -- columns -------------------------------------------------------------------------------

    def widen(self, wider: Callable[[Array], Array]) -> int:
        """One column more, that ``wider`` gives to each array with columns; its number."""
        number = self.known.shape[2]
        self._column = np.append(self._column, np.full(WARP, number))
        self.known = wider(self.known)
        self.fenced = None if self.fenced is None else wider(self.fenced)
        return number

    def lone_column(self, warp: int, lane: int) -> int:
        """The column of a lane that tells something alone."""
        block, inside = divmod(warp, self.warps)
        its_warp = int(self.own[block, inside])
        place = its_warp * WARP + lane
        if self._column[place] == its_warp:
            self._column[place] = self.widen(
                lambda array: np.concatenate([array, array[..., its_warp : its_warp + 1]], axis=-1)
            )
            self.lone = np.append(self.lone, self._column[place])
            self._its_warp = np.append(self._its_warp, its_warp)
        return int(self._column[place])

    def own_columns(self, warp: int) -> list[int]:
        """The columns of a warp and of its lanes."""
        own = int(self.own[divmod(warp, self.warps)])
        return [own, *self.lone[self._its_warp == own].tolist()]

    def block_columns(self, block: int) -> Array:
        """The columns of a block's threads."""
        own = self.own[block]
        return np.concatenate([own, self.lone[np.isin(self._its_warp, own)]])

    def level(self, array: Array) -> Array:
        """The array, with no lane's column behind that of its warp any more."""
        if len(self.lone):
            array[..., self.lone] = np.maximum(array[..., self.lone], array[..., self._its_warp])
        return array


def _longer(table: Array) -> Array:
    """The table with one row more in each block."""
    return np.concatenate([table, np.zeros_like(table[:, :1])], axis=1)
