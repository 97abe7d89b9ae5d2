"""Values without tile operands: splat constants and lane numbers."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, vector

from ...base import PassError
from .emitter import Emitter
from .fragment import Fragment, Strip, element_of, is_vector, keys_of
from .registry import rule
from .vectors import spread


def _nothing(op: ir.OpView, number: int, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    return ()


@rule("arith.constant", uses=_nothing)
def emit_constant(em: Emitter, op: ir.OpView, number: int, strip: Strip) -> Fragment:
    """A splat is one scalar for all positions."""
    attribute = op.attributes["value"]
    if is_vector(op.results[0]):
        if not isinstance(attribute, ir.DenseElementsAttr) or not ir.DenseElementsAttr(attribute).is_splat:
            raise PassError(op, "strip-mine: a tile constant must be a splat")
        attribute = ir.DenseElementsAttr(attribute).get_splat_value()
    value = em.constant(attribute, element_of(op.results[0]))
    return Fragment(dict.fromkeys(keys_of(strip), value))


@rule("vector.step", uses=_nothing)
def emit_step(em: Emitter, op: ir.OpView, number: int, strip: Strip) -> Fragment:
    """The position itself: an index, or consecutive ones along the lane axis."""
    (axis,) = strip
    values = {}
    for key in keys_of(strip):
        start = em.position(axis, key[0])
        if axis.lanes:
            with em.here():
                steps = vector.StepOp(ir.VectorType.get([axis.lanes], ir.IndexType.get())).result
                start = arith.AddIOp(spread(start, axis.lanes), steps).result
        values[key] = start
    return Fragment(values)
