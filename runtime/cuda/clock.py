"""Seconds of each kernel in a call of a GPU program: by CUDA events, or the wall's clock on the emulator."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from .executable import GpuExecutable

# Cycles that the GPU spins before a kernel that is timed, 0.1 ms: meanwhile the host launches it, and what is
# timed is the kernel and not the launch. Nothing is read: caches stay as the kernel before has left them.
_AHEAD = 200_000


class Marks(Protocol):
    """Points of time around launches."""

    def before(self) -> Any:
        """One right before the kernel that is launched next."""
        ...

    def after(self) -> Any:
        """One right after the kernel that was launched last."""
        ...

    def seconds(self, first: Any, last: Any) -> float:
        """Between two of them."""
        ...


class WallMarks:
    """For machines that have run a kernel when its launch returns."""

    def before(self) -> float:
        return time.perf_counter()

    def after(self) -> float:
        return time.perf_counter()

    def seconds(self, first: float, last: float) -> float:
        return last - first


class EventMarks:
    """CUDA events on torch's current stream."""

    def before(self) -> Any:
        import torch

        torch.cuda._sleep(_AHEAD)
        return self.after()

    def after(self) -> Any:
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, first: Any, last: Any) -> float:
        last.synchronize()
        return float(first.elapsed_time(last)) * 1e-3


class LaunchClock:
    """Times the kernels of one program."""

    def __init__(self, executable: GpuExecutable) -> None:
        self._program = executable.program
        self._marks: Marks = EventMarks() if self._program.machine.runs_late else WallMarks()

    def __call__(self, run: Callable[[], None]) -> dict[str, float]:
        """The seconds of each kernel that ``run`` launches, by its name in the PTX, in their order."""
        found: list[tuple[str, Any, Any]] = []

        @contextmanager
        def around(name: str) -> Iterator[None]:
            first = self._marks.before()
            yield
            found.append((name, first, self._marks.after()))

        with self._program.hooked(around):
            run()
        seconds: dict[str, float] = {}
        for name, first, last in found:
            seconds[name] = seconds.get(name, 0.0) + self._marks.seconds(first, last)
        return seconds
