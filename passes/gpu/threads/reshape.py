"""Broadcast, transpose and shape_cast: registers under other positions; nothing is emitted."""

from __future__ import annotations

from mlir import ir

from ...base import PassError
from ...reshapes import RESHAPES
from ..layouts.tiles import sizes_of
from .emitter import Emitter
from .fragment import Fragment, positions_of, uniform
from .registry import rule


@rule(*RESHAPES)
def emit_reshape(em: Emitter, op: ir.Operation) -> None:
    """The operand's register at the positions of each of the result's."""
    source, result = op.operands[0], op.results[0]
    fragment = em.operand(source)
    if fragment.uniform:
        em.set_fragment(result, uniform(fragment[()]))
        return
    try:
        dims = RESHAPES[op.name](op)
    except ValueError as error:
        raise PassError(op, f"distribute: {error}") from None
    layout = em.layout(result)
    rank = len(sizes_of(source))
    values = {}
    for position in positions_of(layout, result):
        inner = [0] * rank
        for at, dim in zip(position, dims, strict=True):
            if dim is not None:
                inner[dim] = at
        values[position] = fragment[tuple(inner)]
    em.set_fragment(result, Fragment(layout, values))
