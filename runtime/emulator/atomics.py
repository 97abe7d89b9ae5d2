"""Read-modify-write on memory by many lanes at once: in some order, each lane on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ptx import Array

Update = Callable[[Array, Array, "Array | None"], Array]
_SCANS: dict[str, Any] = {"add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_SCANS |= {"min": np.minimum, "max": np.maximum}


def rounds(places: Array) -> list[Array]:
    """The lanes in groups, none of which has two lanes at one place; a lane's turn follows its number."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    new = np.concatenate([[True], sorted_places[1:] != sorted_places[:-1]])
    if new.all():
        return [np.arange(len(places))]
    starts = np.flatnonzero(new)
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    by_rank = np.argsort(rank, kind="stable")
    limits = np.searchsorted(rank[by_rank], np.arange(int(rank.max()) + 2))
    return [np.sort(order[by_rank[limits[turn] : limits[turn + 1]]]) for turn in range(int(rank.max()) + 1)]


def apply(view: Array, places: Array, update: Update, value: Array, other: Array | None) -> Array:
    """Update ``view[places]`` lane by lane; gives what each lane found there."""
    old = np.empty(len(places), view.dtype)
    for turn in rounds(places):
        at = places[turn]
        found = view[at]
        old[turn] = found
        view[at] = update(found, value[turn], None if other is None else other[turn])
    return old


def combine(view: Array, places: Array, operation: str, value: Array) -> bool:
    """The same where nobody wants the old values and the order does not matter; else False."""
    scan = _SCANS.get(operation)
    if scan is None:
        return False
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_places[1:] != sorted_places[:-1]]))
    at = sorted_places[starts]
    view[at] = scan(view[at], scan.reduceat(value[order], starts)).astype(view.dtype)
    return True


def fetch_add(view: Array, places: Array, value: Array) -> Array:
    """atom.add of integers: each lane gets what the lanes before it at its place have left."""
    order = np.argsort(places, kind="stable")
    sorted_places, addends = places[order], value[order]
    new = np.concatenate([[True], sorted_places[1:] != sorted_places[:-1]])
    starts = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    before = np.cumsum(addends, dtype=addends.dtype) - addends
    before = before - before[starts][group]
    at = sorted_places[starts]
    old_sorted = view[at][group] + before
    view[at] = view[at] + np.add.reduceat(addends, starts).astype(view.dtype)
    old = np.empty(len(places), view.dtype)
    old[order] = old_sorted
    return old
