"""Large outputs on the CPU: the memory of those that have died is used again.

Fresh memory is given by the system page by page, at the first write to each: for 64 MB this takes several
times as long as computing what is written (bench/recycled_outputs.py). So the storages of large outputs are
watched. One that nobody but this module refers to any more serves the next output of its size.

What a caller gets is an ordinary tensor on a storage of its own, of exactly its size. A storage that still
has a tensor, a view, an array or a Python object on it is never used again, nor one that was resized, moved
to shared memory, or fixed in size by `Tensor.numpy`. At most `MOST_WATCHED` bytes are watched; beyond it
those that were used longest ago are left to torch, and freed when they die.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .huge_pages import ask_for_huge_pages
from .torch_outputs import empty_strided_cpu

LARGE = 1 << 20  # bytes from which on page faults outweigh looking for a storage (some 5 µs)
MOST_WATCHED = min(1 << 29, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 16)
MOST_OF_A_SIZE = 8  # all of them are looked at when none is free

_UNUSED = 2  # references to a storage's Python object: of its `_Watched`, and of the call that counts them


@dataclass(slots=True, eq=False)
class _Watched:
    """A storage, where it was and how large when it was made."""

    storage: torch.UntypedStorage
    address: int
    size: int

    def is_unused(self) -> bool:
        """Whether no tensor and no Python object refers to the storage but this one."""
        return (
            torch._C._storage_Use_Count(self.storage._cdata) == 1 and sys.getrefcount(self.storage) == _UNUSED
        )

    def is_intact(self) -> bool:
        """Whether the storage is what it was: not resized, not moved, and not fixed in size."""
        storage = self.storage
        return storage.nbytes() == self.size and storage.data_ptr() == self.address and storage.resizable()


class Recycler:
    """Memory for outputs. Any number of threads may ask at once: who takes a storage off its list owns it."""

    def __init__(self, most: int = MOST_WATCHED) -> None:
        self._most = most
        self._by_size: dict[int, list[_Watched]] = {}

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """An uninitialized tensor with the strides of one without gaps, in used memory if there is any."""
        size = math.prod(shape) * dtype.itemsize
        if not LARGE <= size <= self._most:
            return empty_strided_cpu(shape, strides, dtype)
        watched = self._by_size.pop(size, [])
        self._by_size[size] = watched  # sizes are in the order of their last use
        in_use: list[_Watched] = []
        for _ in range(len(watched)):
            try:
                found = watched.pop()  # what was used last may still be in the caches
            except IndexError:  # other threads took the last
                break
            if not found.is_unused():
                in_use.append(found)
            elif found.is_intact():
                result = empty_strided_cpu((0,), (1,), dtype).set_(found.storage, 0, shape, strides)
                watched.extend([*reversed(in_use), found])
                return result
        watched.extend(reversed(in_use))
        result = empty_strided_cpu(shape, strides, dtype)
        ask_for_huge_pages(result.data_ptr(), size)
        storage = result.untyped_storage()
        watched.append(_Watched(storage, storage.data_ptr(), size))
        self._forget_old(watched)
        return result

    @property
    def watched_bytes(self) -> int:
        """The bytes of all storages that are watched, in use or not."""
        return sum(size * len(watched) for size, watched in list(self._by_size.items()))

    def _forget_old(self, newest: list[_Watched]) -> None:
        """Leave to torch what is too much."""
        while len(newest) > MOST_OF_A_SIZE and _forget_oldest(newest):
            pass
        total = self.watched_bytes
        for size, watched in list(self._by_size.items()):
            while total > self._most and _forget_oldest(watched):
                total -= size
            if not watched:
                self._by_size.pop(size, None)


def _forget_oldest(watched: list[_Watched]) -> bool:
    """Leave a storage to torch; False if there is none, as other threads took the last."""
    try:
        watched.pop(0)
    except IndexError:
        return False
    return True


recycler = Recycler()
