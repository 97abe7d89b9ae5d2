"""Arithmetic on two half floats at a time, where f32 rounded to half would give the same bits."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, vector

from ...cpu.polynomials.lanes import splat
from ...operations import defining_op

# What rounds once: f32 has more than twice the bits of a half float and two more, so rounding its result
# again rounds as if once.
_ROUNDING = ("arith.addf", "arith.subf", "arith.mulf")
# What gives one of its operands, or its negative.
_EXACT = ("arith.maximumf", "arith.minimumf", "arith.negf")


def packed_result(first: ir.Value, second: ir.Value, kind: ir.Type) -> ir.Value | None:
    """Two f32 numbers, rounded to ``kind``, computed as a vector of two; None if that is not the same.

    It is for one sum, difference or product of numbers that are ``kind`` already.
    """
    ops = _alike(first, second, _ROUNDING)
    if ops is None:
        return packed(first, second, kind)
    return _packed_op(*ops, kind)


def packed(first: ir.Value, second: ir.Value, kind: ir.Type) -> ir.Value | None:
    """Two f32 numbers that are widened ``kind`` as a vector; None if they are not, or not neighbours."""
    number = splat(first)
    if number is not None:
        return _constant(number, kind) if splat(second) == number else None
    ops = _alike(first, second, _EXACT)
    if ops is not None:
        return _packed_op(*ops, kind)
    return _neighbours(first, second, kind)


def _alike(
    first: ir.Value, second: ir.Value, names: tuple[str, ...]
) -> tuple[ir.Operation, ir.Operation] | None:
    one, other = defining_op(first, *names), defining_op(second, *names)
    return (one, other) if one is not None and other is not None and one.name == other.name else None


def _constant(number: float, kind: ir.Type) -> ir.Value | None:
    """The constant, if ``kind`` has it."""
    half = ir.FloatAttr.get(kind, number)
    if ir.FloatAttr(half).value != number:
        return None
    both = ir.VectorType.get([2], kind)
    return arith.constant(both, ir.DenseElementsAttr.get_splat(both, half))


def _neighbours(first: ir.Value, second: ir.Value, kind: ir.Type) -> ir.Value | None:
    """Elements 2 k and 2 k + 1 of a vector, widened."""
    taken = []
    for value in (first, second):
        widens = defining_op(value, "arith.extf")
        takes = defining_op(widens.operands[0], "vector.extract") if widens is not None else None
        if takes is None or len(takes.operands) > 1 or takes.results[0].type != kind:
            return None
        taken.append(takes)
    source = taken[0].operands[0]
    at, after = (ir.DenseI64ArrayAttr(each.attributes["static_position"])[0] for each in taken)
    if taken[1].operands[0] != source or at % 2 or after != at + 1:
        return None
    both = ir.VectorType.get([2], kind)
    if source.type == both:
        return source
    return vector.shuffle(source, source, [at, after])


def _packed_op(first: ir.Operation, second: ir.Operation, kind: ir.Type) -> ir.Value | None:
    operands = []
    for pair in zip(first.operands, second.operands, strict=True):
        operand = packed(*pair, kind)
        if operand is None:
            return None
        operands.append(operand)
    both = ir.VectorType.get([2], kind)
    return ir.Operation.create(first.name, results=[both], operands=operands).results[0]
