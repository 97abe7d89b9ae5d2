"""What fusion needs to know of one op: which part it can play in a kernel."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import prod

from mlir import ir

from ..raising.bodies import is_contraction
from ..structured import ATTENTION, STRUCTURED
from ..tiling.access import Nest

LONGEST_ROW = 16384  # a full reduction of up to so many elements is one row, not a barrier


class Kind(Enum):
    """The part that an op plays in a kernel."""

    POINTWISE = "pointwise"
    GATHER = "gather"
    SLICE = "slice"
    INSERT = "insert"
    PAD = "pad"  # not made: what reads it in the same kernel reads what was padded
    FILL = "fill"
    ANCHOR = "contraction or window"  # has an accumulator tile; a kernel has at most one
    ATTENTION = "attention"
    ROW = "row reduction"  # a task can own whole rows, or columns
    BARRIER = "reduction over all tasks"
    HOST = "host"


_BY_NAME = {"linalg.fill": Kind.FILL, "tensor.insert_slice": Kind.INSERT, "tensor.extract_slice": Kind.SLICE}


def kind_of(op: ir.Operation, nest_of: Callable[[ir.Operation], Nest]) -> Kind:
    """The part that ``op`` can play."""
    if op.name not in STRUCTURED:
        return Kind.HOST
    if op.name in _BY_NAME:
        return _BY_NAME[op.name]
    if op.name == ATTENTION:
        return Kind.ATTENTION
    nest = nest_of(op)
    if not nest.reductions:
        gathers = any(
            inner.operation.name == "tensor.extract" for inner in op.regions[0].blocks[0].operations
        )
        return Kind.GATHER if gathers else Kind.POINTWISE
    if is_contraction(op) or _has_window(nest):
        return Kind.ANCHOR
    return Kind.ROW if _reduces_rows(nest) else Kind.BARRIER


def _has_window(nest: Nest) -> bool:
    return any(
        index.rest is not None or len(index.loops) > 1
        for access in nest.reads
        if access is not None
        for index in access.indices
    )


def _reduces_rows(nest: Nest) -> bool:
    """Whether a task can own what is reduced for one result: there are several results, or it is short."""
    return bool(nest.parallels) or _is_short(nest)


def _is_short(nest: Nest) -> bool:
    extents = [nest.extents[loop] for loop in nest.reductions]
    known = [extent for extent in extents if extent is not None]
    return len(known) == len(extents) and prod(known) <= LONGEST_ROW
