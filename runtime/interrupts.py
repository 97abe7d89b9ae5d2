"""Imports that Ctrl-C does not leave half done."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

# What torch.export imports at its first call. A module that is interrupted in its import stays
# half there for good: sympy, say, without its parts.
OF_EXPORT = (
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo.functional_export",
    "torch._decomp.decompositions",
    "torch.export._trace",
)


def import_whole(names: Sequence[str]) -> None:
    """Import the modules called ``names``; a Ctrl-C meanwhile counts when they are there."""
    with _held():
        for name in names:
            importlib.import_module(name)


@contextmanager
def _held() -> Iterator[None]:
    """Raise KeyboardInterrupt, or call the process's own handler, at the end and not within."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # signals arrive in the main thread only
        return
    arrived: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if arrived:
        before(*arrived[0])
