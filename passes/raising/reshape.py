"""Dropping and adding unit dims of a tensor, without leaving pairs of reshapes behind."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlir import ir
from mlir.dialects import linalg, tensor

from ..operations import defining_op
from ..structured import DYNAMIC, sizes_of

RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


def unit_dims(value: ir.Value) -> list[int]:
    """The dims of a tensor whose size is 1."""
    return [dim for dim, size in enumerate(value.type.shape) if size == 1]


def squeeze(value: ir.Value, dropped: Collection[int]) -> ir.Value:
    """``value`` without the unit dims ``dropped``, at the current insertion point."""
    if not dropped:
        return value
    kind = _squeezed_type(value.type, dropped)
    expand = defining_op(value, "tensor.expand_shape")
    while expand is not None:  # dims that were added one by one
        if expand.operands[0].type == kind:
            return expand.operands[0]
        expand = defining_op(expand.operands[0], "tensor.expand_shape")
    if defining_op(value, "tensor.empty") is not None:
        sizes = [size for dim, size in enumerate(sizes_of(value)) if dim not in dropped]
        return tensor.EmptyOp(sizes, kind.element_type).result
    fill = defining_op(value, "linalg.fill")
    if fill is not None:
        return linalg.fill(fill.operands[0], outs=[squeeze(fill.operands[1], dropped)])
    return tensor.CollapseShapeOp(kind, value, reassociation(value.type.rank, dropped)).result


def unsqueeze(value: ir.Value, kind: ir.RankedTensorType, added: Collection[int]) -> ir.Value:
    """``value`` as a tensor of type ``kind``, whose dims ``added`` have size 1, at the insertion point."""
    if not added:
        return value
    sizes = iter(sizes_of(value))
    full = [1 if dim in added else next(sizes) for dim in range(kind.rank)]
    dynamic = [size for size in full if isinstance(size, ir.Value)]
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in full]
    return tensor.ExpandShapeOp(kind, value, reassociation(kind.rank, added), dynamic, static).result


def reassociation(rank: int, unit: Collection[int]) -> ir.ArrayAttr:
    """How ``rank`` dims group so that the dims ``unit`` go: each joins the dim before it, or the first."""
    groups: list[list[int]] = []
    leading: list[int] = []
    for dim in range(rank):
        if dim not in unit:
            groups.append([*leading, dim])
            leading = []
        elif groups:
            groups[-1].append(dim)
        else:
            leading.append(dim)
    return grouped(groups)


def joined_dims(reshape: ir.Operation) -> list[list[int]]:
    """Which dims of the one side of an expand_shape or collapse_shape are each dim of the other."""
    return [[dim.value for dim in group] for group in reshape.attributes["reassociation"]]


def grouped(groups: Sequence[Sequence[int]]) -> ir.ArrayAttr:
    """Groups of dims as a reassociation attribute."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [ir.ArrayAttr.get([ir.IntegerAttr.get(i64, dim) for dim in group]) for group in groups]
    )


def _squeezed_type(kind: ir.RankedTensorType, dropped: Collection[int]) -> ir.RankedTensorType:
    shape = [size for dim, size in enumerate(kind.shape) if dim not in dropped]
    return ir.RankedTensorType.get(shape, kind.element_type)
