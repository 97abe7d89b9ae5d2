"""`mlopt-fold-scales`: a batch norm behind a convolution moves into the convolution's weight."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, linalg

from ..dialects.decisions import Decision
from .base import Pass
from .costs.cost import Cost
from .costs.count import bytes_of, cost_alone, work_of
from .costs.machine import DEFAULT_CPU, Machine, machine_of
from .groups import entry_ops
from .hoist import made_of_weights
from .operations import defining_op
from .raising.bodies import is_contraction
from .rewrites import note_rewrites, rewrite_of, seconds_of
from .structured import (
    ASSUMED,
    body_of,
    erase_dead,
    has_one_use,
    inputs_of,
    kinds_of,
    make_empty,
    make_generic,
    maps_of,
    word_for,
)
from .tiling.access import nest_of


@dataclass(frozen=True)
class FoldScales(Pass):
    """Multiply weights, once, instead of what a contraction makes of them, each call.

    ::

        %c = linalg.generic {mlopt.op = "conv2d"} ins(%x, %w) …
        %b = linalg.generic {mlopt.op = "add"} ins(%c, %bias at (co)) …
        %s = linalg.generic {mlopt.op = "mul"} ins(%b, %scale at (co)) …
        %r = linalg.generic {mlopt.op = "add"} ins(%s, %shift at (co)) …
      ->
        %v = linalg.generic {mlopt.op = "mul"} ins(%w, %scale at (co)) …
        %t = bias * scale + shift, likewise
        %c = linalg.generic {mlopt.op = "conv2d"} ins(%x, %v) …
        %r = linalg.generic {mlopt.op = "add"} ins(%c, %t at (co)) …

    Run it before mlopt-hoist, which takes what is made of weights alone to @prepare. Legal where all factors
    are weights or made of weights, the scale has loops of the weight that are not summed, nobody else reads
    what is scaled, and all is computed in f32 or f64: a product that is stored in a narrow type is rounded
    once more, or is too small for it. Rounding changes: each term is rounded before the sum, not after it.
    A batch norm then costs one addition an element, and with a bias before it nothing at all.
    Each scale behind a contraction, folded or not, is in ``mlopt.rewrites``: what it saves on ``machine``.

    Effect: small. A ResNet BasicBlock is 2 kernels either way; without this pass each reads a scale for each
    channel more, 512 bytes in all, and multiplies by it.
    """

    name: ClassVar[str] = "mlopt-fold-scales"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine, decisions = machine_of(op, self.machine), list[Decision]()
        for function in op.regions[0].blocks[0].operations:
            blocks = function.operation.regions[0].blocks
            if function.operation.name == "func.func" and len(blocks) == 1:
                decisions += _fold_all(function.operation, machine)
        note_rewrites(op, self.name, decisions)


@dataclass(frozen=True)
class _Pair:
    """An element-wise op on a tensor, read in its own order, and on something made of weights."""

    op: ir.Operation
    data: ir.Value
    weight: ir.Value
    where: ir.AffineMap


def _fold_all(main: ir.Operation, machine: Machine) -> list[Decision]:
    weights = made_of_weights(main)
    decisions = []
    for op in entry_ops(main):
        scale = _pair_of(op, "arith.mulf", weights)
        if scale is None:
            continue
        shifts, contraction = _behind(scale.data, weights)
        if contraction is None:
            continue
        reason = why_not_folded(scale, shifts, contraction, weights)
        decisions.append(_decision(scale, shifts, contraction, reason or "", weights, machine))
        if reason is None:
            weights |= _fold(scale, shifts, contraction, weights)
    erase_dead(main)
    return decisions


def _decision(
    scale: _Pair,
    shifts: list[_Pair],
    contraction: ir.Operation,
    reason: str,
    weights: Set[ir.Value],
    machine: Machine,
) -> Decision:
    """What the contraction's kernel saves without the scale, and the shift behind it if that goes, too."""
    after = _shift_after(scale, shifts, weights)
    folded = [scale] if after is None else [scale, after]
    cost = cost_alone(contraction, ASSUMED)
    less = sum((_cost_of(each) for each in shifts), cost)
    size = sum(bytes_of(each.weight, ASSUMED) for each in folded)
    seconds = seconds_of(sum((_cost_of(each) for each in folded), less), machine) - seconds_of(less, machine)
    number = _weight_of(contraction, weights)
    made = [] if number is None else [contraction.operands[number], *(each.weight for each in shifts)]
    kept = sum(bytes_of(value, ASSUMED) for value in made)
    word = f"{word_for(contraction)} -> {word_for(scale.op)}"
    return rewrite_of(scale.op, reason, size, seconds, kept=kept, word=word)


def _cost_of(pair: _Pair) -> Cost:
    """What an element-wise op adds to the kernel that makes its data."""
    return Cost(bytes_of(pair.weight, ASSUMED)) + work_of(nest_of(pair.op), ASSUMED)


def _behind(value: ir.Value, weights: Set[ir.Value]) -> tuple[list[_Pair], ir.Operation | None]:
    """The shifts that ``value`` is made with, the last first, and the contraction before them."""
    shifts: list[_Pair] = []
    while (op := defining_op(value, "linalg.generic")) is not None:
        if is_contraction(op):
            return shifts, op
        shift = _pair_of(op, "arith.addf", weights)
        if shift is None:
            break
        shifts.append(shift)
        value = shift.data
    return shifts, None


def why_not_folded(
    scale: _Pair, shifts: list[_Pair], contraction: ir.Operation, weights: Set[ir.Value]
) -> str | None:
    """Why the scale cannot go into the contraction's weight and into each shift after it; None if it can."""
    if not all(map(has_one_use, (scale.data, *(each.data for each in shifts)))):
        return "what is scaled is read by others, too"
    number = _weight_of(contraction, weights)
    if number is None:
        return f"{word_for(contraction)} has no factor that is a weight, read at one place of each loop"
    if any(not set(scale.where.results) <= set(each.where.results) for each in shifts):
        return "what is added before it has not the dims of the scale"
    element = scale.weight.type.element_type
    values = (*contraction.operands, *contraction.results)
    if not isinstance(element, (ir.F32Type, ir.F64Type)) or any(
        value.type.element_type != element for value in values
    ):
        return "a scaled weight that is not f32 or f64, as all else, would be rounded once more"
    if not set(_loops_of_scale(scale, contraction)) <= set(maps_of(contraction)[number].results):
        return "the scale runs along a dim that the weight does not have"
    return None


def _weight_of(contraction: ir.Operation, weights: Set[ir.Value]) -> int | None:
    """Which of the contraction's two factors is made of weights, if one is, and has loops as its dims."""
    known = [value in weights for value in inputs_of(contraction)]
    if known.count(True) != 1:
        return None
    number = known.index(True)
    exprs = [*maps_of(contraction)[number].results, *maps_of(contraction)[-1].results]
    return number if all(isinstance(expr, ir.AffineDimExpr) for expr in exprs) else None


def _loops_of_scale(scale: _Pair, contraction: ir.Operation) -> list[ir.AffineExpr]:
    """The contraction's loops that run along the dims of the scale."""
    written = maps_of(contraction)[-1].results
    return [written[expr.position] for expr in scale.where.results]


def _pair_of(op: ir.Operation, kind: str, weights: Set[ir.Value]) -> _Pair | None:
    """``op`` as a `_Pair` whose body is one op called ``kind``, if it is that."""
    if op.name != "linalg.generic" or len(op.results) != 1 or len(inputs_of(op)) != 2:
        return None
    body, (one, other), maps = body_of(op), inputs_of(op), maps_of(op)
    inner = [each.operation for each in body.operations]
    if len(inner) != 2 or inner[0].name != kind or "reduction" in kinds_of(op):
        return None
    arguments = list(body.arguments)[:2]
    if set(inner[0].operands) != set(arguments) or inner[1].operands[0] != inner[0].results[0]:
        return None
    if (one in weights) == (other in weights):
        return None
    data, weight = (other, one) if one in weights else (one, other)
    reads = {one: maps[0], other: maps[1]}
    where = reads[weight]
    identity = ir.AffineMap.get_identity(where.n_dims)
    plain = all(isinstance(expr, ir.AffineDimExpr) for expr in where.results)
    if not plain or not where.results or {reads[data], maps[2]} != {identity}:
        return None
    return _Pair(op, data, weight, where)


def _fold(
    scale: _Pair, shifts: list[_Pair], contraction: ir.Operation, weights: Set[ir.Value]
) -> set[ir.Value]:
    """Rewrite the ops; returns what is new and made of weights."""
    number = _weight_of(contraction, weights)
    assert number is not None
    after = _shift_after(scale, shifts, weights)
    last = scale.op if after is None else after.op  # what scales may be made behind the contraction
    own = maps_of(contraction)[number].results
    along = _loops_of_scale(scale, contraction)
    weight = _combined("mul", contraction.operands[number], own, scale.weight, along, last)
    contraction.operands[number] = weight
    contraction.move_before(last)
    made = {weight}
    for shift in reversed(shifts):
        own = shift.where.results
        shifted = _combined("mul", shift.weight, own, scale.weight, scale.where.results, last)
        if after is not None and shift is shifts[0]:
            shifted = _combined("add", shifted, own, after.weight, after.where.results, last)
        shift.op.operands[list(shift.op.operands).index(shift.weight)] = shifted
        shift.op.move_before(last)
        made.add(shifted)
    scale.op.results[0].replace_all_uses_with(scale.data)
    if after is not None:
        after.op.results[0].replace_all_uses_with(scale.data)
    return made


def _shift_after(scale: _Pair, shifts: list[_Pair], weights: Set[ir.Value]) -> _Pair | None:
    """The shift behind the scale, if it can go into the last one before it."""
    uses = list(scale.op.results[0].uses)
    after = _pair_of(uses[0].owner.operation, "arith.addf", weights) if len(uses) == 1 and shifts else None
    if after is None or not set(after.where.results) <= set(shifts[0].where.results):
        return None
    return after


def _combined(
    label: str,
    value: ir.Value,
    own: Sequence[ir.AffineExpr],
    other: ir.Value,
    along: Sequence[ir.AffineExpr],
    at: ir.Operation,
) -> ir.Value:
    """``value``, with dims along ``own``, times or plus ``other``, which has some of them; before ``at``."""
    rank = len(own)
    identity = ir.AffineMap.get_identity(rank)
    read = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(list(own).index(expr)) for expr in along])
    place = ir.InsertionPoint(at)
    empty = make_empty(value, location=at.location, at=place)
    op = make_generic(
        [value, other],
        [empty],
        [identity, read, identity],
        ["parallel"] * rank,
        label,
        location=at.location,
        at=place,
    )
    one, another, _ = body_of(op).arguments
    with ir.InsertionPoint(body_of(op)), at.location:
        linalg.YieldOp([arith.mulf(one, another) if label == "mul" else arith.addf(one, another)])
    return op.results[0]
