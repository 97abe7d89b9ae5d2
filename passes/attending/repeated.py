"""Heads that several queries share, repeated by a broadcast before the products: read as they are.

::

    %r = generic {broadcast} (h, n, s, d) ins(%k at (h, s, d))            2 x 4 x 64 x 32
    %c = tensor.collapse_shape %r [[0, 1], [2], [3]]                      8 x 64 x 32
    %s = generic {bmm} (b, m, s | d) ins(%q at (b, m, d), %c at (b, s, d))

The rows of the product are then 2 x 4 x m, and the broadcast is part of what reads it.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from mlir import ir

from ..moving.reads import is_move
from ..operations import defining_op
from ..raising.reshape import joined_dims
from ..structured import DYNAMIC, maps_of
from .rows import Rows, Shape, Size


def unrepeated(rows: Rows, shape: Shape, op: ir.Operation, number: int) -> Shape | None:
    """The rows of a product, of ``shape``, split as the dims of the broadcast that factor ``number`` joins.

    None if the factor repeats nothing, or of sizes of which more than one is not known.
    """
    value, where = _before_transpose(op.operands[number], maps_of(op)[number])
    collapse = defining_op(value, "tensor.collapse_shape")
    broadcast = None if collapse is None else defining_op(collapse.operands[0], "linalg.generic")
    if collapse is None or broadcast is None or not is_move(broadcast):
        return None
    kept = {expr.position for expr in maps_of(broadcast)[0].results if isinstance(expr, ir.AffineDimExpr)}
    groups = joined_dims(collapse)
    found: Shape = []
    for size, loop in zip(shape, list(maps_of(op)[-1].results)[: len(shape)], strict=True):
        dims = [dim for dim, expr in enumerate(where.results) if expr == loop]
        group = groups[dims[0]] if len(dims) == 1 else []
        sizes = [broadcast.results[0].type.shape[dim] for dim in group]
        if kept.issuperset(group) or sizes.count(DYNAMIC) > 1:
            found.append(size)
            continue
        rest = size.over(Size(Fraction(prod(each for each in sizes if each != DYNAMIC))))
        if rest is None:
            return None
        for dim, each in zip(group, sizes, strict=True):
            part = rest if each == DYNAMIC else Size(Fraction(each))
            if part.symbols:
                rows.known.setdefault(part, (broadcast.results[0], dim))
            found.append(part)
    return found if len(found) > len(shape) else None


def _before_transpose(value: ir.Value, where: ir.AffineMap) -> tuple[ir.Value, ir.AffineMap]:
    """What a transpose that is read at ``where`` was made from, and where that is read."""
    move = defining_op(value, "linalg.generic")
    if move is None or not is_move(move) or not maps_of(move)[0].is_permutation:
        return value, where
    exprs = [where.results[expr.position] for expr in maps_of(move)[0].results]
    return move.operands[0], ir.AffineMap.get(where.n_dims, 0, exprs)
