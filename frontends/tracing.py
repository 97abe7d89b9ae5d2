"""torch traces in one thread at a time."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager

_lock = threading.RLock()


def one_at_a_time() -> AbstractContextManager[bool]:
    """The lock to hold."""
    return _lock


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # a child has none of the other threads, so its lock is free


os.register_at_fork(after_in_child=_after_fork)
