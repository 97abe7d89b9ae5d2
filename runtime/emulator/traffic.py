"""Memory traffic of warps: sectors of global memory, wavefronts of shared memory."""

from __future__ import annotations

import numpy as np

from .clusters import MOST, RANK
from .lanes import Lanes
from .ptx import Array

SECTOR = 5  # bits: 32 bytes
BANKS = 32
_ALL_BANKS = np.uint32((1 << BANKS) - 1)
_PLACE = 43  # bits of a sector's number
_PLACES = np.uint64((1 << _PLACE) - 1)


def sectors(lanes: Lanes, addresses: Array) -> int:
    """How many sectors of 32 bytes the lanes of each warp touch, summed over the warps."""
    touched = addresses >> np.uint64(SECTOR)
    warp = lanes.warp
    same_warp = warp[1:] == warp[:-1]
    if ((touched[1:] >= touched[:-1]) | ~same_warp).all():
        return 1 + int(np.count_nonzero((touched[1:] != touched[:-1]) | ~same_warp))
    key = _sorted(_keys(warp, touched), lanes)
    return 1 + int(np.count_nonzero(key[1:] != key[:-1]))


def bytes_of_warps(lanes: Lanes, addresses: Array, size: int) -> tuple[Array, Array, Array]:
    """The sectors that each warp touches with ``size`` bytes a lane, once for each.

    The warps' numbers, the sectors', and which of a sector's 32 bytes the warp touches, a bit each. No access
    crosses a sector's end.
    """
    key = _keys(lanes.warp, addresses >> np.uint64(SECTOR))
    ones = np.uint64((1 << min(size, 1 << SECTOR)) - 1)
    touched = ones << (addresses & np.uint64((1 << SECTOR) - 1))
    if not (key[1:] >= key[:-1]).all():
        order = np.argsort(key, kind="stable")
        key, touched = key[order], touched[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    key, touched = key[starts], np.bitwise_or.reduceat(touched, starts)
    return (
        (key >> np.uint64(_PLACE)).astype(np.intp),
        (key & _PLACES).astype(np.int64),
        touched.astype(np.uint32),
    )


def _keys(warp: Array, sector: Array) -> Array:
    """Numbers that sort by the warp, then by the sector."""
    return (warp.astype(np.uint64) << np.uint64(_PLACE)) | (sector & _PLACES)


def _sorted(key: Array, lanes: Lanes) -> Array:
    """Sorted keys; within each warp only, where warps are whole (their keys ascend with them)."""
    if lanes.count == 32 * lanes.warps:
        return np.sort(key.reshape(-1, 32), axis=1).reshape(-1)
    return np.sort(key)


def wavefronts(lanes: Lanes, places: Array, size: int) -> tuple[int, int]:
    """Passes through the banks of shared memory that accesses need, and how many would do without conflicts.

    A pass serves 128 bytes: a warp's 4-byte accesses, half a warp's of 8 bytes, a quarter's of 16.
    Lanes that want the same word share it. Each block of a cluster has banks of its own.
    """
    words = max(1, size // 4)
    phases_in_warp = min(words, 8)
    lane = lanes.lane.astype(np.int64)
    phase = lanes.warp * phases_in_warp + lane * phases_in_warp // 32
    first = places.astype(np.int64) >> 2
    if (first == first[0]).all():  # of different banks: an mbarrier, a number for all
        passes = 1 + int(np.count_nonzero(phase[1:] != phase[:-1]))
        return passes, passes
    word = (first[:, None] + np.arange(words)).reshape(-1) if words > 1 else first
    rank = first >> (RANK - 2)
    if rank.any():
        phase = phase * (MOST + 1) + rank
    elif lanes.count == 32 * lanes.warps:
        banks = np.uint32(1) << (word & (BANKS - 1)).astype(np.uint32).reshape(-1, BANKS)
        if (np.bitwise_or.reduce(banks, axis=1) == _ALL_BANKS).all():  # as it should be
            return len(banks), len(banks)
    phases = np.repeat(phase, words) if words > 1 else phase
    key = (phases << 32) | word
    if lanes.count == 32 * lanes.warps:
        key = np.sort(key.reshape(-1, 32), axis=1).reshape(-1)
    else:
        key = np.sort(key)
    new = np.concatenate([[True], key[1:] != key[:-1]])
    key = key[new]
    group = key >> 32
    ordinal = np.concatenate([[0], np.cumsum(group[1:] != group[:-1])])
    groups = int(ordinal[-1]) + 1
    load = np.bincount(ordinal * BANKS + (key & (BANKS - 1)), minlength=groups * BANKS)
    return int(load.reshape(-1, BANKS).max(axis=1).sum()), groups
