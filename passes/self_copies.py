"""Erase copies of a buffer onto itself.

A task gives a result back by ``tensor.parallel_insert_slice`` of all of it. Where the sizes are dynamic,
bufferization cannot see that this is the place where the result already lies, and each task would copy all of
it::

    vector.transfer_write %v, %out[%i, %c0] : vector<8x7xf32>, memref<?x7xf32>
    %all = memref.subview %out[0, 0] [%n, 7] [1, 1] : memref<?x7xf32> to memref<?x7xf32, strided<[7, 1]>>
    memref.copy %out, %all

leaves the write alone. A loop whose steps write into a tensor, one after the other, carries the buffer that
it lies in::

    %b = scf.for %k … iter_args(%a = %out) -> (memref<8x?xf32>) {
      vector.transfer_write %v, %a[%c0, %k] …
      scf.yield %a
    }

and becomes one that writes into ``%out`` and carries nothing. Legal where both sides start at the same
element and step alike: a memref.copy's two sides have the same shape, so then they are the same elements;
where each step of a loop hands on the buffer that it was given.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from .base import Pass
from .operations import attributes_of, ops_named


@dataclass(frozen=True)
class SelfCopies(Pass):
    """Erase copies of a buffer onto itself, and let no loop carry a buffer that never changes."""

    name: ClassVar[str] = "mlopt-self-copies"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops below ``op``, inner ones first; erase copies, and views that only they used."""
        for loop in reversed(ops_named(op, "scf.for")):
            if given := given_buffers(loop):
                write_into(loop, given)
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


def given_buffers(loop: ir.Operation) -> list[int]:
    """The numbers of the carried values that are buffers, and that each step hands on as they are."""
    body = loop.regions[0].blocks[0]
    handed_on = body.operations[len(body.operations) - 1].operands
    return [
        number
        for number, value in enumerate(handed_on)
        if isinstance(value.type, ir.MemRefType) and value == body.arguments[1 + number]
    ]


def write_into(loop: ir.Operation, given: Collection[int]) -> None:
    """Let a loop use the buffers with these numbers as they are outside of it."""
    body = loop.regions[0].blocks[0]
    end = body.operations[len(body.operations) - 1].operation
    kept = [number for number in range(len(loop.results)) if number not in given]
    for number in given:
        outside = loop.operands[3 + number]
        body.arguments[1 + number].replace_all_uses_with(outside)
        loop.results[number].replace_all_uses_with(outside)
    with ir.InsertionPoint(end), end.location:
        scf.YieldOp([end.operands[number] for number in kept])
    end.erase()
    for number in sorted(given, reverse=True):
        body.erase_argument(1 + number)
    with ir.InsertionPoint(loop), loop.location:
        operands = [*list(loop.operands)[:3], *(loop.operands[3 + number] for number in kept)]
        kinds = [loop.results[number].type for number in kept]
        attributes = attributes_of(loop)
        again = ir.Operation.create("scf.for", kinds, operands, attributes, regions=1)
        body.append_to(again.regions[0])
    for number, result in zip(kept, again.results, strict=True):
        loop.results[number].replace_all_uses_with(result)
    loop.erase()


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
