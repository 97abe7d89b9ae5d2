"""A request on its way from a user's thread to a worker and back."""

from __future__ import annotations

import _thread
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from .progress import Progress

LOOK_AGAIN_SECONDS = 1.0

_ids = itertools.count(1)


class End(Enum):
    """How a request ended."""

    RESULT = auto()  # payload: the pickled result
    ERROR = auto()  # payload: a pickled `RemoteError`
    OUT_OF_MEMORY = auto()
    DIED = auto()
    TIMEOUT = auto()
    NOT_STARTED = auto()  # no worker could be started
    CANCELLED = auto()  # by the user's thread itself, a fork, or the end of the pool


@dataclass(frozen=True)
class Outcome:
    """What the keeper knows about a finished request; the user's thread makes sense of it."""

    end: End
    payload: bytes | bytearray | memoryview = b""
    how: str = ""  # how the worker ended, or why it did not start
    log: str = ""  # the end of what it printed during the request
    progress: Progress = field(default_factory=Progress)


def _locked() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


@dataclass(eq=False)
class Request:
    """``wait`` is for the user's thread, `finish` for the keeper. No lock is ever held by the user's
    thread, which can be interrupted at any line.
    """

    role: str
    payload: bytes
    timeout: float | None
    id: int = field(default_factory=lambda: next(_ids))
    attempts: int = 0
    cancelled: bool = False
    outcome: Outcome | None = None
    _done: _thread.LockType = field(default_factory=_locked)

    def wait(self, abandoned: Callable[[], bool]) -> Outcome:
        """The outcome, when it is there. ``abandoned``: nobody is left to finish this request."""
        while self.outcome is None:
            if not self._done.acquire(timeout=LOOK_AGAIN_SECONDS) and abandoned():
                self.finish(Outcome(End.CANCELLED, how="the pool was shut down"))
        return self.outcome

    def finish(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self._done.release()
