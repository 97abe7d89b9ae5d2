"""Integer division that cannot trap: by zero is an error that is raised, by -1 wraps around.

    %q = arith.divsi %a, %b : i32

    %ok = arith.cmpi ne, %b, %c0 : i32
    cf.assert %ok, "RuntimeError: ZeroDivisionError"
    %minus = arith.cmpi eq, %b, %c-1 : i32
    %bad = arith.ori (not %ok), %minus
    %safe = arith.select %bad, %c1, %b : i32
    %d = arith.divsi %a, %safe : i32
    %q = arith.select %minus, (0 - %a), %d : i32

The processor traps on x / 0 and on INT_MIN / -1. Eager raises RuntimeError for the first; the
second wraps to INT_MIN. A remainder by -1 is that by 1: 0. Unsigned divisions have no second case.
Applies to scalar integers and indices. A division by a constant other than 0 and -1, as addresses are
computed with, is left alone. Legal always: quotients that eager has stay what they are.

Effect: an error of Python's where the process would end by a signal, for two comparisons and two selects
an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, cf

from .base import Pass
from .divisions import DIVISIONS, SIGNED_QUOTIENTS, UNSIGNED, may_trap
from .operations import ops_named

MESSAGE = "RuntimeError: ZeroDivisionError"


@dataclass(frozen=True)
class GuardDivision(Pass):
    """Check the divisors of integer divisions, and divide by safe ones."""

    name: ClassVar[str] = "mlopt-guard-division"

    def run(self, op: ir.Operation) -> None:
        """Guard every scalar integer division that may trap."""
        for division in ops_named(op, *DIVISIONS):
            if not isinstance(division.results[0].type, ir.ShapedType) and may_trap(division):
                with ir.InsertionPoint(division), division.location:
                    _guard(division)


def _guard(division: ir.Operation) -> None:
    dividend, divisor = division.operands
    type_ = divisor.type
    zero, one = arith.constant(type_, 0), arith.constant(type_, 1)
    is_zero = arith.cmpi(arith.CmpIPredicate.eq, divisor, zero)
    cf.assert_(arith.cmpi(arith.CmpIPredicate.ne, divisor, zero), MESSAGE)
    if division.name in UNSIGNED:
        division.operands[1] = arith.select(is_zero, one, divisor)
        return
    is_minus_one = arith.cmpi(arith.CmpIPredicate.eq, divisor, arith.constant(type_, -1))
    division.operands[1] = arith.select(arith.ori(is_zero, is_minus_one), one, divisor)
    if division.name in SIGNED_QUOTIENTS:
        _negate_for_minus_one(division, dividend, is_minus_one)


def _negate_for_minus_one(division: ir.Operation, dividend: ir.Value, is_minus_one: ir.Value) -> None:
    quotient = division.results[0]
    with ir.InsertionPoint.after(division):
        negated = arith.subi(arith.constant(dividend.type, 0), dividend)
        result = arith.select(is_minus_one, negated, quotient)
    quotient.replace_all_uses_except(result, result.owner.operation)
