"""Pages of 2 MiB, where the system gives them on request only.

Each access to another page of 4 KiB wants its address translated, and which sets of a cache a page takes is
chance: planes of an image, which lie apart, are in hundreds of them.
"""

from __future__ import annotations

import ctypes
import mmap

HUGE_PAGE = 1 << 21
LEAST = 1 << 20  # bytes for which a page that they do not fill is worth its memory

_madvise = ctypes.CDLL(None, use_errno=True).madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def ask_for_huge_pages(address: int, size: int) -> None:
    """Let the system give the whole huge pages among these bytes as such; a refusal does no harm."""
    start = -(-address // HUGE_PAGE) * HUGE_PAGE
    length = (address + size - start) // HUGE_PAGE * HUGE_PAGE
    if length > 0:
        _madvise(start, length, mmap.MADV_HUGEPAGE)
