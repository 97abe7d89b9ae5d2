"""Reading tensor.extract_slice and tensor.insert_slice: where the part lies, and which dims it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mlir import ir

from .structured import DYNAMIC

Size: TypeAlias = "int | ir.Value"


def mixed(static: Sequence[int], dynamic: Sequence[ir.Value]) -> list[Size]:
    """Static numbers with the dynamic values in their places."""
    values = iter(dynamic)
    return [next(values) if size == DYNAMIC else size for size in static]


def split(sizes: Sequence[Size]) -> tuple[list[int], list[ir.Value]]:
    """What `mixed` puts together: static numbers, and the dynamic values among them."""
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
    return static, [size for size in sizes if isinstance(size, ir.Value)]


def part_of(op: ir.Operation) -> ir.Value:
    """The smaller tensor: what an extract_slice makes, or an insert_slice puts in."""
    return op.results[0] if op.name == "tensor.extract_slice" else op.operands[0]


def kept_dims(op: ir.Operation) -> list[int]:
    """The dims of the larger tensor that the part has, in order; it may lack any of (static) size 1.

    Where several could be the missing one, the last are kept, as upstream does it.
    """
    shape = list(part_of(op).type.shape)
    sizes = list(op.opview.static_sizes)
    kept: list[int] = []
    for dim in reversed(range(len(sizes))):
        if shape and (sizes[dim] != 1 or shape[-1] == 1):
            kept.append(dim)
            shape.pop()
    return kept[::-1]


def part_sizes(op: ir.Operation) -> list[Size]:
    """The size of each dim of the part."""
    sizes = mixed(op.opview.static_sizes, op.opview.sizes)
    return [sizes[dim] for dim in kept_dims(op)]
