"""Whether a softmax stands between two products."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mlir import ir

from ..raising.bodies import is_contraction
from ..raising.reshape import RESHAPES, joined_dims
from ..structured import kinds_of

_PARTS = ("tensor.insert_slice", "tensor.extract_slice")


def is_between_products(scores: ir.Value, less: ir.Operation) -> bool:
    """Whether a product makes ``scores`` and one reads what ``less`` makes of them, other ops in between."""
    return is_from_product(scores) and _reaches(less.results, lambda op: op.results, _readers)


def is_from_product(value: ir.Value) -> bool:
    """Whether a product makes ``value``, other ops in between."""
    return _reaches([value], lambda op: op.operands, _makers)


def is_joined_with_others(scores: ir.Value) -> bool:
    """Whether ``scores`` are a concat, or made of one element by element."""
    pending, seen = [scores], set()
    while pending:
        for op in _makers(pending.pop()):
            if op.name == "tensor.insert_slice":
                return True
            if op not in seen and op.name == "linalg.generic" and "reduction" not in kinds_of(op):
                seen.add(op)
                pending += op.operands
    return False


def keeps_last(reshape: ir.Operation) -> bool:
    """Whether a reshape leaves the last dim as it is."""
    groups = joined_dims(reshape)
    return bool(groups) and len(groups[-1]) == 1


def _makers(value: ir.Value) -> Iterable[ir.Operation]:
    return [] if isinstance(value, ir.BlockArgument) else [value.owner.operation]


def _readers(value: ir.Value) -> Iterable[ir.Operation]:
    return [use.owner.operation for use in value.uses]


def _reaches(
    values: Iterable[ir.Value],
    further: Callable[[ir.Operation], Iterable[ir.Value]],
    neighbours: Callable[[ir.Value], Iterable[ir.Operation]],
) -> bool:
    """Whether a product is found by going from op to op, reductions being the end."""
    pending, seen = list(values), set()
    while pending:
        for op in neighbours(pending.pop()):
            if op in seen:
                continue
            seen.add(op)
            if op.name == "linalg.generic" and "reduction" in kinds_of(op):
                if is_contraction(op):
                    return True
            elif op.name == "linalg.generic" or op.name in (*RESHAPES, *_PARTS):
                pending += further(op)
    return False
