"""Exceptions for single numbers: where(x == number, instead, x), as ops on whole tensors."""

from __future__ import annotations

from mlir import ir

from ..structured import (
    body_of,
    defining_op,
    has_one_use,
    inputs_of,
    kinds_of,
    maps_of,
    scalar_constant,
)

_SAYS_EQUAL = {1: True, 13: False}  # arith.cmpf oeq, une
_EQUAL = 0  # arith.cmpi eq


def unguarded(value: ir.Value, number: float, instead: float) -> tuple[ir.Value, bool]:
    """What ``value`` is but where that is ``number``, and whether there is such an exception."""
    op = defining_op(value, "linalg.generic")
    if op is None or not is_elementwise(op) or len(inputs_of(op)) != 2:
        return value, False
    body = [inner.operation for inner in body_of(op).operations]
    select = body[0]
    arguments = list(body_of(op).arguments)
    if len(body) != 2 or select.name != "arith.select" or list(select.operands)[::2] != arguments[:2]:
        return value, False
    other = scalar_constant(select.operands[1])
    plain = op.operands[1]
    same = isinstance(other, ir.FloatAttr) and other.value == instead
    same = same and all(is_identity(op, each) for each in (0, 1))
    return (plain, True) if same and _is_equal(op.operands[0], plain, number) else (value, False)


def _is_equal(condition: ir.Value, value: ir.Value, number: float, wanted: bool = True) -> bool:
    """Whether ``condition`` says that ``value`` is ``number`` (or with ``wanted`` false, that it is not)."""
    op = defining_op(condition, "linalg.generic")
    if op is None or not is_elementwise(op) or len(inputs_of(op)) != 1 or not has_one_use(condition):
        return False
    body = [inner.operation for inner in body_of(op).operations]
    if len(body) != 2 or body[0].operands[0] != body_of(op).arguments[0] or not is_identity(op, 0):
        return False
    constant = scalar_constant(body[0].operands[1]) if len(body[0].operands) == 2 else None
    if body[0].name == "arith.cmpf" and isinstance(constant, ir.FloatAttr):
        kind = _SAYS_EQUAL.get(body[0].attributes["predicate"].value)
        return kind is wanted and constant.value == number and op.operands[0] == value
    no = isinstance(constant, (ir.IntegerAttr, ir.BoolAttr)) and not constant.value
    negates = body[0].name == "arith.cmpi" and body[0].attributes["predicate"].value == _EQUAL and no
    return negates and _is_equal(op.operands[0], value, number, not wanted)


def is_elementwise(op: ir.Operation) -> bool:
    """Whether a generic computes one value for each of its loops."""
    if op.name != "linalg.generic" or "reduction" in kinds_of(op) or len(op.results) != 1:
        return False
    names = [inner.operation.name for inner in body_of(op).operations][:-1]
    return all(name.startswith(("arith.", "math.")) for name in names) and is_identity(
        op, len(op.operands) - 1
    )


def is_identity(op: ir.Operation, number: int) -> bool:
    """Whether an operand is read with all loops, in order."""
    where = maps_of(op)[number]
    return bool(where == ir.AffineMap.get_identity(where.n_dims, op.context))
