"""Products whose tiles are stored the other way round: (x @ w).t().contiguous() as one kernel."""

from __future__ import annotations

from math import prod

from ..tiling import contraction
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import rule_of
from .graph import Graph
from .group import Group
from .kinds import Kind

PAGE = 4096  # bytes after which addresses fall on the same lines of a first-level cache
# Products of an element that hide stores to such lines. One Zen 4 core, time against two kernels: 1024 rows
# of float32 with 64 products 1.40, with 128 1.12, with 256 1.03; 512 rows with 64 products 0.87.
HIDING = 256


def no_turned_store(graph: Graph, producer: Group, read: Access, nest: Nest) -> str | None:
    """Why what ``producer`` accumulates should not be stored as ``nest`` reads it: turned; None if it should.

    The registers of a product's tile are turned on the way to memory; a window's are single rows.
    """
    anchors = [graph.nest_of(op) for op in producer.ops if graph.kind_of(op) is Kind.ANCHOR]
    if any(rule_of(anchor) is not contraction for anchor in anchors):
        return "the rows of a window would be stored one element at a time"
    products = [prod(anchor.extents[loop] or HIDING for loop in anchor.reductions) for anchor in anchors]
    if min(products) < HIDING and _stride(read, nest) % PAGE == 0:
        return f"rows {_stride(read, nest)} bytes apart would be stored to few lines of a cache"
    return None


def _stride(read: Access, nest: Nest) -> int:
    """The bytes between two elements of a row that ``nest`` reads, where it writes them; 1 if unknown."""
    written = nest.writes[0]
    places = [index.loops for index in written.indices]
    sizes = shape_of(written.value)[places.index(read.indices[-1].loops) + 1 :]
    known = [size for size in sizes if size is not None]
    return prod(known) * written.value.type.element_type.width // 8 if len(known) == len(sizes) else 1
