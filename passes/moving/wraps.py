"""A concat of slices of one tensor, as of a roll, is one read of it, at rows whose places are computed.

::

    %a = tensor.extract_slice %x[3, 0] [53, 96]                   %x : tensor<56x96xf32>
    %b = tensor.extract_slice %x[0, 0] [3, 96]
    %c = insert_slice %b into (insert_slice %a into tensor.empty)[53, 0]
    tensor.expand_shape %c into tensor<8x7x96xf32>
  ->
    %c = generic {concat} (i, j) { tensor.extract %x[i + select(i < 53, 3, -53), j] }
    tensor.expand_shape %c into tensor<8x7x96xf32>

Legal where the slices are whole in the other dims, from known places on, one step apart. Done where a view of
the concat is read by more than a product, for a view has no such parts (`concats`), or it is one of several
along different dims; and rows, what lies behind the dim, are long. Other concats are quicker part by part.
A Swin block's windows, shifted, multiplied, put back and shifted back, are 3 kernels, not 7.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import index_constant
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import RESHAPES
from ..structured import (
    DYNAMIC,
    body_of,
    erase_dead,
    is_used,
    label_of,
    make_generic,
    replace_op,
    same_size,
    sizes_of,
    structured_ops,
)
from .concat_parts import Concat, concat_of

MOST_ROLLED = 4  # each one more comparison for each row
SHORTEST = 16  # elements of a row


def read_wraps(func: ir.Operation) -> None:
    """Rewrite the concats of slices of one tensor in ``func``, the last one first: those behind it decide."""
    for op in reversed(structured_ops(func, "tensor.insert_slice")):
        concat = concat_of(op.results[0], thin=True) if is_used(op.results[0]) else None
        source = None if concat is None else sliced(op.results[0], concat)
        if concat is not None and source is not None and should_read(op.results[0], concat, source):
            _read(op, concat, source)
    erase_dead(func)  # a slice that nothing reads would be a reader still


def sliced(whole: ir.Value, concat: Concat) -> ir.Value | None:
    """The tensor of which all parts are slices along the concat's dim alone; None if there is none."""
    sources = [_source(part, concat.dim) for part in concat.values]
    source, rank, dim = sources[0], whole.type.rank, concat.dim
    if source is None or len(sources) < 2 or any(other is None or other != source for other in sources):
        return None
    shapes = [[*kind.shape[:dim], *kind.shape[dim + 1 :]] for kind in (source.type, whole.type)]
    return source if source.type.rank == rank and shapes[0] == shapes[1] else None


def should_read(whole: ir.Value, concat: Concat, source: ir.Value) -> bool:
    """Whether rows are long, few places are told apart, and parts would keep ``whole`` out of its readers."""
    row = prod(SHORTEST if size == DYNAMIC else size for size in whole.type.shape[concat.dim + 1 :])
    if row < SHORTEST or len(concat.values) > MOST_ROLLED:
        return False
    before = concat_of(source, thin=True)
    is_second = before is not None and sliced(source, before) is not None
    return is_second or any(_is_in_the_way(use.owner.operation) for use in whole.uses)


def _is_in_the_way(reader: ir.Operation) -> bool:
    """Whether ``reader`` takes places of its own, or is a view that something does which can be joined."""
    if reader.name not in RESHAPES:
        return bool(reader.name == "tensor.extract")
    readers = (use.owner.operation for use in reader.results[0].uses)
    return any(
        _is_in_the_way(each) or (each.name == "linalg.generic" and not is_contraction(each))
        for each in readers
    )


def _source(part: ir.Value, dim: int) -> ir.Value | None:
    """What ``part`` is a slice of, if that is whole but for ``dim``; a part that is no slice, itself."""
    op = defining_op(part, "tensor.extract_slice")
    if op is None:
        return part
    view, source = op.opview, op.operands[0]
    if dim >= source.type.rank or any(step != 1 for step in view.static_strides):
        return None
    if DYNAMIC in view.static_offsets or source.type.shape[dim] == DYNAMIC:
        return None
    sizes = iter(view.sizes)
    for number, (start, size) in enumerate(zip(view.static_offsets, view.static_sizes, strict=True)):
        given = next(sizes) if size == DYNAMIC else None
        if number == dim:
            continue
        is_all = same_size(given, source, number) if given is not None else size == source.type.shape[number]
        if start or not is_all:
            return None
    return source


def _start(part: ir.Value, source: ir.Value, dim: int) -> int:
    """Where ``part`` begins in ``source``."""
    return 0 if part == source else part.owner.opview.static_offsets[dim]


def _read(op: ir.Operation, concat: Concat, source: ir.Value) -> None:
    rank = source.type.rank
    at = ir.InsertionPoint(op)
    with op.location, at:
        init = tensor.EmptyOp(sizes_of(op.results[0]), source.type.element_type).result
        where = ir.AffineMap.get_identity(rank)
        read = make_generic(
            [], [init], [where], ["parallel"] * rank, label_of(op), location=op.location, at=at
        )
    with op.location, ir.InsertionPoint(body_of(read)):
        indices = [linalg.IndexOp(loop).result for loop in range(rank)]
        loop = indices[concat.dim]
        parts = zip(concat.values, concat.places, strict=True)
        moves = [(_start(part, source, concat.dim) - start, start) for part, (start, _) in parts]
        shift = index_constant(moves[-1][0])
        for (move, _), (_, end) in reversed(list(pairwise(moves))):
            is_before = arith.cmpi(arith.CmpIPredicate.ult, loop, index_constant(end))
            shift = arith.select(is_before, index_constant(move), shift)
        indices[concat.dim] = arith.addi(loop, shift)
        linalg.YieldOp([tensor.ExtractOp(source, indices).result])
    replace_op(op, list(read.results))
