"""Erase copies of a buffer onto itself.

A task gives a result back by ``tensor.parallel_insert_slice`` of all of it. Where the sizes are dynamic,
bufferization cannot see that this is the place where the result already lies, and each task would copy all of
it::

    vector.transfer_write %v, %out[%i, %c0] : vector<8x7xf32>, memref<?x7xf32>
    %all = memref.subview %out[0, 0] [%n, 7] [1, 1] : memref<?x7xf32> to memref<?x7xf32, strided<[7, 1]>>
    memref.copy %out, %all

leaves the write alone. Legal where both sides start at the same element and step alike: a memref.copy's two
sides have the same shape, so then they are the same elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from .base import Pass
from .operations import ops_named


@dataclass(frozen=True)
class SelfCopies(Pass):
    """Erase copies of a buffer onto itself."""

    name: ClassVar[str] = "mlopt-self-copies"

    def run(self, op: ir.Operation) -> None:
        """Erase them below ``op``, and the views that only they used."""
        for copy in ops_named(op, "memref.copy"):
            if not is_self_copy(copy):
                continue
            views = [value.owner for value in copy.operands if not isinstance(value.owner, ir.Block)]
            copy.erase()
            for view in views:
                if view.name == "memref.subview" and not list(view.results[0].uses):
                    view.operation.erase()


def is_self_copy(copy: ir.Operation) -> bool:
    """Whether both sides of a memref.copy are the same place."""
    source, target = copy.operands
    return _start(source) == _start(target)


def _start(buffer: ir.Value) -> ir.Value:
    """The buffer that ``buffer`` starts with and steps like, however much of it it has."""
    owner = buffer.owner
    if isinstance(owner, ir.Block) or owner.name != "memref.subview":
        return buffer
    view = owner.opview
    same_rank = view.source.type.rank == buffer.type.rank
    if same_rank and not any(view.static_offsets) and all(stride == 1 for stride in view.static_strides):
        return _start(view.source)
    return buffer
