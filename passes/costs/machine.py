"""Machines as the cost model sees them: data files with the source of each number, or measured numbers.

``machines/NAME.toml`` describes a machine; ``like = "OTHER"`` takes over the tables that it does not have.
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mlir import ir

from ..base import PassError
from .cost import FUNCTIONS

DEFAULT_CPU = "cpu"
DEFAULT_GPU = "a100"
_FOLDER = Path(__file__).parent / "machines"


@dataclass(frozen=True)
class Machine:
    """What a machine does in a second, all its processors together.

    ``bandwidth``: bytes from and to memory. ``matrix``: FLOPs of contractions by what tensor cores
    multiply, of those instructions that are made (none of f64). ``vector``: FLOPs by dtype, a multiply-add
    counted as two, so that other instructions run at half of it. ``special``: calls of each of
    `cost.FUNCTIONS` in f32. ``launch``: seconds from one kernel to the next. ``processors`` do all this
    together; ``tasks``: how many independent tasks a kernel should have. ``cache``: bytes of the cache that
    all processors share, of which they read ``cache_bandwidth`` and which answers after ``cache_latency``
    seconds, and ``shared_bandwidth`` of the memory that a block's threads share; 0 for CPUs, where nobody
    asks. ``own_cache``: bytes of the cache of one processor of a CPU. ``warp_share``: what products of single
    warps (mma.sync) reach of ``matrix``.
    ``small``: seconds of one processor's work that it does alone, however many tasks there are.
    ``sources``: where each of these comes from.
    """

    name: str
    title: str
    bandwidth: float
    vector: Mapping[str, float]
    special: Mapping[str, float]
    launch: float
    processors: int
    tasks: int
    sources: Mapping[str, str]
    matrix: Mapping[str, float]
    chips: Sequence[str] = ()
    cache: float = 0.0
    cache_bandwidth: float = 0.0
    cache_latency: float = 0.0
    shared_bandwidth: float = 0.0
    warp_share: float = 1.0
    small: float = 0.0
    own_cache: float = 0.0

    def kept(self, tasks: int) -> float:
        """The bytes that each of so many tasks finds in a cache when it reads them again."""
        return self.own_cache or self.cache / min(self.processors, max(tasks, 1))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, that `Machine` takes as keyword arguments."""
        return asdict(self)


def machine_names() -> tuple[str, ...]:
    """The machines that there are descriptions of."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@functools.cache
def find_machine(name: str) -> Machine:
    """The machine that ``machines/NAME.toml`` describes; LookupError, with near names, if there is none."""
    if name not in machine_names():
        near = difflib.get_close_matches(name, machine_names(), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise LookupError(f"{hint}There are {', '.join(machine_names())}")
    tables = _tables(name)
    vector = _numbers(tables["vector"])
    rate = vector["f32"] / 2
    cache, shared = (_numbers(tables.get(section, {})) for section in ("cache", "shared"))
    sections = ("memory", "cache", "shared", "matrix", "warps", "vector", "special", "launch", "tasks")
    return Machine(
        name=name,
        title=tables["title"],
        bandwidth=tables["memory"]["bytes_per_second"],
        vector=vector,
        special={function: rate / tables["special"][function] for function in FUNCTIONS},
        launch=tables["launch"]["seconds"],
        processors=tables["tasks"]["processors"],
        tasks=tables["tasks"]["wanted"],
        sources={section: tables[section]["source"] for section in sections if section in tables},
        matrix=_numbers(tables.get("matrix", {})),
        chips=list(tables.get("chips", ())),
        cache=cache.get("bytes", 0.0),
        cache_bandwidth=cache.get("bytes_per_second", 0.0),
        cache_latency=cache.get("seconds", 0.0),
        shared_bandwidth=shared.get("bytes_per_second", 0.0),
        warp_share=tables.get("warps", {}).get("share", 1.0),
        small=tables["tasks"].get("small_seconds", 0.0),
        own_cache=cache.get("own_bytes", 0.0),
    )


def machine_of(op: ir.Operation, name: str) -> Machine:
    """The machine that an option of a pass names; PassError at ``op``, with near names, if there is none."""
    try:
        return find_machine(name)
    except LookupError as error:
        raise PassError(op, f"there is no description of a machine '{name}'; {error}") from None


def machine_for_chip(chip: str) -> Machine | None:
    """The first machine, by name, that runs code for ``chip`` ("sm_90a"); None if none is described."""
    found = (find_machine(name) for name in machine_names())
    return next((machine for machine in found if chip in machine.chips), None)


def machine_for_code(chip: str) -> str:
    """The description that decides about code for ``chip``, or for a CPU if that is empty.

    Decisions must not depend on the machine that compiles: a GPU without a description is taken for the
    oldest one that has one.
    """
    if not chip:
        return DEFAULT_CPU
    found = machine_for_chip(chip)
    return DEFAULT_GPU if found is None else found.name


def _tables(name: str) -> dict[str, Any]:
    with (_FOLDER / f"{name}.toml").open("rb") as file:
        own = tomllib.load(file)
    return {**_tables(own["like"]), **own} if "like" in own else own


def _numbers(table: Mapping[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in table.items() if key != "source"}
