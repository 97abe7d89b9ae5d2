"""Small builders on 1-D vectors."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import vector

from .fragment import is_vector


def spread(value: ir.Value, lanes: int) -> ir.Value:
    """A scalar as a vector of equal lanes; a vector as it is."""
    if is_vector(value):
        return value
    return vector.BroadcastOp(ir.VectorType.get([lanes], value.type), value).result
