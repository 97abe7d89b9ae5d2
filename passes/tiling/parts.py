"""Parts of one buffer that lie apart: one kernel may write them, in any order.

::

    %0 = tensor.insert_slice %a into tensor.empty[0, 0] [8, 32]
    %1 = tensor.insert_slice %b into %0[0, 32] [8, 32]

Parts of one size run side by side: a task writes its tile of each. Of others it writes all, along the dims in
which they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from mlir import ir

from ..operations import defining_op
from ..structured import DYNAMIC

LARGEST_PART = 1 << 14  # elements of a part that one task writes: a row, or a few


def parts_below(op: ir.Operation) -> Iterator[ir.Operation]:
    """The tensor.insert_slices whose result ``op`` inserts into, the last first."""
    below = defining_op(op.operands[1], "tensor.insert_slice")
    while below is not None:
        yield below
        below = defining_op(below.operands[1], "tensor.insert_slice")


def lie_apart(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two tensor.insert_slices write different elements of one buffer: along some dim, known now."""
    if one.operands[1].type.rank != other.operands[1].type.rank:
        return False
    return any(
        first is not None and second is not None and (first[1] <= second[0] or second[1] <= first[0])
        for first, second in zip(_ranges(one), _ranges(other), strict=True)
    )


def _ranges(op: ir.Operation) -> list[tuple[int, int] | None]:
    """Where a part begins and ends along each dim; None where that is not known."""
    view = op.opview
    return [
        None if DYNAMIC in place else (place[0], place[0] + (place[1] - 1) * place[2] + 1)
        for place in zip(view.static_offsets, view.static_sizes, view.static_strides, strict=True)
    ]


def why_not_together(op: ir.Operation) -> str | None:
    """Why the part ``op`` and the ones below it are not written by one kernel; None if they can be."""
    for below in parts_below(op):
        if not lie_apart(op, below):
            return "a part may lie over another one"
        one, other = list(op.opview.static_sizes), list(below.opview.static_sizes)
        differing = next((dim for dim in range(len(one)) if one[dim] != other[dim]), None)
        if differing is None:
            continue
        rows = [size[differing:] for size in (one, other)]
        if any(DYNAMIC in row or prod(row) > LARGEST_PART for row in rows):
            return "of parts of different sizes one task would write all"
    return None
