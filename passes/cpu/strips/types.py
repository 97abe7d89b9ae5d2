"""Types and constants by kind: widths, combining two values."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir
from mlir.dialects import arith

from ...combining import op_of

FLOATS = (ir.F64Type, ir.F32Type, ir.F16Type, ir.BF16Type)


def is_float(kind: ir.Type) -> bool:
    """Whether an element type is a floating-point type."""
    return isinstance(kind, FLOATS)


def bits_of(kind: ir.Type) -> int:
    """The bits that one element takes in a register; 0 for i1, which takes a mask bit."""
    if isinstance(kind, ir.IndexType):
        return 64
    width = int(kind.width)
    return 0 if width == 1 else width


def widest(kinds: Iterable[ir.Type]) -> int:
    """The bits of the widest element type, 8 if there is none wider; half floats compute in f32."""
    return max([8, *(32 if isinstance(kind, (ir.F16Type, ir.BF16Type)) else bits_of(kind) for kind in kinds)])


def bytes_of(kind: ir.Type) -> int:
    """The bytes that one element takes in memory."""
    return max(bits_of(kind), 8) // 8


# As kinds: the maximum and the minimum of a number and what may be NaN, which they leave out.
LARGER, SMALLER = "larger", "smaller"
_BEYOND = {LARGER: arith.CmpFPredicate.OGT, SMALLER: arith.CmpFPredicate.OLT}


def combine(kind: str, left: ir.Value, right: ir.Value, element: ir.Type) -> ir.Value:
    """``left`` and ``right`` joined by a kind of `vector.multi_reduction`, or by `LARGER`, `SMALLER`."""
    if kind in _BEYOND:
        return arith.select(arith.cmpf(_BEYOND[kind], right, left), right, left)
    return ir.Operation.create(op_of(kind, element), [left.type], [left, right]).results[0]
