"""Rows that tasks of one element put together of pieces of others: rolls, and rows with borders.

::

    %at = arith.select(%j < 1, %j + 511, %j - 1)                              rolled: 512 of 512
    %at = arith.select(%j < 2, 2 - %j, select(%j < 514, %j - 2, 1024 - %j))   a border, 512, and a border
    memref.load %x[%i, %at]

All that a rolled row's access holds was in two accesses, and the second one follows the first, or begins the
row. A row between borders is read as one between padding is, and single elements are loaded for the borders.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from ...constants import integer_of
from ...operations import defining_op
from .linear import Linear, linear_of

_ULT = 6  # of arith.cmpi


@dataclass(frozen=True)
class Rolled:
    """A row whose first element is the one at ``start``, and so on, round its end."""

    start: int


@dataclass(frozen=True)
class Bordered:
    """A row before which come as many elements of its own as ``begins`` is below zero, and some behind it."""

    begins: int


@dataclass(frozen=True)
class _Piece:
    end: int
    place: Linear


def pieces_of(load: ir.Operation, along: ir.Value, count: int) -> Rolled | Bordered | None:
    """What the ``count`` tasks ``along`` a loop read by a memref.load, if that is one of these."""
    *_, width = ir.MemRefType(load.operands[0].type).shape
    pieces = _pieces(load.operands[len(load.operands) - 1], along, count)
    starts = [0, *(piece.end for piece in pieces)]
    moves = [_move(piece, start, along) for piece, start in zip(pieces, starts, strict=False)]
    if count == width and len(pieces) == 2 and moves == [width - starts[1], -starts[1]]:
        return Rolled(width - starts[1])
    for move, start, piece in zip(moves, starts, pieces, strict=False):
        if len(pieces) > 1 and move == -start and piece.end - start == width:
            return Bordered(move)
    return None


def _pieces(index: ir.Value, along: ir.Value, count: int) -> list[_Piece]:
    """A position as sums, each for the tasks that are below an end, and not below the one before."""
    found = list[_Piece]()
    while (choice := defining_op(index, "arith.select")) is not None:
        end = _end(choice.operands[0], along)
        if end is None or end <= (found[-1].end if found else 0) or end >= count:
            break
        found.append(_Piece(end, linear_of(choice.operands[1])))
        index = choice.operands[2]
    return [*found, _Piece(count, linear_of(index))]


def _move(piece: _Piece, start: int, along: ir.Value) -> int | None:
    """How far all that a piece reads is from where it comes to be; None if that is not one number."""
    moved = piece.place.plus(Linear(0, {along: 1}), -1)
    if piece.end - start == 1:  # along the loop, it is one place
        moved = Linear(moved.constant + start * moved.terms.pop(along, 0), moved.terms)
    return None if moved.terms else moved.constant


def _end(condition: ir.Value, along: ir.Value) -> int | None:
    """The number that ``along`` is asked to be below."""
    compare = defining_op(condition, "arith.cmpi")
    if compare is None or compare.attributes["predicate"].value != _ULT or compare.operands[0] != along:
        return None
    return integer_of(compare.operands[1])
