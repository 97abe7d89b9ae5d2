"""Broadcast, transpose and shape_cast: only the strip changes, nothing is emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from ...base import PassError
from .emitter import Emitter
from .fragment import UNIT, Fragment, Key, Strip, is_vector, keys_of, sizes_of
from .registry import rule

# For each dim of the operand the dim of the result whose position it has; None: position 0.
Positions = list[int | None]


def broadcast_positions(op: ir.OpView) -> Positions:
    """Operand dims are the result's last ones; unit dims are stretched."""
    source = sizes_of(op.operands[0])
    shift = len(sizes_of(op.results[0])) - len(source)
    return [None if size == 1 else dim + shift for dim, size in enumerate(source)]


def transpose_positions(op: ir.OpView) -> Positions:
    """Result dim i is the operand's dim permutation[i]."""
    permutation = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
    return [permutation.index(dim) for dim in range(len(permutation))]


def cast_positions(op: ir.OpView) -> Positions:
    """Only unit dims may come and go."""
    source, result = sizes_of(op.operands[0]), sizes_of(op.results[0])
    wide = [dim for dim, size in enumerate(result) if size != 1]
    if [size for size in source if size != 1] != [result[dim] for dim in wide]:
        raise PassError(op, "strip-mine: a shape_cast may only add or drop unit dims")
    rest = iter(wide)
    return [None if size == 1 else next(rest) for size in source]


POSITIONS: dict[str, Callable[[ir.OpView], Positions]] = {
    "vector.broadcast": broadcast_positions,
    "vector.transpose": transpose_positions,
    "vector.shape_cast": cast_positions,
}


def _operand_strip(op: ir.OpView, strip: Strip) -> tuple[Strip, Positions]:
    positions = POSITIONS[op.operation.name](op)
    return tuple(UNIT if dim is None else strip[dim] for dim in positions), positions


def _uses(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    op = value.owner.opview
    operand = op.operands[0]
    return [(operand, _operand_strip(op, strip)[0] if is_vector(operand) else ())]


@rule(*POSITIONS, uses=_uses)
def emit_reshape(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """The operand's fragment under the result's keys."""
    op = value.owner.opview
    operand = op.operands[0]
    if not is_vector(operand):
        return Fragment(dict.fromkeys(keys_of(strip), em.scalar(operand)))
    source, positions = _operand_strip(op, strip)
    fragment = em.emit(operand, source)

    def source_key(key: Key) -> Key:
        return tuple(0 if dim is None else key[dim] for dim in positions)

    return Fragment({key: fragment[source_key(key)] for key in keys_of(strip)})
