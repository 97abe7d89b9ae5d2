"""The larger and the smaller of two f64, of which no GPU has an instruction that knows NaN.

    %m = arith.maximumf %a, %b : f64

    %r = arith.select (%a > %b or %a is NaN), %a, %b        // NaN is neither above nor below
    %m = arith.select (%a = %b), (%a and %b), %r            // of two zeros the positive one

LLVM asks for the plain maximum first, then for NaN, and compares each number's bits with those of both zeros.
"""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import arith

from .registry import expands
from .scalars import Scalars

_BITS = 64
_ABOVE, _BELOW = arith.CmpFPredicate.OGT, arith.CmpFPredicate.OLT
_EQUAL, _NAN = arith.CmpFPredicate.OEQ, arith.CmpFPredicate.UNO


@expands("arith.maximumf", _BITS)
def larger(_: Scalars, op: ir.Operation) -> ir.Value:
    """The larger one, +0 of two zeros."""
    return _chosen(op, _ABOVE, arith.andi)


@expands("arith.minimumf", _BITS)
def smaller(_: Scalars, op: ir.Operation) -> ir.Value:
    """The smaller one, -0 of two zeros."""
    return _chosen(op, _BELOW, arith.ori)


def _chosen(op: ir.Operation, beyond: arith.CmpFPredicate, both: Callable[..., ir.Value]) -> ir.Value:
    a, b = op.operands
    bits = ir.IntegerType.get_signless(_BITS)
    takes = arith.ori(arith.cmpf(beyond, a, b), arith.cmpf(_NAN, a, a))
    alike = arith.bitcast(a.type, both(arith.bitcast(bits, a), arith.bitcast(bits, b)))
    return arith.select(arith.cmpf(_EQUAL, a, b), alike, arith.select(takes, a, b))
