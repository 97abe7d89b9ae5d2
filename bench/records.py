"""What a run of the benchmark finds, as it is kept in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass
class Figures:
    """What one peer did with one workload; None for what was not measured, ``problem`` says why.

    ``seconds``: a call, the median of the turns; ``turns``: the median of each turn; ``cpu``: as ``seconds``,
    of processor time. ``error``: largest, against float64 eager. ``build`` (in a workload's first
    row): seconds from the module to the first result with nothing cached; ``warm``: with all of it cached, in
    a new process; ``export``: to make the file that it starts from, which are not in ``build``. ``memory``:
    bytes held at most while it is called, by all of its processes; ``build_memory``: of the largest process
    while it was built. ``kernels`` (beside ``build``): how many a call runs.
    """

    seconds: float | None = None
    turns: list[float] = field(default_factory=list)
    cpu: float | None = None
    error: float | None = None
    build: float | None = None
    warm: float | None = None
    export: float | None = None
    memory: int | None = None
    build_memory: int | None = None
    kernels: int | None = None
    problem: str = ""


@dataclass
class Round:
    """What the machine did beside one of mlopt's turns, and what the row needs by that, as in `Record`."""

    limit: float
    bound: str
    ceilings: Mapping[str, float]


@dataclass
class Record:
    """A row of the table: a workload on so many threads.

    ``faults``: with the default allocator; False if memory was kept in the processes, for all peers.
    ``limit``: seconds that the machine needs at least, by ``bound``; ``ceilings``: what that comes from, the
    best of the run. ``rounds``: the same beside each of mlopt's turns, in their order. ``again``: the date of
    a later run, if it is from there.
    """

    name: str
    title: str
    group: str
    threads: int
    faults: bool
    streams: bool = False
    limit: float | None = None
    bound: str = ""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    peers: dict[str, Figures] = field(default_factory=dict)
    again: str = ""

    @property
    def key(self) -> tuple[str, int, bool]:
        """What no other row of a run has."""
        return self.name, self.threads, self.faults


@dataclass
class Run:
    """A run: ``machine`` and ``versions`` say where and of what; ``absent``: peers that are not installed.
    ``special``: calls a second of functions at most, by the number of threads."""

    date: str
    machine: str
    clock: str
    versions: Mapping[str, str]
    absent: Mapping[str, str]
    special: dict[str, dict[str, float]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def take(self, later: Run) -> None:
        """Put the rows of a later run in the place of the same ones here, marked with its date.

        ValueError if it was on another machine, or by another clock: such rows are not of one table.
        """
        if (later.machine, later.clock) != (self.machine, self.clock):
            raise ValueError(
                f"rows by {later.clock} time on {later.machine} are not put among those by {self.clock} time "
                f"on {self.machine}"
            )
        fresh = {row.key: replace(row, again=later.date) for row in later.records}
        self.records = [fresh.pop(row.key, row) for row in self.records] + list(fresh.values())

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Run:
        """What `write` kept."""
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Run(**{**data, "records": [_record(each) for each in data["records"]]})


def _record(data: dict[str, Any]) -> Record:
    peers = {name: Figures(**found) for name, found in data["peers"].items()}
    rounds = [Round(**found) for found in data.get("rounds", [])]  # runs that were kept before have none
    return Record(**{**data, "peers": peers, "rounds": rounds})
