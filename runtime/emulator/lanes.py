"""Sets of lanes: which threads of a batch an instruction runs for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .ptx import Array

WARP = 32
GROUP = 4  # warps of a warpgroup


def bits(lanes: int) -> list[int]:
    """The numbers of the lanes of a warp that are given as bits."""
    return [lane for lane in range(WARP) if lanes >> lane & 1]


class Shape:
    """How the lanes of a batch are laid out: ``blocks`` times ``threads``, without gaps.

    The lanes of a warp follow each other; the last warp of a block may have fewer than 32. Blocks of a
    cluster follow each other too: ``cluster`` of them, which are one block unless the launch says more.
    """

    def __init__(self, blocks: int, threads: int, cluster: int = 1) -> None:
        self.blocks = blocks
        self.threads = threads
        self.lanes = blocks * threads
        self.warps_in_block = -(-threads // WARP)
        self.warps = blocks * self.warps_in_block
        thread = np.arange(threads, dtype=np.uint32)
        self.thread = np.tile(thread, blocks)
        self.lane = self.thread & np.uint32(WARP - 1)
        self.block = np.repeat(np.arange(blocks, dtype=np.intp), threads)
        warp = (thread >> np.uint32(5)).astype(np.intp)
        self.warp = (self.block * self.warps_in_block).reshape(blocks, threads) + warp
        self.warp = self.warp.reshape(-1)
        self.cluster = cluster
        self.cluster_warps = cluster * self.warps_in_block
        # A thread's number in its cluster, where each warp has 32 of them.
        self.place = (self.thread + self.block % cluster * self.warps_in_block * WARP).astype(np.int32)
        bits = np.zeros(self.warps, np.uint32)
        np.bitwise_or.at(bits, self.warp, np.uint32(1) << self.lane)
        self.members = bits  # for each warp, the lanes that exist
        self.everyone = Lanes(self, None, self.lanes)


class Lanes:
    """Some lanes of a batch, ascending. ``sel`` selects them in an array with one entry a lane.

    ``sel`` is None for all lanes (the whole array is then meant), a slice for neighbours, and
    an array of numbers otherwise.
    """

    def __init__(self, shape: Shape, sel: slice | Array | None, count: int) -> None:
        self.shape = shape
        self.sel: Any = sel
        self.count = count

    @classmethod
    def of(cls, shape: Shape, index: Array) -> Lanes:
        """The lanes with these numbers, which must be ascending."""
        count = len(index)
        if count == shape.lanes:
            return shape.everyone
        if count and int(index[-1]) - int(index[0]) + 1 == count:
            return cls(shape, slice(int(index[0]), int(index[-1]) + 1), count)
        lanes = cls(shape, index, count)
        lanes.index = index
        return lanes

    @cached_property
    def index(self) -> Array:
        """The numbers of the lanes."""
        if self.sel is None:
            return np.arange(self.shape.lanes, dtype=np.intp)
        return np.arange(self.sel.start, self.sel.stop, dtype=np.intp)

    def where(self, mask: Array) -> Lanes:
        """Those for which ``mask`` (one entry for each of these lanes) holds."""
        if mask.all():
            return self
        if self.sel is None:
            return Lanes.of(self.shape, np.flatnonzero(mask))
        return Lanes.of(self.shape, self.index[mask])

    def merge(self, other: Lanes) -> Lanes:
        """The lanes of both, which have none in common."""
        return Lanes.of(self.shape, np.sort(np.concatenate([self.index, other.index])))

    def take(self, whole: Array) -> Array:
        """Of an array with an entry for each lane of the batch, the entries of these."""
        return whole if self.sel is None else whole[self.sel]

    @cached_property
    def warp(self) -> Array:
        """The warp of each lane."""
        return self.take(self.shape.warp)

    @cached_property
    def block(self) -> Array:
        """The place in the batch of each lane's block."""
        return self.take(self.shape.block)

    @cached_property
    def lane(self) -> Array:
        """Each lane's number in its warp."""
        return self.take(self.shape.lane)

    @cached_property
    def present(self) -> Array:
        """For each warp of the batch, the bits of its lanes that are here."""
        if self.sel is None:
            return self.shape.members
        bits = np.zeros(self.shape.warps, np.uint32)
        np.bitwise_or.at(bits, self.warp, np.uint32(1) << self.lane)
        return bits

    @cached_property
    def whole(self) -> bool:
        """Whether each warp is here with all its lanes or not at all."""
        if self.sel is None:
            return True
        return bool(((self.present == self.shape.members) | (self.present == 0)).all())

    def by_warp(self, rows: Array | None = None) -> Iterator[tuple[int, int]]:
        """Each warp that has some of these lanes (of those in ``rows``), and the bits of them."""
        warp, lane = (self.warp, self.lane) if rows is None else (self.warp[rows], self.lane[rows])
        starts = np.flatnonzero(np.append(True, warp[1:] != warp[:-1])[: len(warp)])
        present = np.bitwise_or.reduceat(np.uint32(1) << lane, starts) if len(warp) else starts
        return zip(warp[starts].tolist(), present.tolist(), strict=True)

    @cached_property
    def starts(self) -> Array:
        """Where each warp begins among these lanes."""
        warp = self.warp
        return np.flatnonzero(np.concatenate([[True], warp[1:] != warp[:-1]]))

    @cached_property
    def warps(self) -> int:
        """How many warps have lanes here."""
        return self.shape.warps if self.sel is None else len(self.starts)
