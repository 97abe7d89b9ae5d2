"""Slices become generics that read with an offset, and come after the reshapes that they can pass.

::

    tensor.expand_shape (tensor.extract_slice %x[0, 768] [128, 768]) into 128x12x64
  ->
    %e = tensor.expand_shape %x into 128x36x64
    generic {mlopt.op = "slice"} (t, h, d) -> (t, h + 12, d) ins(%e)

Legal for slices with static offsets and steps of one; a reshape is passed where start, size and the sliced
dim are whole multiples of its inner dims. Then what reads a slice reads the whole tensor at other places.
A loop that stands alone in a map runs through the whole dim, so a part from 0 on is written ``h mod size``.
"""

from __future__ import annotations

import math

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..structured import DYNAMIC, label_of, make_copy, replace_op, same_size, sizes_of, structured_ops
from ..subsets import Size, kept_dims, mixed, part_sizes, split


def lower_slices(func: ir.Operation) -> None:
    """Rewrite the slices of ``func``."""
    for op in structured_ops(func, "tensor.expand_shape"):
        source = defining_op(op.operands[0], "tensor.extract_slice")
        if source is not None:
            _pass_reshape(source, op)
    for op in structured_ops(func, "tensor.extract_slice"):
        if can_be_read(op):
            _read_at_offset(op)


def can_be_read(op: ir.Operation) -> bool:
    """Whether the slice is a read at fixed places, one step apart."""
    view, source = op.opview, op.operands[0]
    if DYNAMIC in view.static_offsets or any(stride != 1 for stride in view.static_strides):
        return False
    sizes = iter(view.sizes)
    for dim, (extent, offset) in enumerate(zip(view.static_sizes, view.static_offsets, strict=True)):
        size = next(sizes) if extent == DYNAMIC else None
        if source.type.shape[dim] != DYNAMIC or offset:
            continue
        if size is None or not same_size(size, source, dim):  # whether it is all of the dim is not known
            return False
    return True


def _pass_reshape(op: ir.Operation, reshape: ir.Operation) -> None:
    """Reshape the sliced tensor instead of the slice."""
    view, source, kind = op.opview, op.operands[0], reshape.results[0].type
    if op.results[0].type.rank != source.type.rank or not can_pass(op, reshape):
        return
    groups = reshape.attributes["reassociation"]
    with reshape.location, ir.InsertionPoint(reshape):
        slices = zip(
            mixed(view.static_offsets, view.offsets),
            mixed(view.static_sizes, view.sizes),
            mixed(view.static_strides, view.strides),
            sizes_of(source),
            strict=True,
        )
        shape: list[Size] = []
        parts: list[tuple[Size, Size, Size]] = []  # offset, size and stride of each new dim
        for group, (offset, size, stride, whole) in zip(groups, slices, strict=True):
            inner = [kind.shape[each.value] for each in group][1:]
            if not inner:
                shape.append(whole)
                parts.append((offset, size, stride))
                continue
            block = math.prod(inner)
            shape += [_number(whole) // block, *inner]
            parts += [
                (_number(offset) // block, _number(size) // block, 1),
                *((0, each, 1) for each in inner),
            ]
        static, dynamic = split(shape)
        expanded = tensor.ExpandShapeOp(
            ir.RankedTensorType.get(static, kind.element_type), source, groups, dynamic, static
        ).result
        (offsets, more_offsets), (sizes, more_sizes), (strides, more_strides) = (
            split([part[which] for part in parts]) for which in range(3)
        )
        sliced = tensor.ExtractSliceOp(
            kind, expanded, more_offsets, more_sizes, more_strides, offsets, sizes, strides
        ).result
    replace_op(reshape, [sliced])


def can_pass(op: ir.Operation, reshape: ir.Operation) -> bool:
    """Whether what is split of the slice is a whole number of blocks of the sliced tensor, too."""
    view, kind = op.opview, reshape.results[0].type
    for dim, group in enumerate(reshape.attributes["reassociation"]):
        inner = [kind.shape[each.value] for each in group][1:]
        block = math.prod(inner)
        numbers = (op.operands[0].type.shape[dim], view.static_offsets[dim], view.static_sizes[dim])
        if inner and (DYNAMIC in (*inner, *numbers) or view.static_strides[dim] != 1 or block == 0):
            return False
        if inner and any(number % block for number in numbers):
            return False
    return True


def _number(size: Size) -> int:
    assert isinstance(size, int)
    return size


def _read_at_offset(op: ir.Operation) -> None:
    """A generic over the slice, which reads ``source`` from the offset on."""
    source, result = op.operands[0], op.results[0]
    with op.location:
        kept = kept_dims(op)
        exprs = [
            _place(op, dim, kept.index(dim)) if dim in kept else ir.AffineExpr.get_constant(offset)
            for dim, offset in enumerate(op.opview.static_offsets)
        ]
        read = ir.AffineMap.get(result.type.rank, 0, exprs)
        with ir.InsertionPoint(op):
            empty = tensor.EmptyOp(part_sizes(op), result.type.element_type).result
        label = label_of(op) or "slice"
        copy = make_copy(source, empty, read, label, location=op.location, at=ir.InsertionPoint(op))
    replace_op(op, copy.results)


def _place(op: ir.Operation, dim: int, loop: int) -> ir.AffineExpr:
    """Where ``loop`` reads in a dim of the source."""
    offset, extent = op.opview.static_offsets[dim], op.opview.static_sizes[dim]
    size = op.operands[0].type.shape[dim]
    expr = ir.AffineDimExpr.get(loop)
    return expr + offset if offset or extent == size else ir.AffineExpr.get_mod(expr, size)
