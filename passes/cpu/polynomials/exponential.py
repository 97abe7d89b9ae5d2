"""exp, exp2, expm1, and what is made from them: tanh, sinh, cosh."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, math

from .lanes import Lanes
from .rare import unless_rare
from .registry import EXP_NOT_POSITIVE, ONE_PLUS_EXP, ONE_PLUS_TANH, expands

LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has few bits, so that its product with n is exact.
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.428606765330187e-06

_OVERFLOWS, _VANISHES = 88.0, -105.0

# (exp(r) - 1 - r) / r² for |r| <= ln2 / 2, relative to exp and to expm1; and (2^r - 1) / r for |r| <= 1/2.
_EXP = (
    0.4999999403953552,
    0.1666651964187622,
    0.041668396443128586,
    0.008368796668946743,
    0.0013814433477818966,
)
# The same for |r| <= ln2 / 32.
_EXP_NEAR = (0.5000161528587341, 0.16667039692401886)
_EXPM1 = (
    0.5,
    0.1666666567325592,
    0.04166635870933533,
    0.008333389647305012,
    0.001394074410200119,
    0.00019845887436531484,
)
_EXP2 = (
    0.6931471824645996,
    0.24022650718688965,
    0.055504102259874344,
    0.009618038311600685,
    0.0013333935057744384,
    0.00015466756303794682,
    1.5196156709862407e-05,
)


@expands("math.exp")
def exp(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`2^n * exp(x - n ln2)`; from 88.8 on infinite, as that of 90 is."""
    x = b.at_least(b.at_most(operands[0], 90.0), _VANISHES)
    if b.has_lookup:
        return _exp_from_table(b, x)
    n, n_int, r = _reduce(b, x)
    return b.scale(b.polynomial(r, (1.0, 1.0, *_EXP)), n, n_int)


@expands(EXP_NOT_POSITIVE)
def exp_not_positive(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """The same without what only large numbers need."""
    x = b.at_least(operands[0], _VANISHES)
    if b.has_lookup:
        return _exp_from_table(b, x)
    _, n_int, r = _reduce(b, x)
    return b.scale_once(b.polynomial(r, (1.0, 1.0, *_EXP)), n_int, 32)


@expands(ONE_PLUS_EXP)
def one_plus_exp(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """What is less than 2^-125 is nothing beside 1."""
    x = b.at_least(b.at_most(operands[0], 88.9), -86.0)
    if b.has_lookup:
        return b.add(_exp_from_table(b, x), b.const(1.0))
    _, n_int, r = _reduce(b, x)
    return b.add(b.scale_once(b.polynomial(r, (1.0, 1.0, *_EXP)), n_int, -1), b.const(1.0))


def _exp_from_table(b: Lanes, x: ir.Value) -> ir.Value:
    """`2^floor(n) (t + t (exp(r) - 1))`, t = 2^(n - floor(n)), n in sixteenths: three multiply-adds less."""
    n, index = b.round_to_part(x, LOG2_E, 16)
    r = b.fma(n, b.const(-LN2_LOW), b.fma(n, b.const(-LN2_HIGH), x))
    power = b.lookup(index, [2 ** (sixteenth / 16) for sixteenth in range(16)])
    growth = b.fma(b.mul(r, r), b.polynomial(r, _EXP_NEAR), r)
    return b.scale(b.fma(power, growth, power), n)


@expands("math.exp2")
def exp2(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`2^n * 2^(x - n)`."""
    x = b.at_least(b.at_most(operands[0], 130.0), -152.0)
    n, n_int = b.round_to_int(x)
    p = b.polynomial(b.sub(x, n), (1.0, *_EXP2))
    return b.scale(p, n, n_int)


@expands("math.expm1")
def expm1(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`2^n (exp(r) - 1) + (2^n - 1)`, at half its size so that n = 128 does not overflow."""
    given = operands[0]
    x = b.at_least(b.at_most(given, 89.0), -18.0)
    _, n_int, r = _reduce(b, x)
    p = _expm1_polynomial(b, r)
    half_scale = b.power_of_two(arith.subi(n_int, b.int_const(1)))
    half = b.fma(half_scale, p, b.sub(half_scale, b.const(0.5)))
    tiny = b.less(b.abs(given), b.const(2.0**-25))
    return b.select(tiny, given, b.add(half, half))


@expands("math.tanh")
def tanh(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`t / (t + 2)` with `t = exp(2 |x|) - 1`; 1 from 10 on, x itself near 0."""
    x = operands[0]
    magnitude = b.abs(x)
    bounded = b.at_most(magnitude, 10.0)
    _, n_int, r = _reduce(b, b.add(bounded, bounded))
    scale = b.power_of_two(n_int)
    t = b.fma(scale, _expm1_polynomial(b, r), b.sub(scale, b.const(1.0)))
    result = b.div(t, b.add(t, b.const(2.0)))
    return b.select(b.less(magnitude, b.const(2.0**-13)), x, b.with_sign_of(result, x))


@expands(ONE_PLUS_TANH)
def one_plus_tanh(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`2 / (1 + exp(-2 x))`, which is as exact far below 0, where tanh is nearly -1."""
    (x,) = operands
    return b.div(b.const(2.0), one_plus_exp(b, [b.mul(x, b.const(-2.0))]))


@expands("math.sinh")
def sinh(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`(t + t / (t + 1)) / 2` with `t = exp(|x|) - 1`; libm's beyond 88, where exp overflows before it."""
    (x,) = operands
    t = expm1(b, [b.abs(x)])
    size = b.mul(b.const(0.5), b.add(t, b.div(t, b.add(t, b.const(1.0)))))
    return unless_rare(b, _is_beyond(b, x), math.sinh, operands, b.with_sign_of(size, x))


@expands("math.cosh")
def cosh(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`(e + 1 / e) / 2` with `e = exp(|x|)`; libm's beyond 88, where exp overflows before it."""
    (x,) = operands
    e = exp(b, [b.abs(x)])
    size = b.mul(b.const(0.5), b.add(e, b.div(b.const(1.0), e)))
    return unless_rare(b, _is_beyond(b, x), math.cosh, operands, size)


def _is_beyond(b: Lanes, x: ir.Value) -> ir.Value:
    return b.less(b.const(_OVERFLOWS), b.abs(x))


def _reduce(b: Lanes, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """`x = n ln2 + r` with |r| <= ln2 / 2: n as a float and as an integer, and r."""
    n, n_int = b.round_to_int(x, LOG2_E)
    r = b.fma(n, b.const(-LN2_LOW), b.fma(n, b.const(-LN2_HIGH), x))
    return n, n_int, r


def _expm1_polynomial(b: Lanes, r: ir.Value) -> ir.Value:
    return b.fma(b.mul(r, r), b.polynomial(r, _EXPM1), r)
