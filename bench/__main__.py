"""mlopt beside its peers: see ``python -m mlopt.bench --help``."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .groups import GOALS
from .peers import PEERS
from .records import Run
from .run import WORK, Plan, empty_run, perform
from .summary import text
from .turns import Pace
from .workloads import WORKLOADS

RESULTS = Path(__file__).parent / "results"
PACE = Pace(7, 0.1)
QUICK = Pace(3, 0.03)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m mlopt.bench",
        description="Times mlopt beside its peers on the CPU, turn by turn, results checked against float64.",
    )
    add = parser.add_argument
    add("--only", metavar="ROW", nargs="+", default=[], help="rows or groups by name; default: all")
    add("--peers", metavar="PEER", nargs="+", choices=list(PEERS), default=list(PEERS), help=", ".join(PEERS))
    add("--threads", metavar="N", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    add("--quick", action="store_true", help="few and short turns, no compilation from caches")
    add("--clock", choices=("wall", "cpu"), default="wall", help="cpu: a busy machine's, for one thread")
    add(
        "--output",
        metavar="FILE",
        type=Path,
        help="the JSON; default: bench/results/ for all, else build/bench/",
    )
    add("--into", metavar="FILE", type=Path, help="put the rows into the run kept there, with their date")
    add("--report", metavar="FILE", type=Path, help="only print and draw what a run kept there")
    add("--list", action="store_true", help="only print the rows' names")
    options = parser.parse_args(arguments)
    known = [*WORKLOADS, *GOALS]
    for name in options.only:
        if name not in known:
            parser.error(f"there is no row '{name}', but {', '.join(known)}")
    for path in (options.into, options.report):
        if path and not path.is_file():
            parser.error(f"there is no run in {path}")
    processors = len(os.sched_getaffinity(0))
    if not 1 <= min(options.threads) <= max(options.threads) <= processors:
        parser.error(f"--threads can be 1 to {processors}, the processors that there are")
    if options.clock == "cpu" and options.threads != [1]:
        parser.error("--clock cpu is for --threads 1: threads that wait for work spin, and count")
    return options


def main(arguments: Sequence[str]) -> int:
    """Run, print, draw; 0 whatever the figures are."""
    options = parse(arguments)
    if options.list:
        print("\n".join(f"{each.name:18s} {each.group:22s} {each.title}" for each in WORKLOADS.values()))
        return 0
    if options.report:
        show(Run.read(options.report), options.report)
        return 0
    wanted = set(options.only)
    chosen = [each for each in WORKLOADS.values() if not wanted or {each.name, each.group} & wanted]
    pace = replace(QUICK if options.quick else PACE, clock=options.clock)
    plan = Plan(chosen, options.peers, options.threads, pace, again=not options.quick)
    folder = WORK if options.only or options.quick else RESULTS
    output = options.output or folder / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}.json"
    whole = Run.read(options.into) if options.into else None
    if whole:
        whole.take(empty_run(plan))  # or it says right away why it will not
    run = perform(plan, output)
    if whole:
        whole.take(run)
        run, output = whole, options.into
        run.write(output)
    show(run, output)
    print(f"\nkept in {output}")
    return 0


def show(run: Run, path: Path) -> None:
    """Print the table, and draw the chart beside the JSON file, where matplotlib is installed."""
    print(text(run))
    try:
        from .chart import chart
    except ImportError as error:
        print(f"no chart: {error}", file=sys.stderr)
        return
    chart(run, path.with_suffix(".svg"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
