"""Gathers whose places are known become moves: generics that read with an indexing map.

::

    generic { tensor.extract %x[%i, select(%n == 1, 0, %j)] }   // %n: the size of dim 1 of both tensors
    ->  generic (i, j) -> (i, j) ins(%x)

The importer writes such for an expand of a dynamic dim, which may have size 1. Legal where each index is a
loop that runs through the whole dim, or a constant.
"""

from __future__ import annotations

from mlir import ir

from ..constants import is_zero, scalar_constant
from ..operations import defining_op
from ..structured import (
    DYNAMIC,
    body_of,
    dim_of,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    make_copy,
    replace_op,
    same_size,
    structured_ops,
)


def gathers_to_moves(func: ir.Operation) -> None:
    """Rewrite the gathers of ``func`` that only move."""
    for op in structured_ops(func):
        read = _read_of(op)
        if read is not None:
            table, where = read
            label = label_of(op) or "gather"
            label = "broadcast" if label == "gather" else label
            copy = make_copy(
                table, inits_of(op)[0], where, label, location=op.location, at=ir.InsertionPoint(op)
            )
            replace_op(op, copy.results)


def _read_of(op: ir.Operation) -> tuple[ir.Value, ir.AffineMap] | None:
    """The tensor and the map, if all that ``op`` does is read it there."""
    if len(op.results) != 1 or "reduction" in kinds_of(op) or inputs_of(op):
        return None
    yielded = body_of(op).operations[-1].operation.operands[0]
    extract = defining_op(yielded, "tensor.extract")
    if extract is None or any(inner.operation.name == "cf.assert" for inner in body_of(op).operations):
        return None
    table, *indices = extract.operands
    places = [_place(index, table, dim, op) for dim, index in enumerate(indices)]
    if any(place is None for place in places):
        return None
    rank = len(kinds_of(op))
    with op.location:
        return table, ir.AffineMap.get(rank, 0, places)


def _place(index: ir.Value, table: ir.Value, dim: int, op: ir.Operation) -> ir.AffineExpr | None:
    """Where in a dim of ``table`` the index reads, if it is one loop through all of it or a constant."""
    fixed = scalar_constant(index)
    if fixed is not None:
        return ir.AffineExpr.get_constant(fixed.value, op.context)
    choice = defining_op(index, "arith.select")
    if choice is not None and is_zero(scalar_constant(choice.operands[1])):
        if not _is_size_one(choice.operands[0], table, dim):
            return None
        index = choice.operands[2]
    loop = defining_op(index, "linalg.index")
    if loop is None:
        return None
    number = loop.attributes["dim"].value
    return ir.AffineDimExpr.get(number, op.context) if is_whole(number, table, dim, op) else None


def _is_size_one(condition: ir.Value, table: ir.Value, dim: int) -> bool:
    """Whether ``condition`` is that the dim has one element."""
    compare = defining_op(condition, "arith.cmpi")
    if compare is None or compare.attributes["predicate"].value != 0:
        return False
    one = scalar_constant(compare.operands[1])
    return one is not None and one.value == 1 and same_size(compare.operands[0], table, dim)


def is_whole(loop: int, table: ir.Value, dim: int, op: ir.Operation) -> bool:
    """Whether a loop of ``op``, which has the result's dims for loops, is as long as a dim of ``table``."""
    result = op.results[0]
    if result.type.shape[loop] != DYNAMIC:
        return bool(result.type.shape[loop] == table.type.shape[dim])
    if table.type.shape[dim] != DYNAMIC:
        return False
    with op.location, ir.InsertionPoint(op):
        return same_size(dim_of(result, loop), table, dim)
