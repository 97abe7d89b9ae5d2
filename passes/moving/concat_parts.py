"""Concats as raising leaves them: a chain of tensor.insert_slice into an empty tensor, along one dim."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from ..operations import defining_op
from ..structured import DYNAMIC


@dataclass(frozen=True)
class Concat:
    """Tensors one after the other along ``dim``; ``places`` has the start and the size of each there."""

    dim: int
    values: tuple[ir.Value, ...]
    places: tuple[tuple[int, int], ...]


def concat_of(value: ir.Value, *, thin: bool = False) -> Concat | None:
    """What ``value`` is put together from; None if it is not one tensor after the other, of known sizes.

    ``thin``: parts of one element along a dim may lack that dim.
    """
    op = defining_op(value, "tensor.insert_slice")
    values: list[ir.Value] = []
    places: list[tuple[int, int]] = []
    dim = None if op is None else _dim_of_part(op, thin)
    end = None if dim is None else value.type.shape[dim]
    while op is not None and dim is not None and _dim_of_part(op, thin) == dim:
        start, size = op.opview.static_offsets[dim], op.opview.static_sizes[dim]
        if DYNAMIC in (start, size, end) or start + size != end:
            return None
        values.insert(0, op.operands[0])
        places.insert(0, (start, size))
        end, onto = start, op.operands[1]
        if end == 0:
            empty = defining_op(onto, "tensor.empty") is not None
            return Concat(dim, tuple(values), tuple(places)) if empty else None
        op = defining_op(onto, "tensor.insert_slice") if _is_for_parts(onto) else None
    return None


def _is_for_parts(value: ir.Value) -> bool:
    """Whether parts are put into ``value``, of one concat or of several, and nothing else reads it."""
    return all(use.owner.name == "tensor.insert_slice" and use.operand_number == 1 for use in value.uses)


def _dim_of_part(op: ir.Operation, thin: bool) -> int | None:
    """The one dim along which a tensor.insert_slice puts a part and not all of what it is put into."""
    view, whole = op.opview, op.operands[1].type
    if not thin and op.operands[0].type.rank != whole.rank:
        return None
    if any(step != 1 for step in view.static_strides):
        return None
    known = zip(view.static_offsets, view.static_sizes, whole.shape, strict=True)
    dims = [dim for dim, (start, size, extent) in enumerate(known) if start != 0 or size != extent]
    return dims[0] if len(dims) == 1 else None
