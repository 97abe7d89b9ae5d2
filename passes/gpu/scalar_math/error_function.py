"""erf."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith

from ...cpu.polynomials.error_function import BORDER, SMALL
from .approximate import ex2_ftz
from .exponential import LOG2_E
from .registry import expands
from .scalars import Scalars

# -log(1 - erf(t)) / t - 1, from `BORDER` to 4.
_LARGE = (
    0.12864848971366882,
    0.6351513266563416,
    0.10623687505722046,
    -0.023762060329318047,
    0.003642458003014326,
    -0.0003228035639040172,
    1.1231275493628345e-05,
)
# -log2(1 - erf(t)) / t; 1 - 2^(-t …) is 1 beyond what it was fitted to, as it should be.
_FAR = tuple(-LOG2_E * coefficient for coefficient in (1.0 + _LARGE[0], *_LARGE[1:]))


@expands("math.erf")
def erf(b: Scalars, op: ir.Operation) -> ir.Value:
    """`x + x P(x²)` near 0, `1 - 2^(t Q(t))` for t = |x| beyond, with the sign of x: 2.5 ulp.

    Without branches, behind which loads of what comes after would be sunk.
    """
    return b.call(_erf, op.operands[0])


def _erf(b: Scalars, x: ir.Value) -> ir.Value:
    magnitude = b.abs(x)
    near = b.fma(b.polynomial(b.mul(x, x), SMALL), magnitude, magnitude)
    far = b.sub(b.const(1.0), ex2_ftz(b.mul(b.polynomial(magnitude, _FAR), magnitude)))
    beyond = arith.cmpf(arith.CmpFPredicate.OGE, magnitude, b.const(BORDER))
    return b.with_sign_of(b.select(beyond, far, near), x)
