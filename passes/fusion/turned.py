"""Products whose tiles are stored the other way round: (x @ w).t().contiguous() as one kernel.

The registers of a product's tile are turned on the way to memory. Where the rows that are stored lie a
multiple of 4096 bytes apart, a CPU's stores meet on few lines of its first-level cache: each brings its whole
line in again. Many products of an element hide that. (One Zen 4 core, time against two kernels:
1024 rows of float32 with 64 products 1.40, with 128 1.12, with 256 1.03; 512 rows with 64 products 0.87.)
"""

from __future__ import annotations

from math import prod

from mlir import ir

from ..domain import Domain
from ..structured import elements_of
from ..tiling import contraction
from ..tiling.registry import rule_of
from .graph import Graph
from .group import Group
from .kinds import Kind

PAGE = 4096  # bytes after which addresses fall on the same lines of a first-level cache
LINE = 64  # bytes


def no_turned_store(graph: Graph, producer: Group) -> str | None:
    """Why what ``producer`` accumulates is not stored turned; None if its tiles can be."""
    anchors = [graph.nest_of(op) for op in producer.ops if graph.kind_of(op) is Kind.ANCHOR]
    if any(rule_of(anchor) is not contraction for anchor in anchors):
        return "the rows of a window would be stored one element at a time"
    return None


def crowded_lines(domain: Domain) -> tuple[int, str]:
    """The bytes of lines that a CPU brings in for turned stores that meet in its cache, and a word of it."""
    lines, told = 0, ""
    for nest in domain.nests:
        if rule_of(nest) is not contraction:
            continue
        lane = domain.value_dims(nest.writes[0].value)[-1]
        for value in domain.results:
            apart = _bytes_apart(domain, value, lane)
            if apart and apart % PAGE == 0:
                lines += LINE * elements_of(value)
                told = f"rows {apart} bytes apart would be stored to few lines of a cache"
    return lines, told


def _bytes_apart(domain: Domain, value: ir.Value, lane: object) -> int:
    """The bytes between elements of ``value`` along a dim that is not its last; 0 if it is, or unknown."""
    dims = domain.value_dims(value)
    if lane not in dims[:-1]:
        return 0
    inner = [None if dim is None else dim.extent for dim in dims[dims.index(lane) + 1 :]]
    known = [extent for extent in inner if extent is not None]
    return prod(known) * value.type.element_type.width // 8 if len(known) == len(inner) else 0
