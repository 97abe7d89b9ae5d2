"""relu as one instruction, where nobody sees which zero it gives."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith

from ...cpu.polynomials.lanes import splat
from ...operations import defining_op
from .scalars import Scalars

_AT_LEAST = int(arith.CmpFPredicate.UGE)
# A zero of the other sign in, a zero of whichever sign out; anything else stays what it was.
_HANDS_ON = (
    "arith.negf", "arith.mulf", "arith.addf", "arith.subf", "arith.maximumf", "arith.minimumf",
    "arith.truncf", "arith.extf", "math.fma", "math.tanh", "math.erf",
)  # fmt: skip
# The same for both zeros.
_BLIND = ("arith.cmpf", "math.absf", "math.exp", "math.exp2", "math.cos")
_DEEPEST = 8  # uses of uses


def relu(_: Scalars, op: ir.Operation) -> ir.Value | None:
    """`x >= 0 or NaN ? x : 0` as the maximum with 0, which makes 0 of -0; None where that shows."""
    condition, x, other = op.operands
    compares = defining_op(condition)
    if compares is None or compares.name != "arith.cmpf" or splat(other) != 0.0:
        return None
    if ir.IntegerAttr(compares.attributes["predicate"]).value != _AT_LEAST:
        return None
    if compares.operands[0] != x or splat(compares.operands[1]) != 0.0 or shows_sign(op.results[0]):
        return None
    return arith.maximumf(x, other)


def shows_sign(zero: ir.Value, depth: int = 0) -> bool:
    """Whether the sign of ``zero``, should it be one, makes a difference other than a zero's sign.

    Stores show it, and so does everything that is not known.
    """
    return depth > _DEEPEST or any(_use_shows(use.owner, zero, depth) for use in zero.uses)


def _use_shows(user: ir.OpView, zero: ir.Value, depth: int) -> bool:
    op = user.operation
    if op.name in _BLIND:
        return False
    if op.name == "arith.select" and op.operands[0] == zero:
        return True
    if op.name not in (*_HANDS_ON, "arith.select"):
        return True
    if op.name in ("arith.addf", "arith.subf") and any(splat(other) for other in op.operands):
        return False  # 0 + c, whichever zero
    return shows_sign(op.results[0], depth + 1)
