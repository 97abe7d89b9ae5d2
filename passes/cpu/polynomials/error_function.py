"""erf."""

from __future__ import annotations

from mlir import ir

from .exponential import exp_within
from .lanes import Lanes
from .registry import expands

# erf(x) / x - 1 in x², to 0.93; and -log(1 - erf(t)) / t - 1, from there to 4.
_SMALL = (
    0.12837916612625122,
    -0.37612631916999817,
    0.11283663660287857,
    -0.026857705786824226,
    0.005196953658014536,
    -0.0008097716490738094,
    8.185136539395899e-05,
)
_LARGE = (
    0.12864848971366882,
    0.6351513266563416,
    0.10623687505722046,
    -0.023762060329318047,
    0.003642458003014326,
    -0.0003228035639040172,
    1.1231275493628345e-05,
)
_BORDER = 0.9277


@expands("math.erf")
def erf(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`x + x P(x²)` near 0, `1 - exp(-t - t Q(t))` for `t = |x|` beyond."""
    x = operands[0]
    near = b.fma(x, b.polynomial(b.mul(x, x), _SMALL), x)
    t = b.at_most(b.abs(x), 4.0)
    exponent = b.fma(t, b.polynomial(t, _LARGE), t)
    far = b.sub(b.const(1.0), exp_within(b, b.sub(b.const(0.0), exponent)))
    return b.select(b.less(b.abs(x), b.const(_BORDER)), near, b.with_sign_of(far, x))
