"""The remainder of a division, exact as C's fmod."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, math

from .lanes import Lanes, in_registers
from .rare import unless_rare
from .registry import expands

_LARGEST = 2.0**50  # quotients that f64 has to less than one


@expands("arith.remf")
def remainder(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`|x| - trunc(|x| / |y|) |y|` in f64, off by |y| at most and else exact; with the sign of x."""
    x, y = (b.abs(operand) for operand in operands)
    size = in_registers(b, [x, y], _of_sizes)
    huge = arith.cmpf(arith.CmpFPredicate.OGE, x, b.mul(y, b.const(_LARGEST)))
    return unless_rare(b, huge, arith.remf, operands, b.with_sign_of(size, operands[0]))


def _of_sizes(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    d, (x, y) = b.double, operands
    wide_x, wide_y, zero = b.widen(x), b.widen(y), d.const(0.0)
    quotient = math.trunc(d.div(wide_x, wide_y))
    rest = d.fma(arith.negf(quotient), wide_y, wide_x)
    rest = d.select(d.less(rest, zero), d.add(rest, wide_y), rest)
    rest = d.select(d.less(rest, wide_y), rest, d.sub(rest, wide_y))
    return b.select(b.less(x, y), x, b.narrow(rest))
