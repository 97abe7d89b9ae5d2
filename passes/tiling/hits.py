"""Rows that are added up where an index says so: which reductions leave most of what they read out.

The gradient of an embedding, or index_add, compares each index with each row of the result::

    %h = generic (r, k) ins(%i at (k)) { cmpi eq, %i, index(r) }              does index k name row r?
    %w = generic (r, k, c) ins(%h at (r, k), %v at (k, c)) { select %h, %v, 0 }
    %s = generic (r, c | k) ins(%w at (r, k, c)) { %s + %w }

A task of a few rows r needs no other rows k of %v than the *hits*: those whose index names one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlir import ir

from ..combining import KINDS, neutral_of
from ..constants import is_zero, literal_of
from ..operations import defining_op
from .access import Nest
from .analysis import loop_of, loops_behind
from .combiner import combiners

if TYPE_CHECKING:
    from ..domain import Dim, Domain

_EQ, _NE = 0, 1  # arith.cmpi's predicates
_WIDENING = ("arith.extf", "arith.extsi", "arith.extui")
_STORED = 8  # bits of a truth value in memory


@dataclass(frozen=True)
class Hits:
    """``truths`` says of each pair of ``along`` and ``rows`` whether it is a hit.

    ``test`` makes it, by comparing ``index``, a value of its body that changes along ``along`` only, with the
    number of the row.
    """

    along: Dim
    rows: Dim
    test: Nest
    index: ir.Value
    truths: ir.Value


def find_hits(domain: Domain, nest: Nest) -> Hits | None:
    """The hits of a reduction to which nothing else contributes; None if it is no such reduction."""
    if nest.body is None or len(nest.reductions) != 1:
        return None
    found = combiners(nest)
    if found is None or len(found) != 1:
        return None
    (combiner,), along = found, domain.loops(nest)[nest.reductions[0]]
    maker, element, _ = _behind(domain, nest, combiner.element, _WIDENING)
    select = defining_op(element, "arith.select")
    if select is None or select.block != maker.body:
        return None
    condition, _, other = select.operands
    with nest.op.location:
        neutral = neutral_of(KINDS[combiner.op.name], element.type)
    if not _is_neutral(_literal(domain, maker, other), neutral):
        return None
    test, truth, truths = _truth(domain, maker, condition)
    compare = defining_op(truth, "arith.cmpi")
    if compare is None or truths is None or compare.block != test.body or _predicate(compare) != _EQ:
        return None
    for index, row in (compare.operands, reversed(compare.operands)):
        loop = loop_of(_uncast(row))
        dims = {domain.loops(test)[each] for each in loops_behind(test, index)}
        compared = _is_integer(index.type, 32) or _is_integer(index.type, 64)
        if loop is not None and compared and dims == {along} and along.kind == "reduction":
            rows = domain.loops(test)[loop]
            return Hits(along, rows, test, index, truths) if rows.kind == "parallel" else None
    return None


def _behind(
    domain: Domain, nest: Nest, value: ir.Value, through: tuple[str, ...] = ()
) -> tuple[Nest, ir.Value, ir.Value | None]:
    """What of which body makes a value of a nest's body, and the tensor that it came through last.

    Seen through ops named ``through``, of one operand.
    """
    tensor = None
    while True:
        if isinstance(value, ir.BlockArgument):
            access = nest.reads[value.arg_number] if value.owner == nest.body else None
            made = None if access is None else domain.writer(access.value)
            if access is None or made is None or made[0].body is None or made[0].reductions:
                return nest, value, tensor
            nest, tensor = made[0], access.value
            number = [write.value for write in nest.writes].index(tensor)
            assert nest.body is not None
            value = list(nest.body.operations)[-1].operation.operands[number]
        elif value.owner.name in through and value.owner.operation.block == nest.body:
            value = value.owner.operation.operands[0]
        else:
            return nest, value, tensor


def _truth(domain: Domain, nest: Nest, value: ir.Value) -> tuple[Nest, ir.Value, ir.Value | None]:
    """As `_behind`, of a truth value, which is a byte in memory."""
    tensor = None
    while True:
        nest, value, through = _behind(domain, nest, value)
        tensor = through or tensor
        if isinstance(value, ir.BlockArgument):
            return nest, value, tensor
        op = value.owner.operation
        stored = [each for each in op.operands if _is_integer(each.type, _STORED)]
        loaded = op.name == "arith.trunci" or (
            op.name == "arith.cmpi" and _predicate(op) == _NE and is_zero(literal_of(op.operands[1]))
        )
        if (op.name == "arith.extui" and _is_integer(op.operands[0].type, 1)) or (
            loaded and stored and _is_integer(value.type, 1)
        ):
            value = op.operands[0]
            continue
        return nest, value, tensor


def _literal(domain: Domain, nest: Nest, value: ir.Value) -> ir.Attribute | None:
    """The constant that a value of a body is, read from a tensor or not."""
    nest, value, _ = _behind(domain, nest, value)
    if not isinstance(value, ir.BlockArgument):
        return literal_of(value)
    access = nest.reads[value.arg_number] if value.owner == nest.body else None
    if access is None:
        return None
    made = domain.writer(access.value)
    return literal_of(access.value if made is None else made[0].op.operands[0])


def _is_neutral(literal: ir.Attribute | None, neutral: ir.Attribute) -> bool:
    """Whether combining with a literal changes nothing, but for the sign of zero."""
    if literal is None:
        return False
    return literal == neutral or (is_zero(literal) and is_zero(neutral))


def _uncast(value: ir.Value) -> ir.Value:
    """A position before it became an integer of some width."""
    cast = defining_op(value, "arith.index_cast", "arith.trunci")
    return value if cast is None else _uncast(cast.operands[0])


def _predicate(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["predicate"]).value)


def _is_integer(kind: ir.Type, width: int) -> bool:
    return isinstance(kind, ir.IntegerType) and kind.width == width
