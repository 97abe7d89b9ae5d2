"""Which of many spans of addresses overlap a given one."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

Owner = TypeVar("Owner")


class Spans(Generic[Owner]):
    """Owners of spans of addresses, in the order in which they came."""

    def __init__(self) -> None:
        self._bounds = np.zeros((2, 16), np.uint64)  # the first address of each, and the one behind the last
        self._owners: list[Owner | None] = []
        self._at: dict[int, int] = {}

    def add(self, owner: Owner, low: int, high: int) -> None:
        """An owner comes."""
        if len(self._owners) == self._bounds.shape[1]:
            self._make_room()
        self._bounds[:, len(self._owners)] = low, high
        self._at[id(owner)] = len(self._owners)
        self._owners.append(owner)

    def remove(self, owner: Owner) -> None:
        """An owner goes, if it is there."""
        at = self._at.pop(id(owner), None)
        if at is not None:
            self._bounds[:, at] = 0
            self._owners[at] = None

    def overlapping(self, low: int, high: int) -> list[Owner]:
        """Those whose spans have an address in low…high-1."""
        first, end = self._bounds[:, : len(self._owners)]
        found = np.flatnonzero((first < np.uint64(high)) & (end > np.uint64(low)))
        owners = (self._owners[at] for at in found.tolist())
        return [owner for owner in owners if owner is not None]

    def _make_room(self) -> None:
        """Without those that have gone, and for as many again."""
        kept = [at for at, owner in enumerate(self._owners) if owner is not None]
        self._owners = [self._owners[at] for at in kept]
        self._at = {id(owner): at for at, owner in enumerate(self._owners)}
        bounds = np.zeros((2, max(16, 2 * len(kept))), np.uint64)
        bounds[:, : len(kept)] = self._bounds[:, kept]
        self._bounds = bounds
