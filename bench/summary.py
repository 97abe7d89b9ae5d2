"""The table of a run, and what it says about the goals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..tables import aligned
from .groups import GOALS, SHARES, Share
from .peers.mlopt import NAME
from .records import Figures, Record, Run

INDUCTOR = "torch.compile"
COMPILE_ROW = "gpt2"
_NONE = "–"


def best_peer(record: Record) -> tuple[str, float] | None:
    """The fastest peer but mlopt, and its seconds."""
    found = [
        (each.seconds, name)
        for name, each in record.peers.items()
        if name != NAME and each.seconds is not None
    ]
    return (min(found)[1], min(found)[0]) if found else None


def ratio(record: Record) -> float | None:
    """The best peer's time over mlopt's: more than 1 is faster."""
    best, ours = best_peer(record), _seconds(record, NAME)
    return best[1] / ours if best and ours else None


def ratio_to(record: Record, peer: str) -> float | None:
    """The time of ``peer`` over mlopt's."""
    theirs, ours = _seconds(record, peer), _seconds(record, NAME)
    return theirs / ours if theirs and ours else None


def share(record: Record) -> float | None:
    """The row's limit over mlopt's time: the median of the turns, each with what the machine did beside it.

    Where the rounds were not kept, it is `share_of_best`.
    """
    if not record.rounds:
        return share_of_best(record)
    turns = record.peers[NAME].turns
    return statistics.median(each.limit / turn for each, turn in zip(record.rounds, turns, strict=True))


def share_of_best(record: Record) -> float | None:
    """The limit by the best that the machine did in the run, over mlopt's time."""
    ours = _seconds(record, NAME)
    return record.limit / ours if record.limit is not None and ours else None


def geometric_mean(values: Sequence[float]) -> float:
    """Of numbers over 0; of none it is not a number."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def text(run: Run) -> str:
    """All of it for people."""
    parts = [f"{run.date}, {run.machine}; {run.clock} time"]
    for threads in sorted({record.threads for record in run.records}):
        records = [record for record in run.records if record.threads == threads]
        parts += [f"\n{_count(threads)}, milliseconds a call", *times(records)]
    parts += [
        "\ncompilation, seconds (with nothing cached / from the cache), peak memory of calls, MB, "
        "kernels of a call (torch.compile's: the nodes of its schedule, calls of libraries among them)"
    ]
    parts += compilations(run.records)
    parts += ["\nbest peer / mlopt, by group", *goals(run.records)]
    parts += [f"\nnot installed: {name} ({why})" for name, why in run.absent.items()]
    parts += [
        f"no figure: {record.name}, {_count(record.threads)}: {name}: {each.problem}"
        for record in run.records
        for name, each in record.peers.items()
        if each.problem
    ]
    return "\n".join(parts)


def times(records: Sequence[Record]) -> list[str]:
    """Milliseconds of each peer, the ratio to the best of them, the share of the limit."""
    peers = _peers(records)
    rows = [("workload", *peers, "best", "ratio", "limit", "share", "of best", "by")]
    for record in records:
        best = best_peer(record)
        rows.append(
            (
                record.title
                + ("" if record.faults else " (memory kept)")
                + (f" ({record.again})" if record.again else ""),
                *(_number(_seconds(record, peer), 1e3, 3) for peer in peers),
                best[0] if best else _NONE,
                _number(ratio(record), 1, 2),
                _number(record.limit, 1e3, 3),
                _percent(share(record)),
                _percent(share_of_best(record)),
                record.bound,
            )
        )
    return aligned(rows, left=(0, len(peers) + 1, len(peers) + 6))


def compilations(records: Sequence[Record]) -> list[str]:
    """For each workload: compile times, memory and kernels, of the rows with the most threads."""
    most = max((record.threads for record in records), default=0)
    chosen = [record for record in records if record.threads == most and record.faults]
    peers = _peers(chosen)
    telling = [peer for peer in peers if any(_kernels(record, peer) is not None for record in chosen)]
    more = [*(f"{peer}, MB" for peer in peers), *(f"{peer}, kernels" for peer in telling)]
    rows: list[tuple[str, ...]] = [("workload", *peers, *more)]
    for record in chosen:
        found = [record.peers.get(peer, Figures()) for peer in peers]
        rows.append(
            (
                record.title,
                *(_compiled(each) for each in found),
                *(_number(each.memory, 1e-6, 0) for each in found),
                *(_number(_kernels(record, peer), 1, 0) for peer in telling),
            )
        )
    return aligned(rows, left=(0,))


def goals(records: Sequence[Record]) -> list[str]:
    """A line for each group and number of threads, then those of single rows."""
    rows: list[tuple[str, ...]] = [("", "threads", "rows", "mean", "goal", "least", "goal", "least of")]
    for group, goal in GOALS.items():
        for threads in sorted({record.threads for record in records}):
            found = [
                (each, record)
                for record in records
                if record.group == group and record.threads == threads and (each := ratio(record)) is not None
            ]
            if found:
                least = min(found, key=lambda pair: pair[0])
                rows.append(
                    (
                        group,
                        str(threads),
                        str(len(found)),
                        f"{geometric_mean([each for each, _ in found]):.2f}",
                        f"{goal.mean:.2f}",
                        f"{least[0]:.2f}",
                        f"{goal.least:.2f}",
                        least[1].title,
                    )
                )
    return [*aligned(rows, left=(0, 7)), *_single_goals(records)]


def _single_goals(records: Sequence[Record]) -> Iterator[str]:
    yield _behind(f"ahead of {INDUCTOR}", records, lambda record: ratio_to(record, INDUCTOR))
    yield _behind(f"no more memory than {INDUCTOR}", records, lambda record: _memory_ratio(record, INDUCTOR))
    for goal in SHARES:
        shares = [
            f"{_place(record)} {each:.0%}"
            for record in _rows_of(goal, records)
            if (each := share(record)) is not None
        ]
        yield f"share of {goal.title} (goal {goal.least:.0%})" + _listed("", shares)
    for record in records:
        ours, theirs = record.peers.get(NAME), record.peers.get(INDUCTOR)
        if record.name == COMPILE_ROW and ours and theirs and ours.warm is not None:
            cold, warm = (_quotient(ours, theirs, each) for each in (lambda f: f.build, lambda f: f.warm))
            what = f"compile time of {record.title} / {INDUCTOR}'s"
            yield f"{what}: {cold} (goal 0.50), from the cache {warm} (goal 0.20)"


def _behind(what: str, records: Sequence[Record], ratio_of: Callable[[Record], float | None]) -> str:
    """How many rows have a ratio of 1 or more, and which have less."""
    ratios = [(record, each) for record in records if (each := ratio_of(record)) is not None]
    behind = [f"{_place(record)} ({each:.2f})" for record, each in ratios if each < 1]
    return f"{what}: {len(ratios) - len(behind)} of {len(ratios)} rows" + _listed("; behind", behind)


def _memory_ratio(record: Record, peer: str) -> float | None:
    """The peak memory of ``peer`` over mlopt's."""
    theirs, ours = (record.peers[name].memory if name in record.peers else None for name in (peer, NAME))
    return theirs / ours if theirs and ours else None


def _rows_of(goal: Share, records: Sequence[Record]) -> list[Record]:
    """Its rows, large ones without page faults: these are not what the limit is about."""
    kept = {(record.name, record.threads) for record in records if not record.faults}
    return [
        record
        for record in records
        if (record.name in goal.names if goal.names else record.streams)
        and not (record.faults and (record.name, record.threads) in kept)
    ]


def _quotient(ours: Figures, theirs: Figures, of: Callable[[Figures], float | None]) -> str:
    one, other = of(ours), of(theirs)
    return f"{one / other:.2f}" if one is not None and other else _NONE


def _listed(before: str, items: Iterable[str]) -> str:
    joined = ", ".join(items)
    return f"{before}: {joined}" if joined else ""


def _place(record: Record) -> str:
    return f"{record.name}/{record.threads}" + ("" if record.faults else " memory kept")


def _peers(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record.peers))


def _seconds(record: Record, peer: str) -> float | None:
    return record.peers[peer].seconds if peer in record.peers else None


def _kernels(record: Record, peer: str) -> int | None:
    return record.peers[peer].kernels if peer in record.peers else None


def _number(value: float | None, scale: float, digits: int) -> str:
    return _NONE if value is None else f"{value * scale:.{digits}f}"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{value:.0%}"


def _compiled(figures: Figures) -> str:
    """Export, where there is one, is part of what the user waits for."""
    if figures.build is None:
        return _NONE
    cold = f"{figures.build + (figures.export or 0):.1f}"
    return cold if figures.warm is None else f"{cold} / {figures.warm:.1f}"


def _count(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
