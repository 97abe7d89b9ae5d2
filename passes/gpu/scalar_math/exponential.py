"""exp, exp2, and what is made from them: the logistic function, tanh."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith

from ...cpu.polynomials.lanes import splat
from ...operations import defining_op
from .approximate import ex2, ex2_ftz, rcp_ftz
from .registry import expands
from .scalars import Scalars

LOG2_E = 1.4426950408889634

# tanh(x) / x - 1 in x² without its constant, to `_BORDER`: off by 2^-24.7 of tanh.
_TANH = (-0.3333294689655304, 0.13320724666118622, -0.052671801298856735, 0.016437562182545662)
_BORDER = 0.55


# What rounds: its result is off by 2^-24 of itself already.
_ROUNDED = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.fma")


@expands("math.exp2")
def exp2(_: Scalars, op: ir.Operation) -> ir.Value:
    """The instruction itself: 5 ulp; with ``afn`` denormals count as 0."""
    is_approximate = "afn" in str(op.attributes["fastmath"])
    return ex2_ftz(op.operands[0]) if is_approximate else ex2(op.operands[0])


@expands("math.exp")
def exp(b: Scalars, op: ir.Operation) -> ir.Value | None:
    """`2^(x log2 e)` of an x that was rounded: 5 ulp, and 1.25 more for each 1 of |x|; None for others.

    So much comes of x log2 e being off by 2^-24 of itself, as x is: what exp makes of a number that is exact
    would be worse by that than it need be.
    """
    x = op.operands[0]
    if defining_op(x, *_ROUNDED) is None:
        return None
    return ex2(b.mul(x, b.const(LOG2_E)))


@expands("arith.divf")
def logistic(b: Scalars, op: ir.Operation) -> ir.Value | None:
    """`1 / (1 + exp(y))` as `r = 2^(y / 2 log2 e - 1); 0.25 / (0.25 + r²)`; None for other divisions.

    A quarter of everything: so neither r, nor the sum where it is the reciprocal of a denormal, leaves the
    normal numbers; where f32 overflows it gives 0 as eager does. 12 ulp, and 1.25 more for each 1 of y > 0.
    """
    y = _exponent(op)
    return None if y is None else b.call(_logistic, y)


def _logistic(b: Scalars, y: ir.Value) -> ir.Value:
    root = ex2_ftz(b.fma(y, b.const(LOG2_E / 2), b.const(-1.0)))
    quarter = b.const(0.25)
    return b.mul(rcp_ftz(b.fma(root, root, quarter)), quarter)


def _exponent(division: ir.Operation) -> ir.Value | None:
    """y, if the op is `1 / (1 + exp(y))`."""
    one, total = division.operands
    adds = defining_op(total)
    if splat(one) != 1.0 or adds is None or adds.name != "arith.addf":
        return None
    for power, other in (tuple(adds.operands), tuple(adds.operands)[::-1]):
        raises = defining_op(power)
        if splat(other) == 1.0 and raises is not None and raises.name == "math.exp":
            return raises.operands[0]
    return None


@expands("math.tanh")
def tanh(b: Scalars, op: ir.Operation) -> ir.Value:
    """`|x| + |x| P(x²)` near 0, `1 - 2 / (1 + exp(2 |x|))` beyond, with the sign of x: 4.2 ulp."""
    return b.call(_tanh, op.operands[0])


def _tanh(b: Scalars, x: ir.Value) -> ir.Value:
    magnitude = b.abs(x)
    square = b.mul(x, x)
    tail = b.mul(b.polynomial(square, _TANH), square)
    near = b.fma(tail, magnitude, magnitude)
    power = ex2_ftz(b.mul(magnitude, b.const(2 * LOG2_E)))
    far = b.fma(rcp_ftz(b.add(power, b.const(1.0))), b.const(-2.0), b.const(1.0))
    beyond = arith.cmpf(arith.CmpFPredicate.OGE, magnitude, b.const(_BORDER))
    return b.with_sign_of(b.select(beyond, far, near), x)
