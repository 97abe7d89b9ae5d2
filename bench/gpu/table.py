"""The gates as a table in Markdown, and what is not as `known` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .gates import Found, problems
from .known import MISSES
from .modules import SIZED
from .timed import TIMED

_HEAD = (
    "operation", "kernel", "blocks", "registers", "occupancy", "instructions",
    "wide", "late", "nc", "moved", "requested", "conflicts", "sectors", "misses",
)  # fmt: skip


def table(found: Mapping[str, Sequence[Found]], chip: str, unmeasured: Mapping[str, str]) -> str:
    """A row a kernel, and below the reason of each gate that is missed; ``unmeasured``: why rows are not."""
    held = sum(not kernel.misses for kernels in found.values() for kernel in kernels)
    total = sum(map(len, found.values()))
    reasons = [
        f"- {name}, {gate}: {MISSES.get(name, {}).get(gate, 'not known')}"
        for name, kernels in found.items()
        for gate in sorted(problems(kernels))
    ]
    timed = {name: kernels for name, kernels in found.items() if name in TIMED}
    sized = {name: kernels for name, kernels in found.items() if name in SIZED}
    others = {name: kernels for name, kernels in found.items() if name not in TIMED and name not in SIZED}
    head = [
        f"# Memory-bound kernels for {chip}, without a GPU",
        f"Made by `python -m mlopt.bench.gpu --save --chip {chip}`; what the columns mean stands in "
        "`bench/gpu/gates.py`.",
        "Wide: accesses that are as wide as they can be, of all. Late: wide loads whose latency adds to "
        "another one's. Moved: what memory moves over what it must. Requested: the sectors of all requests "
        "over the same. Sectors: of the worst access over what its bytes fill. Blocks: those "
        "that the emulator ran, of the grid's.",
    ]
    if others:
        head += ["## Operations, at small sizes", _lines(others)]
    if sized:
        head += ["## The corpus's modules, at sizes of `bench/gpu/modules.py`", _lines(sized)]
    if timed:
        head += ["## The benchmark's rows (`bench/gpu/timed.py`), at their own sizes", _lines(timed)]
    parts = [*head, f"{held} of {total} kernels hold all gates."]
    parts += ["\n".join(reasons)] if reasons else []
    parts += [f"{name} is not measured: {why}." for name, why in unmeasured.items()]
    return "\n\n".join(parts)


def stale(name: str, kernels: Sequence[Found], text: str) -> list[str]:
    """The kernels of an operation of which the table ``text`` has another row."""
    told = [row for row in map(_cells, text.splitlines()) if row[:1] == (name,)]
    seen = list(map(_row, kernels))
    return [f"the table has {told}, measured are {seen}; run it with --save"] if told != seen else []


def surprises(name: str, kernels: Sequence[Found]) -> list[str]:
    """Gates that an operation misses without a known reason, or holds in spite of one."""
    missed, known = problems(kernels), set(MISSES.get(name, {}))
    lines = [f"{name}: misses '{gate}'" for gate in sorted(missed - known)]
    return lines + [f"{name}: holds '{gate}' now; take it out of known.py" for gate in sorted(known - missed)]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(line.strip("| ").split(" | "))


def _lines(found: Mapping[str, Sequence[Found]]) -> str:
    rows = [_HEAD, tuple("---" for _ in _HEAD)]
    rows += [_row(kernel) for kernels in found.values() for kernel in kernels]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _row(found: Found) -> tuple[str, ...]:
    return (
        found.operation,
        found.kernel,
        f"{found.blocks[0]}/{found.blocks[1]}",
        f"{found.registers}" + (f" + {found.spills} B spilled" if found.spills else ""),
        f"{found.occupancy:.0%}",
        str(found.instructions),
        f"{found.wide[0]}/{found.wide[1]}",
        str(found.late),
        f"{found.nc[0]}/{found.nc[1]}",
        f"{found.moved / (found.least or 1):.3f}",
        f"{found.requested / (found.least or 1):.3f}",
        str(found.conflicts),
        f"{found.sectors:.2f}",
        ", ".join(found.misses) or "-",
    )
