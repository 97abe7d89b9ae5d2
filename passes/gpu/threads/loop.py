"""scf.for: a loop that carries each thread's registers."""

from __future__ import annotations

from mlir import ir

from ..layouts.tiles import is_tile
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .registry import rule


@rule("scf.for")
def emit_loop(em: Emitter, op: ir.Operation) -> None:
    """The loop over the scalars of all that is carried."""
    body = op.regions[0].blocks[0]
    bounds = [em.scalar(operand) for operand in list(op.operands)[:3]]
    places = [_positions(em, op, number) for number in range(len(op.results))]
    starts = [
        value
        for number, positions in enumerate(places)
        for value in _registers(em, op.operands[3 + number], positions)
    ]
    kinds = [value.type for value in starts]
    loop = ir.Operation.create("scf.for", kinds, [*bounds, *starts], regions=1)
    block = loop.regions[0].blocks.append(em.build.index, *kinds)
    em.set_scalar(body.arguments[0], block.arguments[0])
    _bind(em, op, list(body.arguments)[1:], places, list(block.arguments)[1:])
    *ops, end = (inner.operation for inner in body.operations)
    with ir.InsertionPoint(block), em.region(), em.shared.loop():
        em.emit(ops)
        values = [
            value
            for operand, positions in zip(end.operands, places, strict=True)
            for value in _registers(em, operand, positions)
        ]
        ir.Operation.create("scf.yield", [], values)
    _bind(em, op, list(op.results), places, list(loop.results))


Positions = list[tuple[int, ...]] | None  # None for a scalar


def _positions(em: Emitter, op: ir.Operation, number: int) -> Positions:
    result = op.results[number]
    return positions_of(em.layout_of_result(op, number), result) if is_tile(result) else None


def _registers(em: Emitter, value: ir.Value, positions: Positions) -> list[ir.Value]:
    if positions is None:
        return [em.scalar(value)]
    fragment = em.fragment(value)
    return [fragment[position] for position in positions]


def _bind(
    em: Emitter, op: ir.Operation, values: list[ir.Value], places: list[Positions], registers: list[ir.Value]
) -> None:
    """Let values of the tile IR be the registers that carry them."""
    rest = iter(registers)
    for number, (value, positions) in enumerate(zip(values, places, strict=True)):
        if positions is None:
            em.set_scalar(value, next(rest))
        else:
            layout = em.layout_of_result(op, number)
            em.set_fragment(value, Fragment(layout, {position: next(rest) for position in positions}))
