"""Tiles without operands: constants and positions."""

from __future__ import annotations

from mlir import ir

from ...base import PassError
from .emitter import Emitter
from .fragment import Fragment, positions_of, uniform
from .registry import rule


@rule("arith.constant")
def emit_constant(em: Emitter, op: ir.Operation) -> None:
    """A scalar constant, or one scalar for a splat."""
    result, attribute = op.results[0], op.attributes["value"]
    kind = em.element(result.type)
    if isinstance(result.type, ir.VectorType):
        dense = ir.DenseElementsAttr(attribute)
        if not dense.is_splat:
            raise PassError(op, "distribute: a tile constant must be a splat")
        em.set_fragment(result, uniform(_constant(em, kind, dense.get_splat_value())))
    elif isinstance(result.type, ir.IndexType):
        em.set_scalar(result, ir.IntegerAttr(attribute).value)
    else:
        em.set_scalar(result, em.build.constant(kind, attribute))


def _constant(em: Emitter, kind: ir.Type, attribute: ir.Attribute) -> ir.Value:
    if kind == em.build.index and isinstance(attribute, ir.IntegerAttr):
        return em.build.constant(kind, attribute.value)
    return em.build.constant(kind, attribute)


@rule("ub.poison")
def emit_poison(em: Emitter, op: ir.Operation) -> None:
    """Nobody reads it: any value will do."""
    result = op.results[0]
    zero = em.build.constant(em.element(result.type), 0)
    if isinstance(result.type, ir.VectorType):
        em.set_fragment(result, uniform(zero))
    else:
        em.set_scalar(result, zero)


@rule("vector.step")
def emit_step(em: Emitter, op: ir.Operation) -> None:
    """The position itself."""
    result = op.results[0]
    layout = em.layout(result)
    thread = em.thread(layout, 0)
    values = {
        position: em.build.number(em.build.add(thread, position[0]))
        for position in positions_of(layout, result)
    }
    em.set_fragment(result, Fragment(layout, values))
