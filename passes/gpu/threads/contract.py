"""Contractions without tensor cores: each thread multiplies and adds its square of the product, k after k."""

from __future__ import annotations

from mlir import ir

from ....dialects.attributes import MMA
from ..layouts.tiles import contract_loops, sizes_of
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .mma import emit_mma
from .registry import rule


@rule("vector.contract")
def emit(em: Emitter, op: ir.Operation) -> None:
    """One fused multiply-add for each element and k; factors are widened to the accumulator's type first."""
    if MMA.name in op.attributes:
        emit_mma(em, op)
        return
    lhs, rhs, start = (em.fragment(operand) for operand in op.operands)
    layout = em.layout(op.results[0])
    loops = contract_loops(op)
    places = {loop: (number, dim) for number in (0, 1) for dim, loop in enumerate(loops[number])}
    reduced = [loop for loop in places if loop not in loops[2]]
    wide = ir.VectorType(op.results[0].type).element_type
    positions = positions_of(layout, op.results[0])
    values = {position: start[position] for position in positions}
    widened: dict[ir.Value, ir.Value] = {}

    def factor(fragment: Fragment, number: int, where: dict[int, int]) -> ir.Value:
        value = fragment[tuple(where[loop] for loop in loops[number])]
        if value not in widened:
            widened[value] = _widen(em, value, wide)
        return widened[value]

    for at in _points([sizes_of(op.operands[places[loop][0]])[places[loop][1]] for loop in reduced]):
        for position in positions:
            where = dict(zip(loops[2], position, strict=True)) | dict(zip(reduced, at, strict=True))
            values[position] = _fused(em, factor(lhs, 0, where), factor(rhs, 1, where), values[position])
    em.set_fragment(op.results[0], Fragment(layout, values))


def _points(sizes: list[int]) -> list[tuple[int, ...]]:
    points: list[tuple[int, ...]] = [()]
    for size in sizes:
        points = [(*point, at) for point in points for at in range(size)]
    return points


def _widen(em: Emitter, value: ir.Value, wide: ir.Type) -> ir.Value:
    if value.type == wide:
        return value
    return em.build.op("arith.extf" if isinstance(wide, ir.FloatType) else "arith.extsi", [value], wide)


def _fused(em: Emitter, one: ir.Value, other: ir.Value, total: ir.Value) -> ir.Value:
    if isinstance(total.type, ir.FloatType):
        return em.build.op("math.fma", [one, other, total])
    return em.build.op("arith.addi", [total, em.build.op("arith.muli", [one, other])])
