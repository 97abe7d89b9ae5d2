"""The table of a run on a GPU, what it says about the goals, and its charts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...tables import aligned
from ..peers.mlopt import NAME
from ..records import Figures, Record, Run
from ..summary import geometric_mean, ratio_to, share
from .peers import AUTOTUNE, COMPILE, EAGER, REDUCE
from .workload import CHAINS, GRAPHS, LAUNCHES, OTHERS, ROWS

LARGE_MEAN, LEAST, LAUNCH_MEAN, BANDWIDTH = 1.02, 0.97, 1.3, 0.92  # what is aimed at
_NONE = "–"
_MODES = (COMPILE, AUTOTUNE, REDUCE)
_BOUND_BY_MEMORY = (CHAINS, ROWS, OTHERS)


def text(run: Run) -> str:
    """All of it for people."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    parts = [f"{run.date}, {run.machine}; {versions}"]
    timed = [record for record in run.records if record.limit is not None]
    if timed:
        parts += [
            "",
            "microseconds a call; share: of the bandwidth of a copy; ratios: of theirs to mlopt's",
            *table(timed),
        ]
        parts += ["", "seconds to the first result, nothing cached; host: microseconds until a call returns"]
        parts += [*compilations(timed), "", *goals(timed)]
    parts += [
        f"no figure: {record.title}: {name}: {figures.problem}"
        for record in run.records
        for name, figures in record.peers.items()
        if figures.problem
    ]
    return "\n".join(parts)


def best_mode(record: Record) -> float | None:
    """The time of the best mode of torch.compile over mlopt's."""
    found = [ratio for name in _MODES if (ratio := ratio_to(record, name)) is not None]
    return min(found, default=None)


def _best(record: Record) -> float | None:
    """The time of the fastest of eager, which has libraries for what multiplies, and torch.compile."""
    found = [each for each in (ratio_to(record, EAGER), best_mode(record)) if each is not None]
    return min(found, default=None)


def table(records: Sequence[Record]) -> list[str]:
    """Times, bandwidth and ratios, a line a row."""
    names = _names(records)
    rows = [("workload", *names, "copy", "GB/s", "share", "TFLOP/s", "eager", "best mode")]
    for record in records:
        ours = record.peers.get(NAME, Figures()).seconds
        rate = record.ceilings["bytes"] / ours * 1e-9 if ours else None
        flops = record.ceilings.get("flops")
        rows.append(
            (
                record.title,
                *(_number(_seconds(record, name), 1e6, 1) for name in names),
                _number(record.limit, 1e6, 1),
                _number(rate, 1, 0),
                _NONE if share(record) is None or flops else f"{share(record):.1%}",
                _number(flops / ours if flops and ours else None, 1e-12, 1),
                _number(ratio_to(record, EAGER), 1, 2),
                _number(best_mode(record), 1, 2),
            )
        )
    return aligned(rows, left=(0,))


def compilations(records: Sequence[Record]) -> list[str]:
    """What each peer took to compile, and what a call costs on the host."""
    names = _names(records)
    rows = [("workload", *names, *(f"{name}, host" for name in names))]
    for record in records:
        found = [record.peers.get(name, Figures()) for name in names]
        rows.append(
            (
                record.title,
                *(_number(each.build, 1, 1) for each in found),
                *(_number(each.cpu, 1e6, 1) for each in found),
            )
        )
    return aligned(rows, left=(0,))


def goals(records: Sequence[Record]) -> Iterator[str]:
    """What is aimed at, and what there is."""
    large = [record for record in records if record.group in _BOUND_BY_MEMORY]
    shares = [(found, r.title) for r in large if (found := share(r)) is not None]
    below = [f"{title} {found:.0%}" for found, title in shares if found < BANDWIDTH]
    held = f"{len(shares) - len(below)} of {len(shares)}{_listed(below)}"
    yield f"rows at {BANDWIDTH:.0%} of the copy's bandwidth: {held}"
    against = [(found, r.title) for r in large if (found := best_mode(r)) is not None]
    behind = [f"{title} {found:.2f}" for found, title in against if found < LEAST]
    if against:
        mean = geometric_mean([found for found, _ in against])
        yield f"best mode of torch.compile / mlopt, rows bound by memory: {mean:.2f} (goal {LARGE_MEAN})"
        yield f"never under {LEAST}: {len(against) - len(behind)} of {len(against)}{_listed(behind)}"
    for group in dict.fromkeys(r.group for r in records if "flops" in r.ceilings):
        best = [(ratio, r.title) for r in records if r.group == group and (ratio := _best(r)) is not None]
        if best:
            behind = [f"{title} {ratio:.2f}" for ratio, title in best if ratio < LEAST]
            mean = geometric_mean([ratio for ratio, _ in best])
            yield f"best of eager and torch.compile / mlopt, {group}: {mean:.2f}"
            yield f"never under {LEAST}: {len(best) - len(behind)} of {len(best)}{_listed(behind)}"
    for group in (LAUNCHES, GRAPHS):
        ratios = [each for r in records if r.group == group and (each := best_mode(r)) is not None]
        if ratios:
            yield f"{group}: {geometric_mean(ratios):.2f} (goal {LAUNCH_MEAN})"


def draw(run: Run, path: Path) -> None:
    """Two charts beside the JSON file, where matplotlib is installed."""
    try:
        from .charts import charts
    except ImportError as error:
        print(f"no charts: {error}", file=sys.stderr)
        return
    charts(run, path)


def _names(records: Sequence[Record]) -> list[str]:
    found = dict.fromkeys(name for record in records for name in record.peers)
    return [name for name in (EAGER, *_MODES, NAME) if name in found]


def _seconds(record: Record, name: str) -> float | None:
    return record.peers[name].seconds if name in record.peers else None


def _number(value: float | None, scale: float, digits: int) -> str:
    return _NONE if value is None else f"{value * scale:.{digits}f}"


def _listed(items: Sequence[str]) -> str:
    return "; below: " + ", ".join(items) if items else ""
