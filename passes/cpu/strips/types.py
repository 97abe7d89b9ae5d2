"""Types and constants by kind: widths, neutral elements, combining two values."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, nan

from mlir import ir
from mlir.dialects import arith

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


_COMBINE = {
    "add": (arith.AddFOp, arith.AddIOp),
    "mul": (arith.MulFOp, arith.MulIOp),
    "minui": (None, arith.MinUIOp),
    "minsi": (None, arith.MinSIOp),
    "maxui": (None, arith.MaxUIOp),
    "maxsi": (None, arith.MaxSIOp),
    "and": (None, arith.AndIOp),
    "or": (None, arith.OrIOp),
    "xor": (None, arith.XOrIOp),
    "minnumf": (arith.MinNumFOp, None),
    "maxnumf": (arith.MaxNumFOp, None),
    "minimumf": (arith.MinimumFOp, None),
    "maximumf": (arith.MaximumFOp, None),
}


def combine(kind: str, left: ir.Value, right: ir.Value, element: ir.Type) -> ir.Value:
    """``left`` and ``right`` joined by a combining kind of `vector.multi_reduction`."""
    op = _COMBINE[kind][0 if is_float(element) else 1]
    return op(left, right).result


def neutral(kind: str, element: ir.Type) -> ir.Attribute:
    """The value that changes nothing when combined; -0.0 for sums, so that -0 + -0 stays -0."""
    if is_float(element):
        value = {"add": -0.0, "mul": 1.0, "minnumf": nan, "maxnumf": nan, "minimumf": inf, "maximumf": -inf}[
            kind
        ]
        return ir.FloatAttr.get(element, value)
    width = 64 if isinstance(element, ir.IndexType) else int(element.width)
    ones = -1
    smallest, largest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    number = {
        "add": 0,
        "mul": 1,
        "and": ones,
        "or": 0,
        "xor": 0,
        "minui": ones,
        "maxui": 0,
        "minsi": largest,
        "maxsi": smallest,
    }[kind]
    if width == 1:
        number &= 1
    return ir.IntegerAttr.get(element, number)
