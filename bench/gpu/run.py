"""``python -m mlopt.bench.gpu.run``: kernels, launches and models, timed on a GPU beside torch's.

    python -m mlopt.bench.gpu.run                             all rows, 8 minutes at most
    python -m mlopt.bench.gpu.run --only softmax --minutes 2  the rows whose names have it
    python -m mlopt.bench.gpu.run --group linear-16           all of a group, each with its share of the time
    python -m mlopt.bench.gpu.run --group element-wise rows   all of several groups
    python -m mlopt.bench.gpu.run --prepare DIR               write modules as MLIR text, on any machine;
                                                              with --target cuda:sm_90a compiled, too
    python -m mlopt.bench.gpu.run --from DIR                  … and time those, where torch-mlir is missing
    python -m mlopt.bench.gpu.run --device emulator --tiny    no GPU: everything but the times is real
    python -m mlopt.bench.gpu.run --report FILE.json          the table and charts of a run that was kept

Rows are timed in the order of bench/gpu/timed.py; those for which no time is left are named. Without a GPU it
says so, and measures nothing but on the emulator.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import DeviceError
from ...tables import aligned
from ..peers.mlopt import NAME
from ..records import Figures, Record, Run
from ..run import WORK
from ..turns import PeerError, Process
from .child import ROUNDS, TURN, Job
from .figures import draw, text
from .prepared import commit, manifest, prepare
from .timed import TIMED

RESULTS = Path(__file__).parent.parent / "results"
_ROW_SECONDS = 60.0  # that a row may take to build and to be timed
_START_SECONDS = 15.0  # torch's imports, its compiler's, and the GPU's context
_LEAST_SECONDS = 3.0  # with which a row is begun: for eager, mlopt, and a round of turns
_LAST_SECONDS = 1.0  # for the end of the last one
_GRACE_SECONDS = 20.0  # that a row may take longer than it has, before its process is ended
_LEFT_OUT = "left out: the time was up"


@dataclass
class Deadline:
    """Until when the whole run may take."""

    end: float

    @property
    def left(self) -> float:
        """Seconds."""
        return self.end - time.monotonic()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m mlopt.bench.gpu.run", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="PART", help="rows whose names have it; default: all")
    groups = list(dict.fromkeys(timed.group for timed in TIMED.values()))
    add(
        "--group",
        nargs="+",
        choices=groups,
        default=[],
        metavar="GROUP",
        help=f"only their rows, each with its share of the time: {'; '.join(groups)}",
    )
    add("--minutes", type=float, default=8.0, help="default: 8")
    add("--device", choices=("gpu", "emulator"), default="gpu")
    add("--tiny", action="store_true", help="sizes for the emulator")
    add("--target", default="", help="default: what the GPU wants; cuda:sm_80 on the emulator")
    add("--prepare", type=Path, metavar="DIR", help="only write the rows' modules there")
    add("--from", dest="folder", type=Path, metavar="DIR", help="compile what was prepared there")
    add(
        "--output",
        type=Path,
        metavar="FILE",
        help="default: bench/results/ if all is timed, else build/bench/",
    )
    add("--report", type=Path, metavar="FILE", help="only print and draw what a run kept there")
    add("--list", action="store_true", help="only print the rows' names")
    options = parser.parse_args(arguments)
    chosen = [
        name
        for name, timed in TIMED.items()
        if (not options.group or timed.group in options.group)
        and (not options.only or any(part in name for part in options.only))
    ]
    if not chosen:
        parser.error(f"no row has this in its name; there are {', '.join(TIMED)}")
    if options.folder is not None:
        known = manifest(options.folder)
        if known["tiny"] != options.tiny:
            parser.error(f"{options.folder} was prepared {'with' if known['tiny'] else 'without'} --tiny")
        chosen = [name for name in chosen if name in known["rows"]]
    if options.device == "emulator" and not options.tiny and options.prepare is None:
        parser.error("the emulator is thousands of times slower than a GPU: add --tiny")
    options.chosen = chosen
    return options


def main(arguments: Sequence[str]) -> int:
    """Run, print, draw; 0 whatever the figures are, 1 if a result of mlopt's is wrong or missing."""
    options = parse(arguments)
    if options.list:
        rows = [(name, TIMED[name].group, TIMED[name].title) for name in options.chosen]
        print("\n".join(aligned(rows, left=(0, 1, 2))))
        return 0
    if options.prepare is not None:
        prepare(options.prepare, options.chosen, options.tiny, options.target)
        return 0
    if options.report is not None:
        run = Run.read(options.report)
        print(text(run))
        draw(run, options.report)
        return 0
    whole = options.device == "gpu" and not options.only and not options.tiny
    day = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    name = "-".join(["gpu", day, *options.group])
    output = options.output or (RESULTS if whole else WORK / "gpu") / f"{name}.json"
    run = perform(options, output)
    print(text(run))
    draw(run, output)
    print(f"\nkept in {output}")
    problems = [record.peers[NAME].problem for record in run.records if NAME in record.peers]
    return int(any(problem and problem != _LEFT_OUT for problem in problems))


def perform(options: argparse.Namespace, output: Path) -> Run:
    """Time the rows; what there is is kept in ``output`` after each."""
    deadline = Deadline(time.monotonic() + options.minutes * 60)
    target, machine, versions = surroundings(options)
    date = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M UTC}"
    run = Run(date, machine, "events" if options.device == "gpu" else "wall", versions, {})
    pace = (1, 0.0) if options.tiny else (ROUNDS, TURN)
    job = Job(options.device, target, str(options.folder or ""), options.tiny, *pace)
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        rows = Rows(job, Path(cache))
        try:
            for number, name in enumerate(options.chosen):
                # Of groups no row is left out because others took long.
                share = len(options.chosen) - number if options.group else 1
                run.records.append(rows.record(name, deadline, share))
                run.write(output)
        finally:
            rows.close()
    return run


class Rows:
    """A process that times rows, and another one when it has ended; ``cache`` is for what torch keeps."""

    def __init__(self, job: Job, cache: Path) -> None:
        self._job = json.dumps(asdict(job))
        self._environment = {
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TRITON_CACHE_DIR": str(cache / "triton"),
        }
        self._process: Process | None = None
        self._over: list[float] = []  # seconds that rows took beyond what they had

    def record(self, name: str, deadline: Deadline, share: int = 1) -> Record:
        """A row, or why there is none; as many rows as ``share`` have what is left of the time.

        They have less by as much as rows took longer until now: for inputs, exact results, and compilers that
        run outside of Python when they are interrupted.
        """
        starting = 0.0 if self._process is not None else _START_SECONDS
        if deadline.left < _LEAST_SECONDS + starting:
            return _none(name, _LEFT_OUT)
        print(f"{name}: {deadline.left:.0f} s left", file=sys.stderr, flush=True)
        try:
            process = self._started(deadline)
            left = deadline.left
            over = statistics.mean(self._over) if self._over else 0.0
            budget = max(min(_ROW_SECONDS, (left - _LAST_SECONDS) / share - over), 0.0)
            found = process.ask("row", name, budget, patience=min(budget + _GRACE_SECONDS, left))
            self._over.append(max(left - deadline.left - budget, 0.0))
        except PeerError as error:
            self.close()  # a GPU that has faulted is of no use to this process
            return _none(name, _LEFT_OUT if deadline.left <= 0 else str(error))
        record = Record(
            **{**found, "peers": {peer: Figures(**each) for peer, each in found["peers"].items()}}
        )
        if any("CUDA error" in figures.problem for figures in record.peers.values()):
            self.close()
        return record

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.close()
        self._process = None

    def _started(self, deadline: Deadline) -> Process:
        if self._process is None:
            self._process = Process("gpu.child", self._job, WORK / "gpu-child.txt", self._environment)
            self._process.ready(deadline.left)
        return self._process


def surroundings(options: argparse.Namespace) -> tuple[str, str, dict[str, str]]:
    """The target to compile for, what the machine is, and which versions of what are there."""
    versions = {"commit": manifest(options.folder)["commit"] if options.folder else commit()}
    for name in ("mlopt", "torch", "triton", "xtc-mlir-python-bindings"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    versions["Python"] = sys.version.split()[0]
    if options.device == "emulator":
        target = options.target or "cuda:sm_80"
        chip = target.removeprefix("cuda:")
        return target, f"the emulator of {chip}, tiny sizes (times mean nothing)", versions
    from ...runtime.cuda.chips import PREFIX, TOO_OLD, best_chip
    from ...runtime.cuda.driver import driver

    try:
        found, index = driver(), 0
    except DeviceError as error:
        raise SystemExit(f"nothing is timed: {error}; or --device emulator --tiny") from None
    best = best_chip(found.capability(index))
    if best is None and not options.target:
        raise SystemExit(f"{found.name(index)}: {TOO_OLD}")
    versions["CUDA"] = "{}.{}".format(*found.version)
    versions["driver"] = _driver_version()
    target = options.target or f"{PREFIX}{best.name if best else ''}"
    return target, f"{found.name(index)}, {target}", versions


def _driver_version() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _none(name: str, problem: str) -> Record:
    timed = TIMED[name]
    peers: dict[str, Any] = {NAME: Figures(problem=problem)}
    return Record(timed.name, timed.title, timed.group, 1, True, peers=peers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
