"""rsqrt of a number that is no denormal."""

from __future__ import annotations

from mlir import ir

from ...cpu.polynomials.lanes import splat
from ...operations import defining_op
from .approximate import rsqrt_ftz
from .registry import expands
from .scalars import Scalars

_LEAST = 2.0**-100


@expands("math.rsqrt")
def rsqrt(_: Scalars, op: ir.Operation) -> ir.Value | None:
    """The instruction itself, for a sum with a number that is not tiny, as a norm's epsilon; None for others.

    Such a sum is 0 or at least 2^-25 of that number: what libdevice does for denormals is for nothing.
    """
    x = op.operands[0]
    adds = defining_op(x, "arith.addf")
    if adds is None:
        return None
    known = [number for each in adds.operands if (number := splat(each)) is not None]
    return rsqrt_ftz(x) if any(abs(number) >= _LEAST for number in known) else None
