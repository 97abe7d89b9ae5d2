"""The process that times rows on a GPU, one after the other: its argument is a `Job` as JSON (`..serving`).

A kernel that faults takes the process's GPU with it; then the next row begins in another process. A row ends
in the time that it has: what is not compiled by then is interrupted, named, and the others are timed.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..child import LARGEST_ERROR
from ..peers.mlopt import NAME
from ..records import Figures, Record
from ..serving import serve
from . import peers
from .alarm import TimeUpError, within
from .clock import Call, Clock, Inputs, sets_needed
from .peers import Where
from .prepared import was_compiled
from .timed import TIMED
from .workload import BF16, CHAINS, F16, Source, Timed

ROUNDS, TURN = 7, 0.02
_CHUNK = 1 << 24
_CALLS_MORE = 2.0  # a turn's seconds over those that count: first calls, and events that are waited for
_TIME_UP = "left out: its time was up"
_LEAST_ROW = 64  # elements
# Of a row's largest value: bf16 keeps 8 bits, f16 11, and eager rounds to them after each op.
_LARGEST = {BF16: 1e-2, F16: 2e-3}
COPY = "copy"


@dataclass(frozen=True)
class Job:
    """``rounds`` turns of each peer, of ``seconds`` each; ``folder``: of prepared texts, or empty."""

    device: str
    target: str
    folder: str
    tiny: bool
    rounds: int
    seconds: float


class Child:
    """What can be asked for."""

    def __init__(self, job: Job) -> None:
        torch.set_grad_enabled(False)
        self._job = job
        self._where = Where(job.device, job.target, Path(job.folder) if job.folder else None)
        peers.warm_up(self._where)

    def row(self, name: str, budget: float) -> Record:
        """Time a row in ``budget`` seconds: what builds longer is interrupted, and turns are fewer."""
        end = time.perf_counter() + budget
        timed = TIMED[name]
        row = _Row(timed, self._where, self._job)
        try:
            return row.record(end)
        finally:
            del row
            gc.collect()
            torch._dynamo.reset()
            if self._where.device == "gpu":
                torch.cuda.empty_cache()


class _Row:
    """One workload with its inputs, the exact result, and the peers that are right."""

    def __init__(self, timed: Timed, where: Where, job: Job) -> None:
        self._timed, self._where, self._job = timed, where, job
        source = Source(timed.dtype, where.torch_device)
        inputs = timed.inputs(source, job.tiny)
        count = 2 if job.tiny else sets_needed(inputs)
        self._sets: list[Inputs] = [inputs, *(timed.inputs(source, job.tiny) for _ in range(count - 1))]
        self._exact = timed.exact(inputs)
        self._calls: dict[str, Call] = {}

    def record(self, end: float) -> Record:
        timed = self._timed
        record = Record(timed.name, timed.title, timed.group, 1, True, timed.group == CHAINS)
        names = peers.names(timed, self._where)
        turns = _CALLS_MORE * self._job.rounds * self._job.seconds * (len(names) + 1)
        for name in names:
            record.peers[name] = self._built(name, end - turns)
        size = timed.bytes(self._sets[0], self._exact.to(timed.dtype))
        del self._exact
        seconds = self._race(record, size, end)
        record.limit, record.bound = seconds, COPY
        record.ceilings = {"bytes": size, COPY: size / seconds}
        if timed.flops is not None:
            record.ceilings["flops"] = timed.flops(timed.tiny if self._job.tiny else timed.size)
        return record

    def _built(self, name: str, end: float) -> Figures:
        """Compile and check; what goes wrong is in the figures."""
        begin = time.perf_counter()
        if begin > end:
            return Figures(problem=_TIME_UP)
        try:
            with within(end - begin):
                call = peers.build(name, self._timed, self._sets[0], self._where)
                call(*self._sets[0])
                self._wait()
                seconds = time.perf_counter() - begin
                error = self._error(call)
        except TimeUpError:
            return Figures(problem=f"{_TIME_UP}, {end - begin:.1f} s after it began to compile")
        except Exception as raised:  # a peer that fails is named in the table, and the others go on
            return Figures(problem=f"{type(raised).__name__}: {raised}".splitlines()[0])
        most = self._timed.largest_error or _LARGEST.get(self._timed.dtype, LARGEST_ERROR)
        if not error <= most:
            return Figures(
                error=error, problem=f"its result is wrong: the error against float64 is {error:.1e}"
            )
        self._calls[name] = call
        folder = self._where.folder
        if name == NAME and folder is not None and was_compiled(folder, self._timed.name):
            return Figures(error=error, warm=seconds)
        return Figures(error=error, build=seconds)

    def _error(self, call: Call) -> float:
        """Of the third call: by then what captures CUDA graphs replays one. Its memory held NaN before."""
        call(*self._sets[0])
        poison = torch.full_like(self._exact, torch.nan, dtype=self._timed.dtype)
        del poison
        return error_of(call(*self._sets[0]), self._exact, self._timed.dtype)

    def _race(self, record: Record, size: int, end: float) -> float:
        """All turns; the seconds of a copy of as many bytes, read and written, as a call moves."""
        clock = Clock(self._where.torch_device, self._sets)
        part = max(size // 2, 1)
        pairs = [
            tuple(torch.empty(part, dtype=torch.uint8, device=self._where.torch_device) for _ in range(2))
            for _ in range(sets_needed([torch.empty(part, dtype=torch.uint8, device="meta")]))
        ]
        copier = Clock(self._where.torch_device, pairs)
        copies: list[float] = []
        names = list(self._calls)
        for number in range(self._job.rounds):
            if number and time.perf_counter() > end:
                break
            copies.append(copier.turn(torch.Tensor.copy_, self._job.seconds))
            first = number % len(names) if names else 0
            for name in names[first:] + names[:first]:
                record.peers[name].turns.append(clock.turn(self._calls[name], self._job.seconds))
        for name, call in self._calls.items():
            figures = record.peers[name]
            figures.seconds = statistics.median(figures.turns)
            figures.cpu = statistics.median(clock.host(call) for _ in range(3))
        return statistics.median(copies)

    def _wait(self) -> None:
        if self._where.device == "gpu":
            torch.cuda.synchronize()


def error_of(got: Any, exact: torch.Tensor, dtype: torch.dtype) -> float:
    """The largest of all rows' max |got - exact| / max |exact|; infinite for another form, or a NaN.

    A row is of the last dims, and has 64 elements at least: small values that are wrong are not hidden by
    large ones of other rows. A row of zeros counts as one of the largest value of its part.
    """
    result = got[0] if isinstance(got, Sequence) else got
    if result.shape != exact.shape or result.dtype is not dtype:
        return float("inf")
    length = _row_length(exact.shape)
    rows = max(_CHUNK // length, 1)
    most = 0.0
    for part, wanted in zip(
        result.reshape(-1, length).split(rows), exact.reshape(-1, length).split(rows), strict=True
    ):
        differences = (part.double() - wanted).abs().amax(1)
        largest = wanted.abs().amax(1)
        largest = torch.where(largest > 0, largest, largest.max().clamp(min=torch.finfo(dtype).tiny))
        error = float((differences / largest).max())
        if error != error:
            return float("inf")
        most = max(most, error)
    return most


def _row_length(shape: Sequence[int]) -> int:
    length = 1
    for size in reversed(shape):
        if length < _LEAST_ROW:
            length *= size
    return length


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    serve(lambda: Child(job))


if __name__ == "__main__":
    main()
