"""Ranges for torch's profilers: a compiled call, and in it each kernel by its name.

While a profiler is on, a call goes through the object's second entry point, which takes a hook
(mlopt-hooks) and tells it when a kernel begins and ends; the hook opens and closes a range. While
none is on, a call costs one look at a flag of torch's.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

PREFIX = "mlopt::"
HOOK = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int32)
HOOKED_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, HOOK)


class _Open(threading.local):
    """The ranges of kernels that have begun in this thread; a kernel that fails does not end."""

    def __init__(self) -> None:
        self.ranges: list[Any] = []


_open = _Open()


def is_active() -> bool:
    """Whether one of torch's profilers is on; imports nothing."""
    profiler = sys.modules.get("torch.autograd.profiler")
    return profiler is not None and bool(profiler._is_profiler_enabled)


def run(label: str, entry: Callable[[int, Any], int], address: int) -> int:
    """``entry(address, hook)`` in a range called ``label``, each of its kernels in one of its own."""
    depth = len(_open.ranges)
    outer = begin(label)
    try:
        return entry(address, _hook)
    finally:
        while len(_open.ranges) > depth:
            end(_open.ranges.pop())
        end(outer)


def begin(name: str) -> Any:
    """Open a range, which is to be passed to `end`; ``name`` gets mlopt's prefix."""
    opened = _range_type()(PREFIX + name)
    opened.__enter__()
    return opened


def end(opened: Any) -> None:
    """Close a range."""
    opened.__exit__(None, None, None)


@functools.cache
def _range_type() -> Any:
    """What torch.compile's own kernels use: a tenth of the time that a record_function takes."""
    from torch._C._profiler import _RecordFunctionFast

    return _RecordFunctionFast


def _tell(kernel: bytes, begins: int) -> None:
    if begins:
        _open.ranges.append(begin(kernel.decode()))
    else:
        end(_open.ranges.pop())


_hook = HOOK(_tell)
