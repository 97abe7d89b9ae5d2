"""exp of f64."""

from __future__ import annotations

from mlir import ir

from .exponential import LOG2_E
from .lanes import Lanes
from .registry import EXP_NOT_POSITIVE, expands

# ln 2 in two parts: the last bits of the first are zeros, so that its product with n is exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# (exp(r) - 1 - r) / r² for |r| <= ln2 / 2, to 4e-18 of exp(r).
_EXP = (
    0.5000000000000011,
    0.16666666666666413,
    0.04166666666653022,
    0.008333333333494449,
    0.0013888888943612337,
    0.0001984126950653971,
    2.4801493118371442e-05,
    2.7557586464408998e-06,
    2.763024125999839e-07,
    2.500001743608508e-08,
)


@expands("math.exp", 64)
@expands(EXP_NOT_POSITIVE, 64)
def exp(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`2^n exp(x - n ln2)`; from 709.79 on infinite, as that of 710 is."""
    x = b.at_least(b.at_most(operands[0], 710.0), -746.0)
    n, n_int = b.round_to_int(x, LOG2_E)
    r = b.fma(n, b.const(-_LN2_LOW), b.fma(n, b.const(-_LN2_HIGH), x))
    return b.scale(b.polynomial(r, (1.0, 1.0, *_EXP)), n, n_int)
