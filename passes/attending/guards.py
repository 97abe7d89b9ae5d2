"""Exceptions for single numbers: where(x == number, instead, x), as ops on whole tensors."""

from __future__ import annotations

import math

from mlir import ir

from ..constants import scalar_constant
from ..operations import defining_op
from ..structured import body_of, has_one_use, inputs_of, kinds_of, maps_of

_SAYS_EQUAL = {1: True, 13: False}  # arith.cmpf oeq, une
_SAYS_NAN = (13, 14)  # arith.cmpf une, uno, of a value and itself
_EQUAL = 0  # arith.cmpi eq


def without_nans(value: ir.Value) -> ir.Operation | None:
    """The op after which 0 stands for each NaN of ``value``, and nothing else differs if 0 <= value <= 1.

    ::

        %n = generic {ne} ins(%value, %value)                  where(isnan(value), 0, value),
        %a = generic {where} (%n ? 0.0 : %value)               and what torch.nan_to_num makes of infinities
        %i = generic {eq} ins(%value), inf
        %b = generic {where} (%i ? 3.4e38 : %a)

    None if there is no such op, or others read ``value``, too.
    """
    readers = [use.owner.operation for use in value.uses]
    found = next((op for op in readers if _is_zero_for_nan(op, value)), None)
    if found is None:
        return None
    wide = next((op.results[0] for op in readers if _widens(op)), value)  # half floats are compared as f32
    infinities = 0
    while has_one_use(found.results[0]):
        after = next(iter(found.results[0].uses)).owner.operation
        chosen = _chosen(after)
        if chosen is None or chosen[2] != found.results[0]:
            break
        if not any(_is_equal(chosen[0], wide, number) for number in (math.inf, -math.inf)):
            break
        found, infinities = after, infinities + 1
    counts = (3 + infinities,) if wide == value else (4, infinities)  # three readers make 0 of NaN
    return found if counts == tuple(len(list(each.uses)) for each in dict.fromkeys((value, wide))) else None


def _widens(op: ir.Operation) -> bool:
    if not is_arithmetic(op) or len(inputs_of(op)) != 1 or not is_identity(op, 0):
        return False
    return [inner.operation.name for inner in body_of(op).operations][:-1] == ["arith.extf"]


def _is_zero_for_nan(op: ir.Operation, value: ir.Value) -> bool:
    """Whether ``op`` is where(value != value, 0, value)."""
    chosen = _chosen(op)
    if chosen is None or chosen[2] != value or chosen[1] != 0.0:
        return False
    compare = defining_op(chosen[0], "linalg.generic")
    if compare is None or not is_arithmetic(compare) or not has_one_use(chosen[0]):
        return False
    body = [inner.operation for inner in body_of(compare).operations]
    if len(body) != 2 or body[0].name != "arith.cmpf" or list(inputs_of(compare)) != [value, value]:
        return False
    inputs = list(body_of(compare).arguments)[:2]
    is_unequal = body[0].attributes["predicate"].value in _SAYS_NAN and list(body[0].operands) == inputs
    return is_unequal and all(is_identity(compare, each) for each in (0, 1))


def _chosen(op: ir.Operation) -> tuple[ir.Value, float, ir.Value] | None:
    """The condition, the number and the other value of where(condition, number, value)."""
    if not is_arithmetic(op) or len(inputs_of(op)) != 2:
        return None
    body = [inner.operation for inner in body_of(op).operations]
    if len(body) != 2 or body[0].name != "arith.select" or not all(is_identity(op, each) for each in (0, 1)):
        return None
    number = scalar_constant(body[0].operands[1])
    if list(body[0].operands)[::2] != list(body_of(op).arguments)[:2] or not isinstance(number, ir.FloatAttr):
        return None
    return op.operands[0], number.value, op.operands[1]


def unguarded(value: ir.Value, number: float, instead: float) -> tuple[ir.Value, bool]:
    """What ``value`` is but where that is ``number``, and whether there is such an exception."""
    op = defining_op(value, "linalg.generic")
    chosen = None if op is None else _chosen(op)
    if chosen is None or chosen[1] != instead or not _is_equal(chosen[0], chosen[2], number):
        return value, False
    return chosen[2], True


def _is_equal(condition: ir.Value, value: ir.Value, number: float, wanted: bool = True) -> bool:
    """Whether ``condition`` says that ``value`` is ``number`` (or with ``wanted`` false, that it is not)."""
    op = defining_op(condition, "linalg.generic")
    if op is None or not is_arithmetic(op) or len(inputs_of(op)) != 1 or not has_one_use(condition):
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


def is_arithmetic(op: ir.Operation) -> bool:
    """Whether a generic computes one value for each of its loops, by arithmetic and functions alone."""
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
