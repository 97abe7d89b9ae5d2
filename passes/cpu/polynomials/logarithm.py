"""log, log2, log10, log1p."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith

from .exponential import LN2_HIGH, LN2_LOW
from .lanes import Lanes
from .registry import expands

# (log(1 + f) - f + f²/2) / f³ for sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
_LOG = (
    0.3333333134651184,
    -0.2500081956386566,
    0.20001226663589478,
    -0.16623356938362122,
    0.14201758801937103,
    -0.13160182535648346,
    0.12761574983596802,
    -0.07634492963552475,
)
_SMALLEST_NORMAL = 2.0**-126
_SQRT_HALF_BITS = 0x3F3504F3


@expands("math.log")
def log(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`e ln2 + log(m)` for `x = m 2^e` with m around 1."""
    x = operands[0]
    f, e, _ = _split(b, x)
    tail = b.fma(e, b.const(LN2_LOW), _log_tail(b, f))
    return _edges(b, x, b.fma(e, b.const(LN2_HIGH), b.add(f, tail)))


@expands("math.log2")
def log2(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`e + log(m) log2(e)`, with the factor in two parts."""
    return _scaled_log(b, operands[0], 1.44269502162933350, 1.92596299112661746e-8, 1.0, 0.0)


@expands("math.log10")
def log10(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`e log10(2) + log(m) log10(e)`, with both factors in two parts."""
    return _scaled_log(
        b, operands[0], 0.434294492006301879, -1.01030138186163e-08, 0.3010300099849701, -1.432098989e-08
    )


@expands("math.log1p")
def log1p(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """log of `u = 1 + x`, with what the rounding of u has lost added to the small part."""
    x = operands[0]
    one = b.const(1.0)
    u = b.add(one, x)
    lost = b.select(b.less(x, one), b.sub(x, b.sub(u, one)), b.sub(one, b.sub(u, x)))
    f, e, scale = _split(b, u)
    f = b.fma(lost, scale, f)
    tail = b.fma(e, b.const(LN2_LOW), _log_tail(b, f))
    result = _edges(b, u, b.fma(e, b.const(LN2_HIGH), b.add(f, tail)))
    tiny = b.less(b.abs(x), b.const(2.0**-25))
    return b.select(tiny, x, result)


def _split(b: Lanes, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """`x = (1 + f) 2^e` with 1 + f in [sqrt(1/2), sqrt(2)): f, e, and 2^-e (for normal x)."""
    small = b.less(x, b.const(_SMALLEST_NORMAL))
    normal = b.select(small, b.mul(x, b.const(2.0**23)), x)
    offset = arith.subi(b.to_bits(normal), b.int_const(_SQRT_HALF_BITS))
    exponent = arith.shrsi(offset, b.int_const(23))
    shift = arith.shli(exponent, b.int_const(23))
    f = b.sub(b.from_bits(arith.subi(b.to_bits(normal), shift)), b.const(1.0))
    e = arith.sitofp(b.float_type, exponent)
    e = b.select(small, b.sub(e, b.const(23.0)), e)
    largest = b.int_const(126)  # a scale beyond would be no normal number; log1p has lost nothing there
    return f, e, b.power_of_two(arith.subi(b.int_const(0), arith.minsi(exponent, largest)))


def _log_tail(b: Lanes, f: ir.Value) -> ir.Value:
    """`log(1 + f) - f`."""
    square = b.mul(f, f)
    cubic = b.mul(b.mul(square, f), b.polynomial(f, _LOG))
    return b.fma(square, b.const(-0.5), cubic)


def _scaled_log(b: Lanes, x: ir.Value, high: float, low: float, two_high: float, two_low: float) -> ir.Value:
    """`log(x) * (high + low)`; `two` is that of 2."""
    f, e, _ = _split(b, x)
    tail = _log_tail(b, f)
    small = b.fma(f, b.const(low), b.mul(tail, b.const(high)))
    if two_low:
        small = b.fma(e, b.const(two_low), small)
    return _edges(b, x, b.fma(e, b.const(two_high), b.fma(f, b.const(high), small)))


def _edges(b: Lanes, x: ir.Value, result: ir.Value) -> ir.Value:
    """0 has -inf, negative numbers NaN, inf and NaN themselves."""
    infinity = b.const(float("inf"))
    zero = b.const(0.0)
    result = b.select(b.less(x, infinity), result, x)
    result = b.select(b.equal(x, zero), b.const(float("-inf")), result)
    return b.select(b.less(x, zero), b.const(float("nan")), result)
