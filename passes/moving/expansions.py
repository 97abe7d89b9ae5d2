"""Element-wise ops on inputs run on the parts that their reader needs, which no longer waits for a view.

::

    %r = generic {relu} (i, j) ins(%x at (i, j), %bias at (j))
    %e = tensor.expand_shape %r : tensor<6x32xf32> into tensor<6x4x8xf32>
    %t = generic {transpose} (h, i, d) ins(%e at (i, h, d))
  ->
    %v = tensor.expand_shape %x
    %b = tensor.expand_shape %bias
    %e = generic {relu} (i, h, d) ins(%v at (i, h, d), %b at (h, d))
    %t = generic {transpose} (h, i, d) ins(%e at (i, h, d))

Legal where each tensor that has a split loop has it as a dim of its own, the sizes are known, and the body
does not ask for its number. Done where nothing else reads what is expanded and it was not made of rows or
products, whose kernels the ops would leave.
"""

from __future__ import annotations

from mlir import ir

from ..raising.bodies import is_contraction
from ..structured import (
    ATTENTION,
    defining_op,
    has_one_use,
    inputs_of,
    kinds_of,
    maps_of,
    replace_op,
    structured_ops,
)
from .splits import can_split, parts_of, split


def lift_expansions(func: ir.Operation) -> None:
    """Move expand_shapes of ``func`` before the element-wise ops that they expand, the last op first."""
    for op in reversed(structured_ops(func)):
        if not can_lift(op.results[0]):
            continue
        expand = next(iter(op.results[0].uses)).owner.operation
        if expand.name != "tensor.expand_shape" or not _is_read_by_generics(expand.results[0]):
            continue
        parts = parts_of(expand, maps_of(op)[-1])
        if parts is not None:
            replace_op(expand, split(op, parts))
            op.erase()


def can_lift(value: ir.Value) -> bool:
    """Whether what makes ``value`` is element-wise, for one reader, and can be computed in parts."""
    op = defining_op(value, "linalg.generic")
    if op is None or "reduction" in kinds_of(op) or len(op.results) != 1 or not has_one_use(value):
        return False
    return can_split(op) and not _rests_on_rows(op)


def _rests_on_rows(op: ir.Operation) -> bool:
    """Whether ``op`` reads, by way of other element-wise ops or not, a reduction, a product or attention."""
    seen, ops = {op}, [op]
    for each in ops:  # grows
        for value in inputs_of(each):
            maker = defining_op(value, "linalg.generic", ATTENTION)
            if maker is None or maker in seen:
                continue
            if maker.name == ATTENTION or "reduction" in kinds_of(maker):
                return True
            seen.add(maker)
            ops.append(maker)
    return False


def _is_read_by_generics(value: ir.Value) -> bool:
    readers = [use.owner.operation for use in value.uses]
    return all(reader.name == "linalg.generic" and not is_contraction(reader) for reader in readers)
