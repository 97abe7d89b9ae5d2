"""Affine expressions, evaluated over anything: numbers, IR values, ranges, text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mlir import ir

T = TypeVar("T")

_KINDS: tuple[tuple[type[ir.AffineExpr], str], ...] = (
    (ir.AffineAddExpr, "+"),
    (ir.AffineMulExpr, "*"),
    (ir.AffineModExpr, "mod"),
    (ir.AffineFloorDivExpr, "floordiv"),
    (ir.AffineCeilDivExpr, "ceildiv"),
)


def fold_affine(
    expr: ir.AffineExpr,
    operands: Sequence[T],
    dims: int,
    constant: Callable[[int], T],
    combine: Callable[[str, T, T], T],
) -> T:
    """What ``expr`` is over ``operands``, of which the first ``dims`` stand for dims, the others for symbols.

    ``combine`` gets "+", "*", "mod", "floordiv" or "ceildiv", and both sides.
    """
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return constant(int(expr.value))
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[dims + expr.position]
    left, right = (fold_affine(side, operands, dims, constant, combine) for side in (expr.lhs, expr.rhs))
    return combine(next(kind for class_, kind in _KINDS if isinstance(expr, class_)), left, right)
