"""A whole run: the machine is measured, then each workload with all peers."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .groups import MODELS
from .limits import Facts
from .peers import NAME, PEERS, missing
from .records import Record, Run
from .turns import Pace, PeerError, Process, run_row
from .workloads import Workload

WORK = Path("build/bench")
_START = time.monotonic()


@dataclass(frozen=True)
class Plan:
    """What is run: ``peers`` by name; ``again``: models are compiled once more, from the caches."""

    workloads: Sequence[Workload]
    peers: Sequence[str]
    threads: Sequence[int]
    pace: Pace
    again: bool


def perform(plan: Plan, output: Path) -> Run:
    """Do all of it; what there is is kept in ``output`` after each workload."""
    run = empty_run(plan)
    names = [name for name in plan.peers if name not in run.absent]
    with _meters(plan.threads) as meters:
        for workload in plan.workloads:
            _add_rows(run, workload, names, meters, plan)
            run.write(output)
    return run


def empty_run(plan: Plan) -> Run:
    """A run without rows."""
    gone = {name: missing(PEERS[name]) for name in plan.peers}
    absent = {name: f"{', '.join(each)} cannot be imported" for name, each in gone.items() if each}
    requirements = [each.partition("==")[0] for peer in PEERS.values() for each in peer.requirements]
    versions = {}
    for name in (NAME, *requirements):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Run(date, processor(), plan.pace.clock, versions, absent)


def processor() -> str:
    """The processor's name, family and model (virtual machines hide part of the name), and how many."""
    text = Path("/proc/cpuinfo").read_text()
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", text, re.MULTILINE))
    name = found.get("model name", platform.machine())
    kind = f"family {found.get('cpu family', '?')} model {found.get('model', '?')}"
    return f"{name} ({kind}), {len(os.sched_getaffinity(0))} processors"


@contextmanager
def _meters(threads: Sequence[int]) -> Iterator[Mapping[int, Process]]:
    WORK.mkdir(parents=True, exist_ok=True)
    meters = {}
    try:
        for each in threads:
            environment = {"OMP_NUM_THREADS": str(each)}
            meters[each] = Process("ceilings", str(each), WORK / f"ceilings-{each}.txt", environment)
            meters[each].ready()
        yield meters
    finally:
        for meter in meters.values():
            meter.close()


def _add_rows(
    run: Run, workload: Workload, names: Sequence[str], meters: Mapping[int, Process], plan: Plan
) -> None:
    folder = (WORK / workload.name).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    _say(f"{workload.name}: inputs and the exact result")
    facts = _prepare(workload, folder, any(PEERS[name].exported for name in names))
    for threads, meter in sorted(meters.items(), reverse=True):  # compile times are of the most threads
        for faults in (True, False) if workload.large else (True,):
            _say(f"{workload.name}: {threads} threads{'' if faults else ', memory kept'}")
            record = Record(workload.name, workload.title, workload.group, threads, faults, workload.streams)
            cold = faults and threads == max(plan.threads)
            again = cold and plan.again and workload.group == MODELS
            try:
                meter.ask("prepare", list(facts.special))
                run_row(record, names, facts, folder, meter, plan.pace, cold, again)
            except PeerError as error:
                _say(f"{workload.name}: the machine was not measured: {error}")
            special = run.special.setdefault(str(threads), {})
            special |= {
                name: max(record.ceilings[name], special.get(name, 0.0))
                for name in facts.special
                if record.ceilings
            }
            run.records.append(record)
    for path in folder.glob("*.np*"):
        path.unlink()


def _prepare(workload: Workload, folder: Path, onnx: bool) -> Facts:
    folder.mkdir(parents=True)
    command = [sys.executable, "-P", "-m", "mlopt.bench.prepare", workload.name, str(folder)]
    with (folder / "prepare.txt").open("wb") as log:
        subprocess.run([*command, *(["--onnx"] if onnx else [])], check=True, stdout=log, stderr=log)
    return Facts(**json.loads((folder / "facts.json").read_text()))


def _say(what: str) -> None:
    print(f"{(time.monotonic() - _START) / 60:5.1f} min: {what}", file=sys.stderr, flush=True)
