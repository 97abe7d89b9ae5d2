"""A number that a generic makes, followed back through bodies, elements that are read, and casts.

::

    %d = linalg.generic {(i, j) -> (i, j)} ins(%x) { exp }
    %r = linalg.generic {(i, j) -> (j, i)} ins(%d) { cast }      %r at (0, 1)  ->  exp of %x at (1, 0)

A place is a tuple of indices: dims of the tensor that was started from, by their numbers. Loops that a
reduction has for itself are numbers below 0.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from mlir import ir

from ...dialects.attributes import GROUP
from ..affine import fold_affine
from ..operations import defining_op
from ..structured import body_of, inits_of, inputs_of, maps_of

# A dim; a constant ("2", ()), a sum ("+", (0, 1)) and the like; or a number that a body has read or computed.
Index: TypeAlias = int | tuple[str, tuple["Index", ...]] | ir.Value
Place: TypeAlias = tuple[Index, ...]

_ROUNDING = ("arith.extf", "arith.truncf")


class Term(NamedTuple):
    """``value`` of a body whose loops are ``place``, or the element at ``place`` of the tensor ``value``."""

    value: ir.Value
    place: Place


class Reduced(NamedTuple):
    """What ``op`` combines by ``kind`` ("arith.addf"), over ``loops`` of its own, from ``init`` on."""

    op: ir.Operation
    kind: str
    inner: Term
    loops: tuple[int, ...]
    init: ir.Value


def follow(term: Term, group: int | None) -> tuple[Term, tuple[ir.Operation, ...]]:
    """The op, constant or element that ``term`` is, and the generics of ``group`` that pass it on."""
    passed: list[ir.Operation] = []
    while (before := _before(term, group)) is not None:
        term, op = before
        passed += [] if op is None else [op]
    return term, tuple(passed)


def _before(term: Term, group: int | None) -> tuple[Term, ir.Operation | None] | None:
    """What ``term`` is in front of the last cast or read, or in the body of the generic that makes it."""
    value, place = term
    if isinstance(value, ir.BlockArgument):
        read = _element_read(value, place)
        return None if read is None else (read, None)
    op = value.owner.operation
    if op.name in _ROUNDING:
        return Term(op.operands[0], place), None
    if op.name == "tensor.extract":
        tensor, *indices = op.operands
        return Term(tensor, tuple(_loop(each, place) for each in indices)), None
    made = _made(term, group)
    if made is None or any(each is None for each in made[2]):  # an ir.Value equals no None: it raises
        return None
    _, yielded, loops = made
    return Term(yielded, tuple(each for each in loops if each is not None)), op


def reduction_of(term: Term, group: int | None, first: int) -> Reduced | None:
    """The reduction of ``group`` that makes the element ``term``; ``first``, ``first - 1``, … are loops."""
    made = _made(term, group)
    combining = None if made is None else defining_op(made[1])
    if made is None or combining is None or len(combining.operands) != 2:
        return None
    op, _, loops = made
    own = tuple(first - number for number in range(sum(each is None for each in loops)))
    numbers = iter(own)
    place = tuple(next(numbers) if each is None else each for each in loops)
    result = term.value.result_number
    accumulator = body_of(op).arguments[len(inputs_of(op)) + result]
    others = [value for value in combining.operands if value != accumulator]
    if len(others) != 1 or not own:
        return None
    return Reduced(op, combining.name, Term(others[0], place), own, inits_of(op)[result])


def _made(term: Term, group: int | None) -> tuple[ir.Operation, ir.Value, list[Index | None]] | None:
    """The generic of ``group`` that makes an element, what it yields, its loops: None where it reduces."""
    op = defining_op(term.value, "linalg.generic")
    if op is None or GROUP.get(op) != group:
        return None
    result = term.value.result_number
    where = maps_of(op)[len(inputs_of(op)) + result]
    if not where.is_projected_permutation:
        return None
    loops: list[Index | None] = [None] * where.n_dims
    for expr, index in zip(where.results, term.place, strict=True):
        loops[expr.position] = index
    return op, body_of(op).operations[-1].operation.operands[result], loops


def _element_read(argument: ir.BlockArgument, place: Place) -> Term | None:
    """The element of a tensor that an argument of a body is."""
    op = argument.owner.owner.operation
    if op.name != "linalg.generic" or argument.arg_number >= len(inputs_of(op)):
        return None
    results = maps_of(op)[argument.arg_number].results
    read = (fold_affine(each, place, len(place), _constant, _combined) for each in results)
    return Term(op.operands[argument.arg_number], tuple(read))


def _loop(index: ir.Value, place: Place) -> Index:
    loop = defining_op(index, "linalg.index")
    return index if loop is None else place[ir.IntegerAttr(loop.attributes["dim"]).value]


def _constant(value: int) -> Index:
    return str(value), ()


def _combined(kind: str, left: Index, right: Index) -> Index:
    return kind, (left, right)
