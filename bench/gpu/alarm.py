"""A limit for what cannot be asked to end: a compiler that runs in this process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Seconds until it is raised once more: it may be lost in a destructor, or the signal wake another thread.
_AGAIN = 1.0


class TimeUpError(BaseException):
    """The time is up. No Exception: a compiler that tries something else after one would go on."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Run the body for so long at most, then raise `TimeUpError` in it; main thread only.

    What runs outside of Python, as ptxas, ends first.
    """

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeUpError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
