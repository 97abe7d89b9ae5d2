"""tensor.concat and tensor.pad become fills and insert_slices, which write their part of one buffer.

::

    tensor.concat dim(1) %a, %b           ->  insert_slice %b into (insert_slice %a into tensor.empty)[0, n]
    tensor.pad %x low[1] high[2] {%c}     ->  insert_slice %x into (fill %c)[1]

Legal where the padding is one value for all elements; a negative pad (a crop) is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..structured import (
    DYNAMIC,
    OP_LABEL,
    body_of,
    defining_op,
    index_constant,
    replace_op,
    sizes_of,
    structured_ops,
)
from ..subsets import Size, mixed, split


def lower_concat_and_pad(func: ir.Operation) -> None:
    """Rewrite each tensor.concat and tensor.pad of ``func``."""
    for op in structured_ops(func, "tensor.concat"):
        _lower_concat(op)
    for op in structured_ops(func, "tensor.pad"):
        if padding_value(op) is not None and can_lower_pad(op):
            lower_pad(op)


def padding_value(op: ir.Operation) -> ir.Value | None:
    """The one value that a tensor.pad pads with, defined outside of its body; None if it varies."""
    value = list(body_of(op).operations)[-1].operation.operands[0]
    return None if _is_inside(value, op) else value


def can_lower_pad(op: ir.Operation) -> bool:
    """Whether no side is cropped."""
    return all(pad >= 0 or pad == DYNAMIC for pad in (*op.opview.static_low, *op.opview.static_high))


def lower_pad(op: ir.Operation) -> None:
    """Replace one tensor.pad by a fill and an insert_slice."""
    source, kind = op.operands[0], op.results[0].type
    low = mixed(op.opview.static_low, op.opview.low)
    high = mixed(op.opview.static_high, op.opview.high)
    with ir.InsertionPoint(op), op.location:
        inner = sizes_of(source)
        sizes = [
            size if size != DYNAMIC else add_sizes(add_sizes(before, part), after)
            for size, before, part, after in zip(kind.shape, low, inner, high, strict=True)
        ]
        empty = tensor.EmptyOp(sizes, kind.element_type).result
        filled = linalg.fill(padding_value(op), outs=[empty])
        replace_op(op, [insert(source, filled, low, inner, "pad")])


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
    op.operation.attributes[OP_LABEL] = ir.StringAttr.get(label)
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
