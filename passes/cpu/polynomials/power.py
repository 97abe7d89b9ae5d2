"""powf."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, math

from .lanes import Lanes, in_registers, splat
from .registry import expands

# atanh(z) / z - 1 over z², and (2^r - 1) / r, in f64.
_ATANH = (0.3333333282270551, 0.20000167601137253, 0.14268653877775955, 0.11791083645083938)
_EXP2 = (
    0.6931471805482123,
    0.2402265069811075,
    0.05550410935266995,
    0.00961812861608986,
    0.00133334548598421,
    0.00015403825483212906,
    1.530915635180427e-05,
    1.317892945139515e-06,
)
_TWO_OVER_LN2 = 2.8853900817779268
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


@expands("math.powf")
def powf(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`2^(y log2|x|)` in f64, with the sign and the edges of C's pow."""
    x, y = operands
    special = _constant_exponent(b, x, y)
    return in_registers(b, operands, _general) if special is None else special


def _general(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    x, y = operands
    d = b.double
    magnitude, exponent = d.abs(b.widen(x)), b.widen(y)
    result = b.narrow(_exp2(d, d.mul(exponent, _log2(d, magnitude))))
    return _with_edges(b, x, y, result)


def _constant_exponent(b: Lanes, x: ir.Value, y: ir.Value) -> ir.Value | None:
    """The exponents that eager computes by multiplication, division and square roots."""
    exponent = splat(y)
    if exponent == 2.0:
        return b.mul(x, x)
    if exponent == 3.0:
        return b.mul(b.mul(x, x), x)
    if exponent == 0.5:
        return math.sqrt(x)
    if exponent == -0.5:
        return b.div(b.const(1.0), math.sqrt(x))
    if exponent == -1.0:
        return b.div(b.const(1.0), x)
    if exponent == -2.0:
        return b.div(b.const(1.0), b.mul(x, x))
    return None


def _log2(d: Lanes, x: ir.Value) -> ir.Value:
    """log2 of a magnitude that came from f32, thus never denormal: 0 has -inf, inf and NaN themselves."""
    offset = arith.subi(d.to_bits(x), d.int_const(_SQRT_HALF_BITS))
    exponent = arith.shrsi(offset, d.int_const(52))
    m = d.from_bits(arith.subi(d.to_bits(x), arith.shli(exponent, d.int_const(52))))
    one = d.const(1.0)
    z = d.div(d.sub(m, one), d.add(m, one))
    square = d.mul(z, z)
    series = d.fma(d.mul(square, z), d.polynomial(square, _ATANH), z)
    small = arith.trunci(Lanes(d.shape).int_type, exponent)
    result = d.fma(series, d.const(_TWO_OVER_LN2), arith.sitofp(d.float_type, small))
    result = d.select(d.less(x, d.const(float("inf"))), result, x)
    return d.select(d.equal(x, d.const(0.0)), d.const(float("-inf")), result)


def _exp2(d: Lanes, x: ir.Value) -> ir.Value:
    """2^x for results in the range of f32; smaller ones become 0 and larger ones inf when narrowed."""
    bounded = d.at_least(d.at_most(x, 200.0), -200.0)
    n, n_int = d.round_to_int(bounded)
    p = d.polynomial(d.sub(bounded, n), (1.0, *_EXP2))
    return d.mul(p, d.power_of_two(n_int))


def _with_edges(b: Lanes, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value:
    zero, one, infinity = b.const(0.0), b.const(1.0), b.const(float("inf"))
    floor = math.floor(y)
    whole = b.equal(floor, y)
    half = b.mul(y, b.const(0.5))
    odd = arith.andi(whole, arith.cmpf(arith.CmpFPredicate.ONE, math.floor(half), half))
    # (-1)^±inf is 1.
    result = b.select(arith.andi(b.equal(b.abs(x), one), b.equal(b.abs(y), infinity)), one, result)
    negative = arith.cmpi(arith.CmpIPredicate.slt, b.to_bits(x), b.int_const(0))
    flipped = b.select(arith.andi(negative, odd), b.sub(b.const(-0.0), result), result)
    # A finite negative number to a power that is not whole.
    below = arith.andi(b.less(x, zero), b.less(b.const(float("-inf")), x))
    no_root = arith.andi(below, arith.cmpf(arith.CmpFPredicate.ONE, floor, y))
    flipped = b.select(no_root, b.const(float("nan")), flipped)
    return b.select(arith.ori(b.equal(x, one), b.equal(y, zero)), one, flipped)
