"""What an mbarrier, or the barrier of a cluster, tells: of the phase that goes on, and of those before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .ptx import Array


class Event:
    """By the columns of the order, what those know who wait for a phase, and what is fenced for them."""

    def __init__(self, columns: int) -> None:
        self.pending, self.done = np.zeros((2, 2, columns), np.int32)

    def complete(self) -> None:
        """The phase is over."""
        np.maximum(self.done, self.pending, out=self.done)

    def widen(self, wider: Callable[[Array], Array]) -> None:
        """One column more."""
        self.pending, self.done = wider(self.pending), wider(self.done)
