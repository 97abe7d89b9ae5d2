"""Constants and shapes of vectors: small helpers of the tile rules."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import vector


def zero_of(element: ir.Type) -> ir.Attribute:
    """Zero of a scalar type."""
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, 0.0)
    return ir.IntegerAttr.get(element, 0)


def literal_of(value: ir.Value) -> ir.Attribute | None:
    """The attribute of a scalar constant, or of a splat's element."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value() if attribute.is_splat else None
    return attribute


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A vector with unit dims added or dropped."""
    if list(value.type.shape) == list(shape):
        return value
    return vector.ShapeCastOp(ir.VectorType.get(shape, value.type.element_type), value).result
