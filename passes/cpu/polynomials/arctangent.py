"""atan and atan2."""

from __future__ import annotations

from math import pi

import numpy as np
from mlir import ir
from mlir.dialects import arith

from .lanes import Lanes
from .registry import expands

# (atan(t) / t - 1) / t² in t², for 0 <= t <= tan(1/2): least squares, weighted until the largest relative
# error of atan, 8e-10, was level.
_ATAN = (
    -0.33333316445350647,
    0.19998909533023834,
    -0.142611563205719,
    0.1085219755768776,
    -0.07659012079238892,
    0.03432237729430199,
)
_BORDER = 0.54630249  # tan(1/2): beyond it pi/4 is taken off, and the angle has the exponent of 1/2 at least
_LARGE = 1e38  # from which on a sum of two may overflow


@expands("math.atan")
def atan(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """Of what is larger than one, pi/2 less that of its reciprocal."""
    (x,) = operands
    size, one = b.abs(x), b.const(1.0)
    turned = b.less(one, size)
    angle = _within_one(b, b.select(turned, one, size), b.select(turned, size, one))
    return b.with_sign_of(b.select(turned, _less(b, pi / 2, angle), angle), x)


@expands("math.atan2")
def atan2(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """The angle of the smaller to the larger of the two, turned into their octant."""
    y, x = operands
    height, width = b.abs(y), b.abs(x)
    steep = b.less(width, height)
    angle = _within_one(b, b.select(steep, width, height), b.select(steep, height, width))
    angle = b.select(steep, _less(b, pi / 2, angle), angle)
    backward = arith.cmpi(arith.CmpIPredicate.slt, b.to_bits(x), b.int_const(0))
    angle = b.select(backward, _less(b, pi, angle), angle)
    either = arith.cmpf(arith.CmpFPredicate.UNO, x, y)
    return b.select(either, b.add(x, y), b.with_sign_of(angle, y))


def _within_one(b: Lanes, low: ir.Value, high: ir.Value) -> ir.Value:
    """atan(low / high) for 0 <= low <= high: of (low - high) / (low + high) beyond 1/2, and pi/4 more.

    Equal ones, zero and infinity among them, are not divided.
    """
    large = b.less(b.const(_LARGE), high)
    low, high = (b.select(large, b.mul(each, b.const(0.25)), each) for each in (low, high))
    zero, one = b.const(0.0), b.const(1.0)
    equal = b.equal(low, high)
    beyond = b.select(equal, b.less(zero, high), b.less(b.mul(high, b.const(_BORDER)), low))
    top = b.select(equal, zero, b.select(beyond, b.sub(low, high), low))
    bottom = b.select(equal, one, b.select(beyond, b.add(low, high), high))
    t = b.div(top, bottom)
    square = b.mul(t, t)
    angle = b.fma(b.mul(t, square), b.polynomial(square, _ATAN), t)
    return b.select(beyond, _less(b, pi / 4, arith.negf(angle)), angle)


def _less(b: Lanes, number: float, angle: ir.Value) -> ir.Value:
    """``number - angle``, with what ``number`` has beyond f32."""
    high = float(np.float32(number))
    return b.add(b.sub(b.const(number - high), angle), b.const(high))
