"""What ``tune=True`` measures on: this CPU, a GPU, or the emulator in a GPU's place."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CompileError, DeviceError
from ..options import Options
from . import profiling
from .cuda.chips import best_chip, chip_of, is_cuda
from .executable import Executable, default_threads
from .opening import default_gpu, needs_gpu, open_executable

# Seconds of each kernel, by its name, in the order of the launches of a call that it makes.
Clock = Callable[[Callable[[], None]], dict[str, float]]


@dataclass(frozen=True)
class Device:
    """``key``: plain data on which times depend; ``typical``: a kernel's seconds, of those of some calls."""

    key: Mapping[str, Any]
    open: Callable[[Mapping[str, Any]], Executable]
    clock: Callable[[Any], Clock]  # of an executable that `open` has given
    typical: Callable[[Sequence[float]], float]


def device_of(options: Options) -> Device:
    """Where programs that are compiled with ``options`` can be measured; CompileError if nowhere.

    Of a GPU's times the median counts; of a CPU's the least, as others' work makes a kernel slower, never
    faster.
    """
    if not is_cuda(options.target):
        return Device({"threads": threads()}, lambda built: open_executable(built, options), _Clock, min)
    from .cuda.clock import LaunchClock

    gpu, name = _gpu(options) if needs_gpu(options) else (None, options.device)
    return Device(
        {"device": name},
        lambda built: open_executable(built, options, gpu=gpu),
        LaunchClock,
        statistics.median,
    )


def threads() -> int:
    """As many as a call would use."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch else default_threads()


def _gpu(options: Options) -> tuple[int, str]:
    """The current GPU's number and its name."""
    from .cuda.driver import driver

    try:
        gpu = default_gpu()
        name, capability = driver().name(gpu), driver().capability(gpu)
    except DeviceError as error:
        raise CompileError(
            f"tune=True measures on a GPU, and for {options.target} there is none: {error.what}",
            remedy="leave out tune, or compile where the GPU is",
        ) from None
    if not chip_of(options.target).runs_on(capability):
        best = best_chip(capability)
        raise CompileError(
            f"tune=True measures on a GPU, and the one here, {name}, does not run {options.target}",
            remedy="leave out tune" + (f', or compile for target="cuda:{best.name}"' if best else ""),
        )
    return gpu, name


class _Clock:
    """The seconds in each kernel of a program for the CPU, as the hook tells of their begin and end."""

    def __init__(self, executable: Executable) -> None:
        self._entry = executable.main
        self._hook = profiling.HOOK(self._tell)
        self._seconds: dict[str, float] = {}
        self._start = 0.0

    def __call__(self, run: Callable[[], None]) -> dict[str, float]:
        self._seconds = {}
        self._entry.hook = self._hook
        try:
            run()
        finally:
            self._entry.hook = None
        return self._seconds

    def _tell(self, kernel: bytes, begins: int) -> None:
        now = time.perf_counter()
        if begins:
            self._start = now
        else:
            name = kernel.decode()
            self._seconds[name] = self._seconds.get(name, 0.0) + now - self._start
