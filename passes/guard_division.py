"""Integer division that cannot trap: by zero is an error that is raised, by -1 wraps around.

    %q = arith.divsi %a, %b : i32

    %ok = arith.cmpi ne, %b, %c0 : i32
    cf.assert %ok, "RuntimeError: ZeroDivisionError"
    %minus = arith.cmpi eq, %b, %c-1 : i32
    %bad = arith.ori (not %ok), %minus
    %safe = arith.select %bad, %c1, %b : i32
    %d = arith.divsi %a, %safe : i32
    %q = arith.select %minus, (0 - %a), %d : i32

Also, torch-mlir's floor division of integers by way of f64, which is inexact beyond 2^53 and
silent for zero, becomes the division that it means:

    %q = fptosi (math.floor (divf (sitofp %a), (sitofp %b)))    ->    %q = arith.floordivsi %a, %b

The processor traps on x / 0 and on INT_MIN / -1. Eager raises RuntimeError for the first; the
second wraps to INT_MIN. A remainder by -1 is that by 1: 0. Unsigned divisions have no second case.
Applies to scalar integers; those of type index, which compute addresses, are left alone, and so is
a division by a constant other than 0 and -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, cf

from .base import Pass
from .operations import ops_named
from .structured import defining_op

MESSAGE = "RuntimeError: ZeroDivisionError"

_SIGNED_QUOTIENTS = ("arith.divsi", "arith.floordivsi", "arith.ceildivsi")
_SIGNED = (*_SIGNED_QUOTIENTS, "arith.remsi")
_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")


@dataclass(frozen=True)
class GuardDivision(Pass):
    """Check the divisors of integer divisions, and divide by safe ones."""

    name: ClassVar[str] = "mlopt-guard-division"

    def run(self, op: ir.Operation) -> None:
        """Guard every scalar integer division that may trap."""
        _restore_floor_divisions(op)
        for division in ops_named(op, *_SIGNED, *_UNSIGNED):
            if may_trap(division):
                with ir.InsertionPoint(division), division.location:
                    _guard(division)


def _restore_floor_divisions(module: ir.Operation) -> None:
    """Write the floor divisions that go through floats as integer divisions."""
    for conversion in ops_named(module, "arith.fptosi"):
        with ir.InsertionPoint(conversion), conversion.location:
            quotient = _floor_division(conversion)
        if quotient is not None:
            conversion.results[0].replace_all_uses_with(quotient)
            conversion.erase()


def _floor_division(conversion: ir.Operation) -> ir.Value | None:
    """`floordivsi` of the integers behind `fptosi (floor (divf …))`, or None if it is something else."""
    type_ = conversion.results[0].type
    floor = defining_op(conversion.operands[0], "math.floor")
    division = defining_op(floor.operands[0], "arith.divf") if floor is not None else None
    if division is None or division.results[0].type != ir.F64Type.get():
        return None
    if not isinstance(type_, ir.IntegerType):
        return None
    operands = [_as_integer(operand, type_) for operand in division.operands]
    if operands[0] is None or operands[1] is None:
        return None
    return arith.floordivsi(*operands)


def _as_integer(value: ir.Value, type_: ir.Type) -> ir.Value | None:
    """The integer of ``type_`` that a float was made from."""
    source = defining_op(value, "arith.sitofp")
    if source is not None and source.operands[0].type == type_:
        return source.operands[0]
    constant = defining_op(value, "arith.constant")
    number = ir.FloatAttr(constant.attributes["value"]).value if constant is not None else 0.5
    return arith.constant(type_, int(number)) if number == number // 1 else None


def may_trap(division: ir.Operation) -> bool:
    """Whether the divisor of a scalar integer division can be 0, or -1 in a signed one."""
    divisor = division.operands[1]
    if not isinstance(divisor.type, ir.IntegerType) or divisor.type.width == 1:
        return False
    value = _integer(divisor)
    return value in (None, 0) or (value == -1 and division.name in _SIGNED)


def _integer(value: ir.Value) -> int | None:
    constant = defining_op(value, "arith.constant")
    return int(ir.IntegerAttr(constant.attributes["value"]).value) if constant is not None else None


def _guard(division: ir.Operation) -> None:
    dividend, divisor = division.operands
    type_ = divisor.type
    zero, one = arith.constant(type_, 0), arith.constant(type_, 1)
    is_zero = arith.cmpi(arith.CmpIPredicate.eq, divisor, zero)
    cf.assert_(arith.cmpi(arith.CmpIPredicate.ne, divisor, zero), MESSAGE)
    if division.name in _UNSIGNED:
        division.operands[1] = arith.select(is_zero, one, divisor)
        return
    is_minus_one = arith.cmpi(arith.CmpIPredicate.eq, divisor, arith.constant(type_, -1))
    division.operands[1] = arith.select(arith.ori(is_zero, is_minus_one), one, divisor)
    if division.name in _SIGNED_QUOTIENTS:
        _negate_for_minus_one(division, dividend, is_minus_one)


def _negate_for_minus_one(division: ir.Operation, dividend: ir.Value, is_minus_one: ir.Value) -> None:
    quotient = division.results[0]
    with ir.InsertionPoint.after(division):
        negated = arith.subi(arith.constant(dividend.type, 0), dividend)
        result = arith.select(is_minus_one, negated, quotient)
    quotient.replace_all_uses_except(result, result.owner.operation)
