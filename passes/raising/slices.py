"""tensor.concat and tensor.pad become fills and insert_slices, which write their part of one buffer.

::

    tensor.concat dim(1) %a, %b           ->  insert_slice %b into (insert_slice %a into tensor.empty)[0, n]
    tensor.pad %x low[1] high[2] {%c}     ->  insert_slice %x into (fill %c)[1]

Padding that is not one value for all elements is written by index; a negative pad takes a part. Legal always.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ...dialects.attributes import OP
from ..constants import index_constant
from ..operations import defining_op
from ..structured import DYNAMIC, body_of, replace_op, sizes_of, structured_ops
from ..subsets import Size, mixed, split
from .generated import fill_by_index


def lower_concat_and_pad(func: ir.Operation) -> None:
    """Rewrite each tensor.concat and tensor.pad of ``func``."""
    for op in structured_ops(func, "tensor.concat"):
        _lower_concat(op)
    for op in structured_ops(func, "tensor.pad"):
        lower_pad(op)


def padding_value(op: ir.Operation) -> ir.Value | None:
    """The one value that a tensor.pad pads with, defined outside of its body; None if it varies."""
    value = body_of(op).operations[-1].operation.operands[0]
    return None if _is_inside(value, op) else value


def lower_pad(op: ir.Operation) -> None:
    """Replace one tensor.pad by a fill and an insert_slice; of a side that is cropped, a part is taken."""
    source, kind = op.operands[0], op.results[0].type
    low = mixed(op.opview.static_low, op.opview.low)
    high = mixed(op.opview.static_high, op.opview.high)
    with ir.InsertionPoint(op), op.location:
        sizes = [
            size if size != DYNAMIC else add_sizes(add_sizes(before, part), after)
            for size, before, part, after in zip(kind.shape, low, sizes_of(source), high, strict=True)
        ]
        empty = tensor.EmptyOp(sizes, kind.element_type).result
        source = _cropped(source, low, high)
        value = padding_value(op)
        filled = fill_by_index(op, empty) if value is None else linalg.fill(value, outs=[empty])
        starts = [max(start, 0) if isinstance(start, int) else start for start in low]
        replace_op(op, [insert(source, filled, starts, sizes_of(source), "pad")])


def _cropped(source: ir.Value, low: Sequence[Size], high: Sequence[Size]) -> ir.Value:
    """``source`` without what negative pads take away."""
    front, back = ([min(pad, 0) if isinstance(pad, int) else 0 for pad in pads] for pads in (low, high))
    if not any((*front, *back)):
        return source
    sizes = [
        add_sizes(size, before + after)
        for size, before, after in zip(sizes_of(source), front, back, strict=True)
    ]
    static, dynamic = split(sizes)
    kind = ir.RankedTensorType.get(static, source.type.element_type)
    starts, steps = [-before for before in front], [1] * len(static)
    return tensor.ExtractSliceOp(kind, source, [], dynamic, [], starts, static, steps).result


def _lower_concat(op: ir.Operation) -> None:
    dim, kind = op.attributes["dim"].value, op.results[0].type
    parts = [_uncast(part) for part in op.operands]
    with ir.InsertionPoint(op), op.location:
        total: Size = 0
        starts: list[Size] = []
        for part in parts:
            starts.append(total)
            total = add_sizes(total, sizes_of(part)[dim])
        sizes = [
            size if size != DYNAMIC else _size_of_result(parts, number, dim, total)
            for number, size in enumerate(kind.shape)
        ]
        whole = tensor.EmptyOp(sizes, kind.element_type).result
        for part, start in zip(parts, starts, strict=True):
            if 0 not in part.type.shape:
                offsets: list[Size] = [start if number == dim else 0 for number in range(kind.rank)]
                whole = insert(part, whole, offsets, sizes_of(part), "concat")
        replace_op(op, [whole])


def _size_of_result(parts: Sequence[ir.Value], number: int, dim: int, total: Size) -> Size:
    return total if number == dim else sizes_of(parts[0])[number]


def insert(
    part: ir.Value, whole: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size], label: str
) -> ir.Value:
    """``tensor.insert_slice part into whole[offsets][sizes][1, …]`` at the current insertion point."""
    (static_offsets, dynamic_offsets), (static_sizes, dynamic_sizes) = split(offsets), split(sizes)
    op = tensor.InsertSliceOp(
        part, whole, dynamic_offsets, dynamic_sizes, [], static_offsets, static_sizes, [1] * len(offsets)
    )
    OP.set(op, label)
    return op.result


def add_sizes(one: Size, other: Size) -> Size:
    """The sum of two sizes, computed here if both are numbers."""
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    if isinstance(one, int) and one == 0:
        return other
    if isinstance(other, int) and other == 0:
        return one
    return arith.addi(*(index_constant(size) if isinstance(size, int) else size for size in (one, other)))


def _uncast(value: ir.Value) -> ir.Value:
    """A tensor behind casts to a less static type."""
    cast = defining_op(value, "tensor.cast")
    return cast.operands[0] if cast is not None else value


def _is_inside(value: ir.Value, op: ir.Operation) -> bool:
    if isinstance(value, ir.BlockArgument):
        return value.owner == body_of(op)
    return value.owner.operation.parent.operation == op
