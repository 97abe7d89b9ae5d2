"""Extremes of everything, in parts: which op reads one, and its element-wise readers once more over parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ..operations import defining_op
from ..structured import (
    body_of,
    copy_generic,
    element_type,
    inits_of,
    inputs_of,
    kinds_of,
    make_empty,
    maps_of,
)
from .parts import is_same

EXTREMES = ("arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui")
_LONGEST_CHAIN = 8  # ops that say where the maximum is
_BY_PLACES = ("linalg.index", "arith.constant", "arith.muli", "arith.addi", "arith.cmpi", "arith.select")


@dataclass(frozen=True)
class Extreme:
    """The maximum (or minimum) of everything: its parts', as it reads them too, and what they are of."""

    whole: ir.Value
    parts: ir.Value
    in_shape: ir.Value
    source: ir.Value
    combiner: str


def combiner(op: ir.Operation) -> str | None:
    """The op that combines the elements of the one tensor that a reduction reads as it lies.

    An element may count or not, by its place (`ragged`).
    """
    if len(inputs_of(op)) != 1 or len(op.results) != 1:
        return None
    element, accumulator = body_of(op).arguments
    body = [inner.operation for inner in body_of(op).operations][:-1]
    if not body or maps_of(op)[0] != identity(maps_of(op)[0]):
        return None
    *places, last = body
    if places:
        chosen = places[-1]
        if chosen.name != "arith.select" or chosen.operands[1] != element:
            return None
        if any(inner.name not in _BY_PLACES for inner in places):
            return None
        element = chosen.results[0]
    return str(last.name) if set(last.operands) == {element, accumulator} else None


def stages_of(op: ir.Operation) -> list[ir.Operation]:
    """``op``, and what it goes on from: where nothing divides a number, parts come in two (`ragged`)."""
    before = defining_op(inits_of(op)[0], "linalg.generic")
    return [op] if before is None or combiner(before) != combiner(op) else [op, before]


def identity(like: ir.AffineMap) -> ir.AffineMap:
    """The map of all dims of ``like`` in order."""
    return ir.AffineMap.get_identity(like.n_dims, like.context)


def extreme_of(
    chain: Sequence[ir.Operation], op: ir.Operation, total: ir.Operation, back: int = 0
) -> Extreme | None:
    """The maximum of everything that ``chain`` reads, over the parts that ``op`` and ``total`` have.

    ``back``: how many reductions go on from ``op`` to the whole of its parts.
    """
    if not 0 < len(chain) <= _LONGEST_CHAIN:
        return None
    made = {each.results[0] for each in chain}
    outside = {value for each in chain for value in inputs_of(each) if value not in made}
    found = [extreme for value in outside if (extreme := _extreme(value, back)) is not None]
    if len(found) != 1 or any(
        value != found[0].whole and not is_same(value, found[0].source) for value in outside
    ):
        return None
    extreme = found[0]
    parts, whole = extreme.parts.owner.operation, extreme.whole.owner.operation
    alike = kinds_of(parts) == kinds_of(op) and maps_of(parts) == maps_of(op)
    alike = alike and kinds_of(whole) == kinds_of(total) and maps_of(whole) == maps_of(total)
    kept = maps_of(op)[-1].results
    results = maps_of(total)[-1].results
    read = ir.AffineMap.get(
        len(kinds_of(op)), 0, [kept[expr.position] for expr in results] if len(results) else []
    )
    for each in chain:
        for value, where in zip(inputs_of(each), maps_of(each), strict=False):
            alike = alike and (where == read if value == extreme.whole else where == identity(where))
    return extreme if alike else None


def _extreme(whole: ir.Value, back: int) -> Extreme | None:
    """``whole`` as the maximum (or minimum) of partial ones, as the ``back``th from the last reads them."""
    last = defining_op(whole, "linalg.generic")
    if last is None or "reduction" not in kinds_of(last) or combiner(last) not in EXTREMES:
        return None
    collapse = defining_op(last.operands[0], "tensor.collapse_shape")
    first = defining_op(last.operands[0] if collapse is None else collapse.operands[0], "linalg.generic")
    parts = first
    for _ in range(back):
        first = None if first is None else defining_op(inits_of(first)[0], "linalg.generic")
    if parts is None or first is None or "parallel" not in kinds_of(first):
        return None
    if combiner(first) != combiner(last) or combiner(parts) != combiner(last):
        return None
    return Extreme(whole, parts.results[0], last.operands[0], first.operands[0], str(combiner(last)))


def of_parts(extreme: Extreme, total: ir.Operation) -> dict[ir.Value, tuple[ir.Value, ir.AffineMap]]:
    """What is read in the loops of ``total`` in place of the source and of the extreme of all."""
    every, result = maps_of(total)
    return {extreme.source: (extreme.in_shape, every), extreme.whole: (extreme.whole, result)}


def again(
    chain: Sequence[ir.Operation],
    instead: dict[ir.Value, tuple[ir.Value, ir.AffineMap]],
    like: ir.Value,
    at: ir.InsertionPoint,
) -> ir.Value:
    """The element-wise ``chain`` once more, in the shape of ``like``; it reads other values ``instead``."""
    every = ir.AffineMap.get_identity(like.type.rank, like.context)
    made: dict[ir.Value, ir.Value] = {}

    def read(value: ir.Value) -> tuple[ir.Value, ir.AffineMap]:
        others = [new for old, new in instead.items() if is_same(value, old)]
        return others[0] if others else (made.get(value, value), every)

    for op in reversed(chain):
        reads = [read(value) for value in inputs_of(op)]
        init = make_empty(like, location=op.location, at=at, element=element_type(op.results[0]))
        operands = [*(value for value, _ in reads), init]
        maps = [*(where for _, where in reads), every]
        new = copy_generic(op, operands, at=at, maps=maps, kinds=["parallel"] * like.type.rank)
        made[op.results[0]] = new.results[0]
    return made[chain[0].results[0]]
