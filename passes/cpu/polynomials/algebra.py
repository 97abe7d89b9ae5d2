"""rsqrt, and the maximum and minimum that propagate NaN."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import llvm, math

from .lanes import Lanes, splat
from .registry import expands

_ANY_ZERO = llvm.FastmathFlags.nsz


@expands("math.rsqrt", 32, 64)
def rsqrt(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`1 / sqrt(x)`, both correctly rounded; the processor's estimate is not."""
    return b.div(b.const(1.0), math.sqrt(operands[0]))


@expands("arith.maximumf", 32, 64)
def maximum(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """One maxps where an operand is a constant, else three instructions; zeros of both signs are equal."""
    first, second = _constant_first(operands)
    if not _is_number(first):
        return llvm.intr_maximum(first, second, fastmath_flags=_ANY_ZERO)
    return b.select(b.less(second, first), first, second)


@expands("arith.minimumf", 32, 64)
def minimum(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """One minps where an operand is a constant, else three instructions; zeros of both signs are equal."""
    first, second = _constant_first(operands)
    if not _is_number(first):
        return llvm.intr_minimum(first, second, fastmath_flags=_ANY_ZERO)
    return b.select(b.less(first, second), first, second)


def _is_number(value: ir.Value) -> bool:
    """Whether ``value`` is a constant and not NaN: the other operand is chosen where that is NaN."""
    constant = splat(value)
    return constant is not None and constant == constant


def _constant_first(operands: list[ir.Value]) -> list[ir.Value]:
    first, second = operands
    return [first, second] if splat(second) is None else [second, first]
