"""The factors of a contraction: by which of its loops they run, and where they are read."""

from __future__ import annotations

from mlir import ir

from ...operations import defining_op
from ...structured import has_one_use
from .fragment import sizes_of


def loops_of(op: ir.OpView) -> list[list[int]]:
    """For lhs, rhs and accumulator the contraction's loop of each dim."""
    maps = [ir.AffineMapAttr(attribute).value for attribute in op.attributes["indexing_maps"]]
    return [[ir.AffineDimExpr(result).position for result in indexing.results] for indexing in maps]


def reduced_sizes(op: ir.OpView) -> dict[int, int]:
    """The contraction's loops that are summed, each with its size."""
    loops = loops_of(op)
    return {
        loop: size
        for operand in (0, 1)
        for loop, size in zip(loops[operand], sizes_of(op.operands[operand]), strict=True)
        if loop not in loops[2]
    }


def read_of(factor: ir.Value) -> ir.OpView | None:
    """The read that is a factor, perhaps with unit dims added or dropped, and nothing else."""
    while has_one_use(factor):
        read = defining_op(factor, "vector.transfer_read")
        if read is not None:
            return read.opview
        cast = defining_op(factor, "vector.shape_cast")
        if cast is None:
            return None
        factor = cast.operands[0]
    return None
