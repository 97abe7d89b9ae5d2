"""Tiles that stand along two dims of another one are read once for each: what is compared with itself.

A row whose elements are compared with each other is one tile, along the rows of the comparisons and along
their columns. As one value it would make both the same dim (`dims`), though one is summed and the other not.
"""

from __future__ import annotations

from mlir import ir

from ...operations import nested_ops, ops_named
from .dims import Dim, DimClasses
from .fragment import is_vector


def separate_reads(block: ir.Block, classes: DimClasses) -> bool:
    """Give each use of such a tile a vector.transfer_read of its own; whether there are any such tiles."""
    joined = _joined_dims(block, classes)
    for read in ops_named(block, "vector.transfer_read") if joined else ():
        tile = read.results[0]
        if not joined.isdisjoint(classes.all_of(tile)):
            for use in list(tile.uses)[1:]:
                owner, number = use.owner.operation, use.operand_number
                with ir.InsertionPoint(read), read.location:
                    owner.operands[number] = read.clone().results[0]
    return bool(joined)


def _joined_dims(block: ir.Block, classes: DimClasses) -> set[Dim | None]:
    """The classes that several dims of one tile have."""
    found: set[Dim | None] = set()
    for op in nested_ops(block):
        for value in op.results:
            if is_vector(value):
                wide = [each for each in classes.all_of(value) if each is not None]
                found |= {each for each in wide if wide.count(each) > 1}
    return found
