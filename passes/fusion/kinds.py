"""What fusion needs to know of one op: which part it can play in a kernel."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from mlir import ir

from ..raising.bodies import is_contraction
from ..structured import ATTENTION, STRUCTURED
from ..tiling.access import Nest


class Kind(Enum):
    """The part that an op plays in a kernel."""

    POINTWISE = "pointwise"
    GATHER = "gather"
    SLICE = "slice"
    INSERT = "insert"
    PAD = "pad"  # not made: what reads it in the same kernel reads what was padded
    FILL = "fill"
    ANCHOR = "contraction or window"  # has an accumulator tile; a kernel has one, or a few siblings
    ATTENTION = "attention"
    ROW = "reduction"  # a task can own whole rows or columns, of which a full reduction has one
    HOST = "host"


_BY_NAME = {"linalg.fill": Kind.FILL, "tensor.insert_slice": Kind.INSERT, "tensor.extract_slice": Kind.SLICE}


def kind_of(op: ir.Operation, nest_of: Callable[[ir.Operation], Nest]) -> Kind:
    """The part that ``op`` can play.

    A task can own a row however long it is, one that is all there is included: whether it should is a matter
    of price. What several tasks reduce are the rows of another op (mlopt-raise makes parts of a total).
    """
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
    return Kind.ROW


def _has_window(nest: Nest) -> bool:
    return any(
        index.rest is not None or len(index.loops) > 1
        for access in nest.reads
        if access is not None
        for index in access.indices
    )
