"""Views that split a dim into several of dynamic size, as sizes and strides.

::

    %v = memref.expand_shape %b [[0, 1]] output_shape [%m, %n] : memref<?xf32> into memref<?x?xf32>
  ->
    %base, %offset, %size, %stride = memref.extract_strided_metadata %b
    %v = memref.reinterpret_cast %base to offset: [%offset], sizes: [%m, %n], strides: [%stride * %n, %stride]

expand-strided-metadata aborts where a group has more than one dynamic size: it takes the second for unknown.
The op says all of them. Legal always: the elements are the same.

Lowering: programs with such views do not compile without it. 4 ms of compile time for two GPT-2 blocks, which
have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, memref

from .base import Pass
from .constants import index_constant
from .operations import ops_named
from .raising.reshape import joined_dims
from .structured import DYNAMIC, replace_op
from .subsets import Size, mixed, split


@dataclass(frozen=True)
class LowerExpansions(Pass):
    """Write views that split a dim into several of dynamic size as sizes and strides."""

    name: ClassVar[str] = "mlopt-lower-expansions"
    op_name: ClassVar[str] = "any"

    def run(self, op: ir.Operation) -> None:
        """Lower them below ``op``."""
        for view in ops_named(op, "memref.expand_shape"):
            groups = joined_dims(view)
            shape = view.results[0].type.shape
            if any(sum(shape[dim] == DYNAMIC for dim in group) > 1 for group in groups):
                with view.location, ir.InsertionPoint(view):
                    _lower(view, groups)


def _lower(view: ir.Operation, groups: list[list[int]]) -> None:
    kind = view.results[0].type
    sizes = mixed(list(view.opview.static_output_shape), list(view.opview.output_shape))
    source = memref.ExtractStridedMetadataOp(view.operands[0])
    before, offset = view.operands[0].type.get_strides_and_offset()
    strides: list[Size] = [0] * len(sizes)
    for place, group in enumerate(groups):
        stride: Size = source.strides[place] if before[place] == DYNAMIC else before[place]
        for dim in reversed(group):
            strides[dim] = stride
            stride = _times(stride, sizes[dim]) if dim > group[0] else stride
    static_offset, offsets = split([source.offset if offset == DYNAMIC else offset])
    (static_sizes, values), (static_strides, steps) = split(sizes), split(strides)
    cast = memref.ReinterpretCastOp(
        kind, source.base_buffer, offsets, values, steps, static_offset, static_sizes, static_strides
    )
    replace_op(view, [cast.result])


def _times(one: Size, other: Size) -> Size:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    if one == 1 or other == 1:
        return other if one == 1 else one
    return arith.muli(*(index_constant(each) if isinstance(each, int) else each for each in (one, other)))
