"""A concat of slices of one tensor, as of a roll, is one read of it, at rows whose places are computed.

::

    %a = tensor.extract_slice %x[3, 0] [53, 96]                   %x : tensor<56x96xf32>
    %b = tensor.extract_slice %x[0, 0] [3, 96]
    %c = insert_slice %b into (insert_slice %a into tensor.empty)[53, 0]
    tensor.expand_shape %c into tensor<8x7x96xf32>
  ->
    %c = generic {concat} (i, j) { tensor.extract %x[select(i < 53, i + 3, i - 53), j] }
    tensor.expand_shape %c into tensor<8x7x96xf32>

Slices of one element that come in turned order, or again, as of what is reflected or replicated at an edge,
are one piece: ``select(j < 2, 2 - j, …)``, ``select(j < 2, 0, …)``.

Legal where the slices are whole in the other dims, from known places on, one step apart. Done where a view of
the concat is read by more than a product, for a view has no such parts (`concats`), or it is one of several
along different dims; and rows, what lies behind the dim, are long. On GPUs also where rows of a last dim are
rolled, or lie between borders, and are read by whole accesses so (`gpu/layouts/pieces.py`), while parts would
be stored where none begins; and where borders would be many parts, or parts of short rows. Other concats are
quicker part by part.
A Swin block's windows, shifted, multiplied, put back and shifted back, are 3 kernels, not 7. On sm_80 16x64
images of 56x56 in f32 have a reflected border after one kernel, which reads no index, not after two that do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import index_constant
from ..costs.machine import Machine
from ..costs.wide_rows import has_both_rows, is_worth_bordering
from ..gpu.layouts.access import WIDE
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
FEW = 8  # elements of a border: with more of them, borders are more than what lies between soon
WORD = 4  # bytes: of larger elements a GPU's accesses have too few to be shifted into place
LANES = 128  # of a GPU's block


@dataclass(frozen=True)
class Piece:
    """Elements ``start`` to ``end`` along a concat's dim: the source's from ``place`` on, ``step`` apart."""

    start: int
    end: int
    place: int
    step: int = 1

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self.end - self.start

    def joined(self, other: Piece) -> Piece | None:
        """The piece with the element behind, if its last one comes again, or the one before that; or None."""
        step = other.place - self.place if self.size == 1 else self.step
        goes_on = other.size == 1 and step in (0, -1) and other.place == self.place + step * self.size
        return replace(self, end=other.end, step=step) if goes_on else None


def read_wraps(func: ir.Operation, machine: Machine) -> None:
    """Rewrite the concats of slices of one tensor in ``func``, the last one first: those behind it decide."""
    for op in reversed(structured_ops(func, "tensor.insert_slice")):
        concat = concat_of(op.results[0], thin=True) if is_used(op.results[0]) else None
        source = None if concat is None else sliced(op.results[0], concat)
        if concat is not None and source is not None and should_read(op.results[0], concat, source, machine):
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


def should_read(whole: ir.Value, concat: Concat, source: ir.Value, machine: Machine) -> bool:
    """Whether few places are told apart, rows are long, and parts would keep ``whole`` out of its readers.

    Or a GPU has it from whole accesses, or has borders that are dear as parts.
    """
    pieces = pieces_of(concat, source)
    if len(pieces) > MOST_ROLLED:
        return False
    if machine.chips and is_loaded_wide(pieces, whole, source, concat.dim):
        return True
    before = concat_of(source, thin=True)
    is_second = before is not None and sliced(source, before) is not None
    has_borders = _main(pieces, source, concat.dim) is not None
    if machine.chips and has_borders and (is_second or should_join_borders(concat, whole)):
        return True
    row = prod(SHORTEST if size == DYNAMIC else size for size in whole.type.shape[concat.dim + 1 :])
    if row < SHORTEST:
        return False
    return is_second or any(_is_in_the_way(use.owner.operation) for use in whole.uses)


def pieces_of(concat: Concat, source: ir.Value) -> list[Piece]:
    """What a concat has of ``source``, in order, joined as far as it goes on."""
    found: list[Piece] = []
    for part, (start, size) in zip(concat.values, concat.places, strict=True):
        piece = Piece(start, start + size, _start(part, source, concat.dim))
        joined = found[-1].joined(piece) if found else None
        found[len(found) - (joined is not None) :] = [joined or piece]
    return found


def is_loaded_wide(pieces: Sequence[Piece], whole: ir.Value, source: ir.Value, dim: int) -> bool:
    """Whether a GPU's threads have a rolled row, or one with borders, from whole accesses (`pieces_of`)."""
    kind, shape = whole.type.element_type, whole.type.shape
    if dim != len(shape) - 1 or DYNAMIC in shape or not isinstance(kind, (ir.FloatType, ir.IntegerType)):
        return False
    size = -(-kind.width // 8)
    each, row = WIDE // size, shape[-1]
    main = _main(pieces, source, dim)
    if main is not None:
        gap = main.size - row
        return is_worth_bordering(each, row) and has_both_rows(source.type.shape, gap, -main.start, each, row)
    if len(pieces) != 2 or size > WORD:
        return False
    one, other = pieces
    is_turned = one.step == other.step == 1 and other.place == 0 and one.place == other.size
    return is_turned and row == source.type.shape[-1] and row % each == 0 and one.size % each != 0


def should_join_borders(concat: Concat, whole: ir.Value) -> bool:
    """Whether parts on a GPU would be many, or of rows that leave lanes without elements."""
    row = whole.type.shape[-1]
    is_short = concat.dim == whole.type.rank - 1 and row < LANES
    return is_short or len(concat.values) > MOST_ROLLED


def _main(pieces: Sequence[Piece], source: ir.Value, dim: int) -> Piece | None:
    """The piece that is all of ``source``, if the others are few elements each, before and behind it."""
    width = source.type.shape[dim]
    found = [piece for piece in pieces if piece.step == 1 and piece.size == width]
    borders = [piece for piece in pieces if piece not in found]
    return found[0] if len(found) == 1 and all(piece.size <= FEW for piece in borders) else None


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
        loop, (*pieces, last) = indices[concat.dim], pieces_of(concat, source)
        place = _place(last, loop)
        for piece in reversed(pieces):
            is_before = arith.cmpi(arith.CmpIPredicate.ult, loop, index_constant(piece.end))
            place = arith.select(is_before, _place(piece, loop), place)
        indices[concat.dim] = place
        linalg.YieldOp([tensor.ExtractOp(source, indices).result])
    replace_op(op, list(read.results))


def _place(piece: Piece, loop: ir.Value) -> ir.Value:
    """Where the source's element is for one of a piece."""
    if piece.size == 1 or piece.step == 0:
        return index_constant(piece.place)
    if piece.step == 1:
        return arith.addi(loop, index_constant(piece.place - piece.start))
    return arith.subi(index_constant(piece.place + piece.start), loop)
