"""The gates as a table in Markdown, and what is not as `known` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .gates import Found, problems
from .known import MISSES

_HEAD = (
    "operation", "kernel", "registers", "occupancy", "instructions",
    "wide", "late", "nc", "moved", "requested", "conflicts", "sectors", "misses",
)  # fmt: skip


def table(found: Mapping[str, Sequence[Found]], chip: str) -> str:
    """A row a kernel, and below the reason of each gate that is missed."""
    rows = [_HEAD, tuple("---" for _ in _HEAD)]
    rows += [_row(kernel) for kernels in found.values() for kernel in kernels]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    held = sum(not kernel.misses for kernels in found.values() for kernel in kernels)
    total = sum(map(len, found.values()))
    reasons = [
        f"- {name}, {gate}: {MISSES.get(name, {}).get(gate, 'not known')}"
        for name, kernels in found.items()
        for gate in sorted(problems(kernels))
    ]
    head = [
        f"# Memory-bound kernels for {chip}, without a GPU",
        "Made by `python -m mlopt.bench.gpu --save`; what the columns mean stands in `bench/gpu/gates.py`.",
        "Wide: accesses that are as wide as they can be, of all. Late: wide loads whose latency adds to "
        "another one's. Moved: what memory moves over what it must. Requested: the sectors of all requests "
        "over the same. Sectors: of the worst access over what its bytes fill.",
    ]
    parts = [*head, "\n".join(lines), f"{held} of {total} kernels hold all gates."]
    return "\n\n".join([*parts, "\n".join(reasons)] if reasons else parts)


def stale(name: str, kernels: Sequence[Found], text: str) -> list[str]:
    """The kernels of an operation whose names, registers or misses the table ``text`` has otherwise."""
    kept = [row for row in map(_cells, text.splitlines()) if row[:1] == (name,)]
    told, seen = ([_judged(row) for row in rows] for rows in (kept, map(_row, kernels)))
    return [f"the table has {told}, measured are {seen}; run it with --save"] if told != seen else []


def surprises(name: str, kernels: Sequence[Found]) -> list[str]:
    """Gates that an operation misses without a known reason, or holds in spite of one."""
    missed, known = problems(kernels), set(MISSES.get(name, {}))
    lines = [f"{name}: misses '{gate}'" for gate in sorted(missed - known)]
    return lines + [f"{name}: holds '{gate}' now; take it out of known.py" for gate in sorted(known - missed)]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(line.strip("| ").split(" | "))


def _judged(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(row[_HEAD.index(column)] for column in ("kernel", "registers", "misses"))


def _row(found: Found) -> tuple[str, ...]:
    return (
        found.operation,
        found.kernel,
        f"{found.registers}" + (f" + {found.spills} B spilled" if found.spills else ""),
        f"{found.occupancy:.0%}",
        str(found.instructions),
        f"{found.wide[0]}/{found.wide[1]}",
        str(found.late),
        f"{found.nc[0]}/{found.nc[1]}",
        f"{found.moved / found.least:.3f}",
        f"{found.requested / found.least:.3f}",
        str(found.conflicts),
        f"{found.sectors:.2f}",
        ", ".join(found.misses) or "-",
    )
