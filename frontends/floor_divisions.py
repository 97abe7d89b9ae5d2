"""torch-mlir's floor division of integers, which goes by way of f64, becomes the division that it means.

    %q = fptosi (math.floor (divf (sitofp %a), (sitofp %b)))    ->    %q = arith.floordivsi %a, %b

The way by f64 is inexact beyond 2^53, and silent for a divisor of zero. torch-mlir writes it in one body;
what a program computes in f64 itself stands in a body for each op, and stays.
"""

from __future__ import annotations

from torch_mlir import ir

from .imported_ops import maker_named, ops_named


def restore_floor_divisions(module: ir.Module) -> None:
    """Rewrite all floor divisions of ``module`` in place; it is what torch-mlir made, not yet fused."""
    for conversion in ops_named(module, "arith.fptosi"):
        with ir.InsertionPoint(conversion), conversion.location:
            quotient = _floor_division(conversion)
        if quotient is not None:
            conversion.results[0].replace_all_uses_with(quotient)
            conversion.erase()


def _floor_division(conversion: ir.Operation) -> ir.Value | None:
    """`floordivsi` of the integers behind `fptosi (floor (divf …))`, or None if it is something else."""
    kind = conversion.results[0].type
    floor = maker_named(conversion.operands[0], "math.floor")
    division = None if floor is None else maker_named(floor.operands[0], "arith.divf")
    if division is None or division.results[0].type != ir.F64Type.get():
        return None
    if not isinstance(kind, ir.IntegerType):
        return None
    operands = [_as_integer(operand, kind) for operand in division.operands]
    if operands[0] is None or operands[1] is None:
        return None
    return ir.Operation.create("arith.floordivsi", [kind], operands).results[0]


def _as_integer(value: ir.Value, kind: ir.IntegerType) -> ir.Value | None:
    """The integer of type ``kind`` that a float was made from."""
    source = maker_named(value, "arith.sitofp")
    if source is not None and source.operands[0].type == kind:
        return source.operands[0]
    constant = maker_named(value, "arith.constant")
    number = 0.5 if constant is None else ir.FloatAttr(constant.attributes["value"]).value
    if number != number // 1:
        return None
    whole = ir.IntegerAttr.get(kind, int(number))
    return ir.Operation.create("arith.constant", [kind], attributes={"value": whole}).results[0]
