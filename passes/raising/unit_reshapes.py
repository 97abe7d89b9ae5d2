"""Unit dims that one reshape adds and the next one drops disappear from between them.

::

    %e = tensor.expand_shape %s [[0, 1], [2], [3, 4]] : tensor<6x37x41xf32> into tensor<2x3x37x1x41xf32>
    %c = tensor.collapse_shape %e [[0], [1], [2, 3], [4]] into tensor<2x3x37x41xf32>
  ->
    %c = tensor.expand_shape %s [[0, 1], [2], [3]] into tensor<2x3x37x41xf32>

Legal where the unit dim is not all of its group on either side. canonicalize cancels reshapes with the same
groups only; a transpose that moves nothing but a unit dim, as torch.einsum makes them, leaves others.
"""

from __future__ import annotations

from collections.abc import Collection

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..structured import replace_op, structured_ops
from ..subsets import mixed, split
from .reshape import grouped, joined_dims, unit_dims

_Groups = list[list[int]]


def cancel_unit_dims(func: ir.Operation) -> None:
    """Drop the unit dims between the reshapes of ``func``."""
    for collapse in structured_ops(func, "tensor.collapse_shape"):
        expand = defining_op(collapse.operands[0], "tensor.expand_shape")
        if expand is not None:
            _cancel(expand, collapse)


def _cancel(expand: ir.Operation, collapse: ir.Operation) -> None:
    parts, joined = joined_dims(expand), joined_dims(collapse)
    dropped: set[int] = set()
    for dim in unit_dims(expand.results[0]):
        if _has_others(parts, dim, dropped) and _has_others(joined, dim, dropped):
            dropped.add(dim)
    if not dropped:
        return
    view, value = expand.opview, expand.operands[0]
    sizes = mixed(view.static_output_shape, view.output_shape)
    static, dynamic = split([size for dim, size in enumerate(sizes) if dim not in dropped])
    with collapse.location, ir.InsertionPoint(collapse):
        if len(static) > len(parts):
            kind = ir.RankedTensorType.get(static, value.type.element_type)
            value = tensor.ExpandShapeOp(kind, value, _without(parts, dropped), dynamic, static).result
        if len(static) > len(joined):
            kind = collapse.results[0].type
            value = tensor.CollapseShapeOp(kind, value, _without(joined, dropped)).result
    replace_op(collapse, [value])


def _has_others(groups: _Groups, dim: int, dropped: Collection[int]) -> bool:
    """Whether ``dim`` is in a group with others that are not ``dropped``; a tensor without dims has none."""
    return any(dim in group and not {*group} <= {*dropped, dim} for group in groups)


def _without(groups: _Groups, dropped: Collection[int]) -> ir.ArrayAttr:
    """The groups of the dims that are left, by their new numbers."""
    kept = [dim for group in groups for dim in group if dim not in dropped]
    return grouped([[kept.index(dim) for dim in group if dim in kept] for group in groups])
