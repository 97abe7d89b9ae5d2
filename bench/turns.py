"""Turn by turn: all peers' processes are there at once, and one after the other is asked to work."""

from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .child import Job
from .limits import Facts, limit_of
from .peers import NAME, PEERS
from .records import Figures, Record, Round

_PAUSE = 0.02  # seconds between turns: threads of the last peer stop spinning
_PATIENCE = 600.0  # seconds that a peer may take for an answer
# What glibc's malloc has got from the system once, it keeps: no page is new at a second call.
_KEEP_MEMORY = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1099511627776:glibc.malloc.arena_max=1"


class PeerError(Exception):
    """A peer's process answered with a problem, or not at all."""


@dataclass(frozen=True)
class Pace:
    """``rounds`` turns of each peer, of ``seconds`` each; ``clock``: "wall" or "cpu"."""

    rounds: int
    seconds: float
    clock: str = "wall"


class Process:
    """A process that serves requests (see `serving`); what it prints is in ``log``."""

    def __init__(self, module: str, argument: str, log: Path, environment: Mapping[str, str]) -> None:
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"mlopt.bench.{module}", argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            # A user's second start reads mlopt's bytecode, too.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
        )
        self._where = log

    def ready(self, patience: float = _PATIENCE) -> None:
        """Wait until it has started; it is ended after ``patience`` seconds."""
        self._answer("start", patience)

    def ask(self, name: str, *arguments: object, patience: float = _PATIENCE) -> Any:
        """What it answers; it is ended after ``patience`` seconds."""
        assert self._process.stdin is not None
        try:
            print(json.dumps([name, *arguments]), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise PeerError(f"its process ended, see {self._where}") from None
        return self._answer(name, patience)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _answer(self, name: str, patience: float = _PATIENCE) -> Any:
        assert self._process.stdout is not None
        timer = threading.Timer(patience, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        if not line:
            raise PeerError(f"{name}: its process ended, see {self._where}")
        answer = json.loads(line)
        if "problem" in answer:
            raise PeerError(answer["problem"])
        return answer["ok"]


class Contestants:
    """The peers of one row. One that has a problem keeps it in its `Figures`, and takes part no longer."""

    def __init__(self, record: Record, names: Sequence[str], facts: Facts, folder: Path) -> None:
        self.figures = record.peers
        self._record = record
        self._facts = facts
        self._folder = folder
        self._processes: dict[str, Process] = {}
        for name in names:
            self.figures[name] = Figures()
            if PEERS[name].exported:
                self.figures[name].export = facts.export
                self.figures[name].problem = facts.export_problem

    def build(self, cold: bool) -> None:
        """Start and build one after the other; ``cold``: nothing is cached, so that it can be timed."""
        for name, figures in self.figures.items():
            built = None if figures.problem else self._start(name)
            if built is not None:
                figures.error = built["error"]
                if cold:
                    figures.build, figures.build_memory = built["seconds"], built["peak"]
                    figures.kernels = built["kernels"]

    def race(self, meter: Process, pace: Pace) -> None:
        """All rounds; right before and after each of mlopt's turns the machine is measured."""
        turns: dict[str, list[dict[str, float]]] = {name: [] for name in self._processes}
        beside: list[Mapping[str, float]] = []
        for number in range(pace.rounds + 1):  # the first one does not count
            names = list(self._processes)
            first = number % len(names) if names else 0
            for name in names[first:] + names[:first]:
                before = self._measure(meter) if name == NAME else {}
                time.sleep(_PAUSE)
                turn = self._ask(name, "turn", pace.seconds)
                if turn is not None and number:
                    turns[name].append(turn)
                    if name == NAME:
                        beside.append(_better(before, self._measure(meter)))
        for name in self._processes:
            figures = self.figures[name]
            figures.turns = [turn[pace.clock] for turn in turns[name]]
            figures.seconds = statistics.median(figures.turns)
            figures.cpu = statistics.median(turn["cpu"] for turn in turns[name])
        if NAME in self._processes:
            self._limit(beside)

    def weigh(self) -> None:
        """The memory of each."""
        for name in list(self._processes):
            self.figures[name].memory = self._ask(name, "memory")

    def build_again(self) -> None:
        """Build once more in new processes, from what the peers kept on disk."""
        self.close()
        for name, figures in self.figures.items():
            if PEERS[name].keeps and not figures.problem:
                built = self._start(name)
                figures.warm = built["seconds"] if built is not None else None
                self.close()

    def close(self) -> None:
        """End all."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()

    def _measure(self, meter: Process) -> Mapping[str, float]:
        time.sleep(_PAUSE)
        found: dict[str, float] = meter.ask("turn", list(self._facts.special))
        return found

    def _limit(self, beside: Sequence[Mapping[str, float]]) -> None:
        limits = [limit_of(self._facts, each) for each in beside]
        record = self._record
        record.rounds = [
            Round(limit.seconds, limit.bound, each) for limit, each in zip(limits, beside, strict=True)
        ]
        record.ceilings = functools.reduce(_better, beside)
        best = limit_of(self._facts, record.ceilings)
        record.limit, record.bound = best.seconds, best.bound

    def _start(self, name: str) -> dict[str, Any] | None:
        record = self._record
        own = self._folder / name.replace(" ", "-")
        cache = own / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        environment = PEERS[name].environment(record.threads, cache)
        if not record.faults:
            environment["GLIBC_TUNABLES"] = _KEEP_MEMORY
        job = json.dumps(asdict(Job(name, record.name, str(self._folder), record.threads)))
        process = Process("child", job, own / "log.txt", environment)
        self._processes[name] = process
        try:
            process.ready()
            built: dict[str, Any] = process.ask("build")
        except PeerError as error:
            self._drop(name, error)
            return None
        return built

    def _ask(self, name: str, *request: object) -> Any:
        try:
            return self._processes[name].ask(str(request[0]), *request[1:])
        except PeerError as error:
            self._drop(name, error)
            return None

    def _drop(self, name: str, error: PeerError) -> None:
        self.figures[name].problem = str(error).splitlines()[0]
        self._processes.pop(name).close()


def run_row(
    record: Record,
    names: Sequence[str],
    facts: Facts,
    folder: Path,
    meter: Process,
    pace: Pace,
    cold: bool,
    again: bool,
) -> None:
    """Fill ``record``; ``cold``: it is the workload's first; ``again``: build once more, from the caches."""
    contestants = Contestants(record, names, facts, folder)
    try:
        contestants.build(cold)
        contestants.race(meter, pace)
        if record.faults:
            contestants.weigh()
        if again:
            contestants.build_again()
    finally:
        contestants.close()


def _better(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: max(each, other[name]) for name, each in one.items()}
