"""Whether a legal fusion pays: it saves memory traffic, unless work is repeated or tasks are lost."""

from __future__ import annotations

import math

from mlir import ir

from ..domain import Domain
from ..tiling.access import Access
from .graph import Graph, Group
from .kinds import Kind

MANY = 1 << 30  # stands for an extent that is not known
FEW_TASKS = 16
LITTLE_WORK = 1 << 15  # elements: below it one task is as good as many

_DEAR = ("math.", "arith.div", "arith.rem")


def should_fuse(graph: Graph, producer: Group, consumer: Group, joined: Group) -> str | None:
    """Why the fusion does not pay, or None if it does."""
    assert joined.domain is not None
    if joined.has(Kind.BARRIER) and not producer.has(Kind.BARRIER) and len(graph.results(joined.ops)) > 1:
        return "what is reduced over all tasks is also stored"
    if _parallel(joined.domain) < FEW_TASKS < _work(joined.domain) // LITTLE_WORK:
        return f"only {_parallel(joined.domain)} tasks would be left"
    return _repeated(graph, producer, consumer)


def _parallel(domain: Domain) -> int:
    """How many tasks there can be at most."""
    total = 1
    for dim in domain.dims:
        if dim.kind == "parallel" and not dim.whole:
            total *= MANY if dim.extent is None else dim.extent
    return total


def _work(domain: Domain) -> int:
    """How many elements the ops compute, where that is known."""
    return sum(math.prod(extent for extent in nest.extents if extent is not None) for nest in domain.nests)


def _repeated(graph: Graph, producer: Group, consumer: Group) -> str | None:
    """Dear work on a vector would be done again for each row that it is broadcast to."""
    if producer.has(Kind.ROW, Kind.BARRIER):
        return None  # the task owns the row: once a row
    if not any(_is_dear(op) for op in producer.ops):
        return None
    for op, kind in zip(consumer.ops, consumer.kinds, strict=True):
        if kind is not Kind.POINTWISE and kind is not Kind.ROW:
            continue
        nest = graph.nest_of(op)
        for value, read in zip(op.operands, nest.reads, strict=True):
            if read is not None and graph.group_of(value) is producer and _lacks_an_outer_loop(read):
                return "what is dear would be computed again for each row"
    return None


def _lacks_an_outer_loop(read: Access) -> bool:
    """Whether a value is the same for all steps of a loop around those that it is read with."""
    loops = {loop for index in read.indices for loop in index.loops}
    return bool(loops) and len(loops) <= max(loops)


def _is_dear(op: ir.Operation) -> bool:
    if op.name != "linalg.generic":
        return False
    return any(inner.operation.name.startswith(_DEAR) for inner in op.regions[0].blocks[0].operations)
