"""Pads that are never made: a kernel that reads a padded tensor reads what was padded, or the padding.

::

    %p = tensor.insert_slice %x into (linalg.fill %c)[0, 1, 1] [8, 14, 14]
    %r = linalg.generic (co, i, j | ci, ki, kj) ins(%p at (ci, i + ki, j + kj), …)
  reads
    %x at (ci, i + ki - 1, j + kj - 1), and %c where that lies outside of %x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlir import ir

from ..constants import scalar_constant
from ..operations import defining_op
from ..structured import DYNAMIC
from .access import Access, Index, Nest


def fill_of_pad(op: ir.Operation) -> ir.Operation | None:
    """The fill with a constant that ``op`` inserts a tensor into, at a known place; None if it is no pad."""
    if op.name != "tensor.insert_slice" or op.operands[0].type.rank != op.operands[1].type.rank:
        return None
    view = op.opview
    if DYNAMIC in view.static_offsets or any(step != 1 for step in view.static_strides):
        return None
    fill = defining_op(op.operands[1], "linalg.fill")
    return fill if fill is not None and scalar_constant(fill.operands[0]) is not None else None


def read_through_pads(nests: Sequence[Nest], results: Sequence[ir.Value]) -> list[Nest]:
    """The nests without the pads (and their fills) that only generics among them read."""
    pads: dict[ir.Value, Nest] = {}
    for nest in nests:
        value = nest.writes[0].value
        if fill_of_pad(nest.op) is not None and value not in results and _only_generics_read(value, nests):
            pads[value] = nest
    if not pads:
        return list(nests)
    filled = {pad.onto for pad in pads.values()}
    return [
        replace(nest, reads=tuple(_through(read, pads) for read in nest.reads))
        for nest in nests
        if not any(write.value in pads or write.value in filled for write in nest.writes)
    ]


def _only_generics_read(value: ir.Value, nests: Sequence[Nest]) -> bool:
    readers = [nest for nest in nests if any(read and read.value == value for read in nest.reads)]
    onto = any(nest.onto is not None and nest.onto == value for nest in nests)
    return bool(readers) and not onto and all(nest.op.name == "linalg.generic" for nest in readers)


def _through(read: Access | None, pads: dict[ir.Value, Nest]) -> Access | None:
    """A read of a pad as a read of what was padded."""
    if read is None or read.value not in pads:
        return read
    pad = pads[read.value]
    fill = defining_op(pad.op.operands[1], "linalg.fill")
    assert fill is not None
    indices = tuple(
        _shifted(index, place) for index, place in zip(read.indices, pad.writes[0].indices, strict=True)
    )
    return Access(pad.op.operands[0], indices, fill.operands[0])


def _shifted(index: Index, place: Index) -> Index:
    """``index`` into a padded dim as one into what was put at ``place``."""
    if not place.partial:
        return index
    assert isinstance(place.start, int) and isinstance(index.start, int)
    return replace(index, start=index.start - place.start, partial=True, padded=True)
