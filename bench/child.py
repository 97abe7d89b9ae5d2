"""The process that one peer runs one workload in: its argument is a `Job` as JSON (see `serving`)."""

from __future__ import annotations

import ctypes
import gc
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .memory import forget_peak, largest_process, peak_of_all
from .peers import PEERS, Call, Task
from .serving import hold, serve

LARGEST_ERROR = 1e-4  # what f32 never needs, and bf16 or TF32 always exceed
_CHUNK = 1 << 22
_MEMORY_CALLS = 3


@dataclass(frozen=True)
class Job:
    """Which peer runs which workload, with so many threads."""

    peer: str
    workload: str
    folder: str
    threads: int


@dataclass(frozen=True)
class Built:
    """``seconds`` from the module to the first result; ``error`` of a result against float64 eager.

    ``peak``: the most memory that one process held meanwhile, this one or one that it started. ``kernels``:
    as in `Peer`.
    """

    seconds: float
    error: float
    peak: int
    kernels: int | None


@dataclass(frozen=True)
class Turn:
    """The median seconds of the calls of one turn, by the wall's clock and the process's own."""

    wall: float
    cpu: float
    calls: int


class Child:
    """What can be asked for."""

    def __init__(self, job: Job) -> None:
        self._peer = PEERS[job.peer]()
        self._peer.load(job.threads)
        self._task = Task(job.workload, job.threads, Path(job.folder))
        self._call: Call | None = None

    def build(self) -> Built:
        """Compile, and check a result."""
        self._peer.read(self._task)
        start = time.perf_counter()
        self._call = self._peer.build(self._task)
        seconds = time.perf_counter() - start
        peak = largest_process()
        error = error_of(self._peer.array(self._call()), np.load(self._task.exact, mmap_mode="r"))
        if not error <= LARGEST_ERROR:
            raise ValueError(f"its result is wrong: the error against float64 is {error:.1e}")
        return Built(seconds, error, peak, self._peer.kernels)

    def turn(self, seconds: float) -> Turn:
        """Call for so long, at least once, after a call that does not count."""
        assert self._call is not None
        call = self._call
        walls: list[float] = []
        cpus: list[float] = []
        call()
        end = time.perf_counter() + seconds
        while not walls or time.perf_counter() < end:
            cpu, wall = time.process_time(), time.perf_counter()
            call()
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        return Turn(statistics.median(walls), statistics.median(cpus), len(walls))

    def memory(self) -> int | None:
        """The most memory held while it is called, by all of its processes; None if that cannot be told.

        All is in it: the libraries, weights, what is made of them, inputs, results, workspaces.
        """
        assert self._call is not None
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        if not forget_peak():
            return None
        for _ in range(_MEMORY_CALLS):
            self._call()
        return peak_of_all()


def error_of(got: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """max |got - exact| / max |exact|, computed in parts; infinite where shapes differ or a NaN is."""
    if got.shape != exact.shape:
        return float("inf")
    flat, wanted = got.reshape(-1), exact.reshape(-1)
    most = largest = 0.0
    for start in range(0, flat.size, _CHUNK):
        part = wanted[start : start + _CHUNK]
        difference = float(np.abs(flat[start : start + _CHUNK].astype(np.float64) - part).max())
        if np.isnan(difference):
            return float("inf")
        most, largest = max(most, difference), max(largest, float(np.abs(part).max()))
    return most / largest if largest else most


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    hold(job.threads)
    serve(lambda: Child(job))


if __name__ == "__main__":
    main()
