"""Masks of causal attention: computed from the loops' indices instead of read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, linalg

from ..constants import scalar_constant
from ..operations import defining_op
from ..structured import DYNAMIC, body_of, inputs_of, label_of, make_generic, maps_of
from .guards import is_arithmetic

_GREATER_OR_EQUAL = 5  # arith.cmpi sge
_CASTS = ("arith.index_cast", "arith.trunci", "arith.extsi")


@dataclass(frozen=True)
class Masked:
    """``op`` with the mask in its body, its operand ``carried``, and the row's loop once loops are split."""

    op: ir.Operation
    carried: int
    row: int


def index_mask(op: ir.Operation, carried: int, loops: Sequence[Sequence[int]]) -> Masked | None:
    """``where(row >= key, scores, -inf)`` without the mask's tensor; None if ``op`` is something else."""
    if not is_arithmetic(op) or len(inputs_of(op)) != 2:
        return None
    body = [inner.operation for inner in body_of(op).operations]
    arguments = list(body_of(op).arguments)
    if len(body) != 2 or body[0].name != "arith.select":
        return None
    condition, kept, other = body[0].operands
    nothing = scalar_constant(other)
    if [condition, kept] != arguments[:2] or carried != 1 or not isinstance(nothing, ir.FloatAttr):
        return None
    row = _row_of(op)
    if nothing.value != -math.inf or row is None or len(loops[row]) != 1:
        return None
    return Masked(_with_indices(op, row, other), 0, loops[row][0])


def _row_of(op: ir.Operation) -> int | None:
    """The loop r of a mask read at (r, last loop) that is true where r >= last."""
    compare = defining_op(op.operands[0], "linalg.generic")
    where = maps_of(op)[0]
    last = where.n_dims - 1
    positions = [expr.position if isinstance(expr, ir.AffineDimExpr) else -1 for expr in where.results]
    if compare is None or len(positions) != 2 or positions[1] != last or positions[0] < 0:
        return None
    body = [inner.operation for inner in body_of(compare).operations]
    plain = is_arithmetic(compare) and len(body) == 2 and body[0].name == "arith.cmpi"
    if not plain or list(body[0].operands) != list(body_of(compare).arguments)[:2]:
        return None
    if body[0].attributes["predicate"].value != _GREATER_OR_EQUAL or len(inputs_of(compare)) != 2:
        return None
    loops = [[expr.position for expr in each.results] for each in maps_of(compare)]
    counts = all(_is_count(value) for value in inputs_of(compare))
    return positions[0] if loops == [[0], [1], [0, 1]] and counts else None


def _is_count(value: ir.Value) -> bool:
    """Whether a tensor is 0, 1, 2, …: as `torch.arange(n)` comes in; of 200 elements none in i8 is."""
    op = defining_op(value, "linalg.generic")
    if op is None or len(op.results) != 1 or inputs_of(op) or value.type.rank != 1:
        return False
    first, *casts = [inner.operation for inner in body_of(op).operations][:-1]
    widths = [cast.results[0].type.width for cast in casts if cast.name in _CASTS]
    if first.name != "linalg.index" or len(widths) < len(casts):
        return False
    size, bits = value.type.shape[0], min(widths, default=64)
    return bool(bits >= 32 if size == DYNAMIC else size <= 1 << (bits - 1))


def _with_indices(op: ir.Operation, row: int, other: ir.Value) -> ir.Operation:
    """The same with ``row >= last loop`` in the body."""
    maps = maps_of(op)
    made = make_generic(
        [op.operands[1]],
        [op.operands[2]],
        maps[1:],
        ["parallel"] * maps[0].n_dims,
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint.current,
    )
    block = body_of(made)
    with ir.InsertionPoint(block), op.location:
        first, last = (linalg.IndexOp(loop).result for loop in (row, maps[0].n_dims - 1))
        inside = arith.CmpIOp(arith.CmpIPredicate.sge, first, last).result
        linalg.YieldOp([arith.SelectOp(inside, block.arguments[0], other).result])
    return made
