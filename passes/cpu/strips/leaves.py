"""Values without tile operands: splat constants and lane numbers."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, vector

from ...base import PassError
from .emitter import Emitter
from .fragment import Fragment, Strip, element_of, is_vector, keys_of
from .registry import no_uses, rule
from .vectors import spread


@rule("arith.constant", uses=no_uses)
def emit_constant(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """A splat is one scalar for all positions."""
    attribute = value.owner.attributes["value"]
    if is_vector(value):
        if not isinstance(attribute, ir.DenseElementsAttr) or not ir.DenseElementsAttr(attribute).is_splat:
            raise PassError(value.owner, "strip-mine: a tile constant must be a splat")
        attribute = ir.DenseElementsAttr(attribute).get_splat_value()
    return Fragment(dict.fromkeys(keys_of(strip), em.constant(attribute, element_of(value))))


@rule("vector.step", uses=no_uses)
def emit_step(em: Emitter, _value: ir.Value, strip: Strip) -> Fragment:
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
