"""A chain of reshapes becomes one tensor.collapse_shape and one tensor.expand_shape, or one of them.

::

    %e = tensor.expand_shape %x : tensor<8x96xf32> into tensor<1x8x96xf32>
    %c = tensor.collapse_shape %e into tensor<1x768xf32>
    %f = tensor.expand_shape %c into tensor<1x64x12xf32>
    %v = tensor.collapse_shape %f into tensor<64x12xf32>
  ->
    %c = tensor.collapse_shape %x into tensor<768xf32>
    %v = tensor.expand_shape %c into tensor<64x12xf32>

Legal always. Done where all sizes are known and more than 1: canonicalize stops at dims of one element.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul

from mlir import ir
from mlir.dialects import tensor

from ..operations import block_ops, defining_op
from ..raising.reshape import RESHAPES, grouped
from ..structured import replace_op

_Groups = list[list[int]]  # of dims, in order


def shorten_reshapes(func: ir.Operation) -> None:
    """Replace what chains of reshapes in ``func`` end with."""
    for op in block_ops(func):
        if op.name in RESHAPES and any(use.owner.name not in RESHAPES for use in op.results[0].uses):
            source, count = _origin(op)
            groups = _groups(source.type.shape, op.results[0].type.shape) if count > 2 else None
            if groups is not None:
                with ir.InsertionPoint(op), op.location:
                    replace_op(op, [_viewed(source, *groups, op.results[0].type.shape)])


def _origin(op: ir.Operation) -> tuple[ir.Value, int]:
    """What a chain of reshapes, of which ``op`` is the last, begins with, and how many they are."""
    before = defining_op(op.operands[0], *RESHAPES)
    if before is None:
        return op.operands[0], 1
    source, count = _origin(before)
    return source, count + 1


def _groups(source: Sequence[int], result: Sequence[int]) -> tuple[_Groups, _Groups] | None:
    """Dims of one shape and of the other that are as many elements; None where sizes are 1 or unknown."""
    if any(size < 2 for size in (*source, *result)):
        return None
    ends = sorted({*accumulate(source, mul)} & {*accumulate(result, mul)})
    both = []
    for shape in (source, result):
        found: _Groups = [[] for _ in ends]
        for dim, end in enumerate(accumulate(shape, mul)):
            found[bisect_left(ends, end)].append(dim)
        both.append(found)
    return both[0], both[1]


def _viewed(source: ir.Value, joined: _Groups, parts: _Groups, shape: Sequence[int]) -> ir.Value:
    """``source`` with dims ``joined``, and then split into ``parts`` of that ``shape``."""
    kind = source.type
    if len(joined) < kind.rank:
        sizes = [prod(kind.shape[dim] for dim in group) for group in joined]
        flat = ir.RankedTensorType.get(sizes, kind.element_type)
        source = tensor.CollapseShapeOp(flat, source, grouped(joined)).result
    if len(parts) < len(shape):
        whole = ir.RankedTensorType.get(shape, kind.element_type)
        source = tensor.ExpandShapeOp(whole, source, grouped(parts), [], shape).result
    return source
