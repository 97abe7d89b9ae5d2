"""Seconds of calls: by CUDA events on a GPU, by the wall's clock on the CPU."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch

_ROTATED = 1 << 28  # bytes of inputs that calls take in turn: some times the largest L2 cache
_MOST_SETS = 64  # so that inputs of less than 4 MB stay in that cache: of these rows launches are timed
_MOST_CALLS = 2000
_HOST_CALLS = 20  # a stream takes about a thousand launches before it makes the host wait
Call = Callable[..., Any]
Inputs = Sequence[torch.Tensor]


def sets_needed(inputs: Inputs) -> int:
    """How many sets of inputs there must be for none to be in a cache when its turn comes again."""
    size = sum(each.numel() * each.element_size() for each in inputs)
    return min(_MOST_SETS, -(-_ROTATED // max(size, 1)) + 1)


class Clock:
    """Times calls on ``device``, with ``sets`` of inputs in turn.

    As many results are kept, so that the next one is written to memory that is in no cache, either; where
    inputs stay in the cache none: their results come to the same memory again.
    """

    def __init__(self, device: str, sets: Sequence[Inputs]) -> None:
        self._on_gpu = device == "cuda"
        self._sets = sets
        self._kept: deque[Any] = deque(maxlen=len(sets) if len(sets) < _MOST_SETS else 0)
        self._next = 0

    def turn(self, call: Call, seconds: float) -> float:
        """Seconds of a call: of as many as fill ``seconds``, after some that do not count."""
        once = max(self._time(call, 2), 1e-9)
        return self._time(call, max(3, min(_MOST_CALLS, int(seconds / once))))

    def host(self, call: Call) -> float:
        """Seconds until a call returns, which on a GPU is before it is done."""
        self._wait()
        begin = time.perf_counter()
        self._run(call, _HOST_CALLS)
        taken = time.perf_counter() - begin
        self._wait()
        return taken / _HOST_CALLS

    def _time(self, call: Call, count: int) -> float:
        self._wait()
        if not self._on_gpu:
            begin = time.perf_counter()
            self._run(call, count)
            return (time.perf_counter() - begin) / count
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        self._run(call, count)
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3 / count

    def _run(self, call: Call, count: int) -> None:
        for _ in range(count):
            self._kept.append(call(*self._sets[self._next]))
            self._next = (self._next + 1) % len(self._sets)

    def _wait(self) -> None:
        if self._on_gpu:
            torch.cuda.synchronize()
