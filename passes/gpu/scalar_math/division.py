"""Divisions of several numbers by one: its reciprocal, in two parts, is found once."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp

from mlir import ir
from mlir.dialects import arith

from ...cpu.polynomials.lanes import splat
from .approximate import intrinsic, rcp_ftz
from .scalars import Scalars

# Beyond these, divisor and dividends are scaled: so its reciprocal, and 2^-22 of that, are normal numbers.
_SMALL, _LARGE = 2.0**-100, 2.0**100
_UP, _DOWN = 2.0**64, 2.0**-64
# What makes an approximate reciprocal smaller than the true one, whichever way it was off.
_BELOW = 1 - 2.0**-22
_LEAST = 2.0**-26  # less than what such a reciprocal is off by

FEWEST = 2  # divisions for which it pays


def has_exact_reciprocal(divisor: ir.Value) -> bool:
    """Whether a divisor is a number that LLVM multiplies by the reciprocal of: a power of two."""
    number = splat(divisor)
    return number is not None and _SMALL <= abs(number) <= _LARGE and abs(frexp(number)[0]) == 0.5


def divide_all(b: Scalars, divisor: ir.Value, divisions: Sequence[ir.Operation], scaled: bool) -> None:
    """Replace the ``divisions``, arith.divf of f32 by ``divisor``: any number if ``scaled``, else 1 to 2^100.

    With `r` a little below `1 / d` and `s = r (1 - d r)`, `x / d` is `fma(x, r, x s)`: rounded right but
    for numbers within 2^-17 ulp of the middle between two neighbours; results below 2^-102 are off by up to
    one ulp. `s` has the sign of `r`, so an infinite x stays infinite, also where d is 0 or infinite and
    `1 - d r` is not a number: the larger of that and of less than it is otherwise takes its place.
    """
    place = (
        ir.InsertionPoint.at_block_begin(divisor.owner)
        if isinstance(divisor.owner, ir.Block)
        else ir.InsertionPoint.after(divisor.owner)
    )
    with place, divisions[0].location:
        scale = _scale_of(b, divisor) if scaled else None
        normal = divisor if scale is None else b.mul(divisor, scale)
        first = b.mul(rcp_ftz(normal), b.const(_BELOW))
        rest = b.fma(arith.negf(normal), first, b.const(1.0))
        second = b.mul(first, intrinsic("llvm.maxnum.f32", rest, b.const(_LEAST)) if scaled else rest)
    for division in divisions:
        with ir.InsertionPoint(division), division.location:
            dividend = division.operands[0] if scale is None else b.mul(division.operands[0], scale)
            quotient = b.fma(dividend, first, b.mul(dividend, second))
        division.results[0].replace_all_uses_with(quotient)
        division.erase()


def _scale_of(b: Scalars, divisor: ir.Value) -> ir.Value:
    """The power of two that makes a number neither very large nor very small."""
    magnitude = b.abs(divisor)
    large = arith.cmpf(arith.CmpFPredicate.OGT, magnitude, b.const(_LARGE))
    scale = b.select(large, b.const(_DOWN), b.const(1.0))
    return b.select(b.less(magnitude, b.const(_SMALL)), b.const(_UP), scale)
