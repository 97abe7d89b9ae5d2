"""sin, cos and tan."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import arith, math

from .lanes import Lanes, in_registers
from .rare import unless_rare
from .registry import expands

_TWO_OVER_PI = 0.6366197723675814
# pi/2 in two f64 parts.
_HALF_PI_HIGH = 1.5707963267948966
_HALF_PI_LOW = 6.123233995736766e-17
# (sin(r) - r) / r³ and (cos(r) - 1 + r²/2) / r⁴ in r², for |r| <= pi/4.
_SIN = (-0.1666666716337204, 0.008333329111337662, -0.00019839302694890648, 2.7180260531167733e-06)
_COS = (0.0416666679084301, -0.0013888883404433727, 2.4799448510748334e-05, -2.720485383633786e-07)
_LARGEST = 2.0**30


@expands("math.sin")
def sin(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """By the quadrant of x."""
    return _in_quadrants(b, operands[0], lambda part, x: _turned_sine(part, x, 0), math.sin)


@expands("math.cos")
def cos(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`sin(x + pi/2)`, by the quadrant of x."""
    return _in_quadrants(b, operands[0], lambda part, x: _turned_sine(part, x, 1), math.cos)


@expands("math.tan")
def tan(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`sin(x) / cos(x)`, in f64."""
    return _in_quadrants(b, operands[0], _tangent, math.tan)


def _in_quadrants(
    b: Lanes, x: ir.Value, rule: Callable[[Lanes, ir.Value], ir.Value], call: Callable[..., ir.Value]
) -> ir.Value:
    """``rule``, and libm's function for lanes beyond 2^30, where f64 does not reduce exactly."""
    result = in_registers(b, [x], lambda part, operands: rule(part, operands[0]))
    huge = arith.cmpf(arith.CmpFPredicate.OGE, b.abs(x), b.const(_LARGEST))
    return unless_rare(b, huge, call, [x], result)


def _reduced(b: Lanes, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """`x - n pi/2` in f64, and n in 32 bits."""
    d = b.double
    wide = b.widen(x)
    n, n_int = d.round_to_int(wide, _TWO_OVER_PI)
    rest = d.fma(n, d.const(-_HALF_PI_LOW), d.fma(n, d.const(-_HALF_PI_HIGH), wide))
    return rest, arith.trunci(b.int_type, n_int)


def _tangent(b: Lanes, x: ir.Value) -> ir.Value:
    d = b.double
    r, quadrant = _reduced(b, x)
    square = d.mul(r, r)
    sine = d.fma(d.mul(square, r), d.polynomial(square, _SIN), r)
    cosine = d.fma(square, d.polynomial(square, (-0.5, *_COS)), d.const(1.0))
    odd = _is_odd(b, quadrant)
    quotient = d.div(d.select(odd, arith.negf(cosine), sine), d.select(odd, sine, cosine))
    return b.select(b.equal(x, b.const(0.0)), x, b.narrow(quotient))


def _turned_sine(b: Lanes, x: ir.Value, turn: int) -> ir.Value:
    exact, quadrant = _reduced(b, x)
    r = b.narrow(exact)
    if turn:
        quadrant = arith.addi(quadrant, b.int_const(turn))
    square = b.mul(r, r)
    sine = _keep_minus_zero(b, r, b.fma(b.mul(square, r), b.polynomial(square, _SIN), r))
    cosine = b.fma(square, b.polynomial(square, (-0.5, *_COS)), b.const(1.0))
    value = b.select(_is_odd(b, quadrant), cosine, sine)
    negative = arith.shli(arith.andi(quadrant, b.int_const(2)), b.int_const(30))
    return b.from_bits(arith.xori(b.to_bits(value), negative))


def _is_odd(b: Lanes, number: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(number, b.int_const(1)), b.int_const(0))


def _keep_minus_zero(b: Lanes, r: ir.Value, sine: ir.Value) -> ir.Value:
    """The sine has the sign of r anyway; at -0 the sum above has lost it."""
    sign = arith.andi(b.to_bits(r), b.int_const(-(2**31)))
    return b.from_bits(arith.ori(b.to_bits(sine), sign))
