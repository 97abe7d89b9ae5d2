"""Constants: which one a value is, and values that are one."""

from __future__ import annotations

from mlir import ir

from .operations import defining_op


def constant(attribute: ir.Attribute) -> ir.Value:
    """An arith.constant at the current insertion point."""
    return ir.Operation.create(
        "arith.constant", results=[attribute.type], attributes={"value": attribute}
    ).results[0]


def splat_constant(kind: ir.ShapedType, element: ir.Attribute) -> ir.Value:
    """A vector or tensor whose elements are all ``element``, at the current insertion point."""
    return constant(ir.DenseElementsAttr.get_splat(kind, element))


def index_constant(value: int) -> ir.Value:
    """An arith.constant of type index at the current insertion point."""
    return constant(ir.IntegerAttr.get(ir.IndexType.get(), value))


def splat_of(value: ir.Value) -> ir.Attribute | None:
    """The element of a constant tensor whose elements are all the same."""
    maker = defining_op(value, "arith.constant")
    attribute = None if maker is None else maker.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        return attribute.get_splat_value()
    return None


def scalar_constant(value: ir.Value) -> ir.Attribute | None:
    """The attribute of a scalar arith.constant."""
    maker = defining_op(value, "arith.constant")
    if maker is None or isinstance(value.type, ir.ShapedType):
        return None
    return maker.attributes["value"]


def literal_of(value: ir.Value) -> ir.Attribute | None:
    """The attribute of a scalar constant, or of a splat's element."""
    return splat_of(value) or scalar_constant(value)


def integer_of(value: ir.Value) -> int | None:
    """The integer that a scalar is a constant of."""
    attribute = scalar_constant(value)
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def is_zero(attribute: ir.Attribute | None) -> bool:
    """Whether a scalar attribute is 0 (of either sign)."""
    return isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr)) and attribute.value == 0
