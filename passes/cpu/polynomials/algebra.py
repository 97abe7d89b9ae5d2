"""rsqrt, and the maximum and minimum that propagate NaN."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import math

from .lanes import Lanes, splat
from .registry import expands


@expands("math.rsqrt", 32, 64)
def rsqrt(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`1 / sqrt(x)`, both correctly rounded; the processor's estimate is not."""
    return b.div(b.const(1.0), math.sqrt(operands[0]))


@expands("arith.maximumf", 32, 64)
def maximum(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """One maxps where an operand is a constant, else three instructions; zeros of both signs are equal."""
    first, second = _constant_first(operands)
    return _nan_of(b, first, b.select(b.less(second, first), first, second))


@expands("arith.minimumf", 32, 64)
def minimum(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """One minps where an operand is a constant, else three instructions; zeros of both signs are equal."""
    first, second = _constant_first(operands)
    return _nan_of(b, first, b.select(b.less(first, second), first, second))


def _nan_of(b: Lanes, first: ir.Value, chosen: ir.Value) -> ir.Value:
    """``chosen`` is the second operand where one is NaN; mend it where that is the first."""
    value = splat(first)
    if value is not None and value == value:
        return chosen
    return b.select(b.is_nan(first), first, chosen)


def _constant_first(operands: list[ir.Value]) -> list[ir.Value]:
    first, second = operands
    return [first, second] if splat(second) is None else [second, first]
