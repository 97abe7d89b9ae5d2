"""Small builders on 1-D vectors."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, vector

from .fragment import element_of, is_vector
from .types import is_float


def spread(value: ir.Value, lanes: int) -> ir.Value:
    """A scalar as a vector of equal lanes; a vector as it is."""
    if is_vector(value):
        return value
    return vector.BroadcastOp(ir.VectorType.get([lanes], value.type), value).result


def add(left: ir.Value, right: ir.Value) -> ir.Value:
    """The sum of two scalars or vectors, of which one may be spread; floats are rounded once."""
    lanes = [each.type.shape[0] for each in (left, right) if is_vector(each)]
    if lanes:
        left, right = spread(left, lanes[0]), spread(right, lanes[0])
    kind = arith.AddFOp if is_float(element_of(left)) else arith.AddIOp
    return kind(left, right).result
