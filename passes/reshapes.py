"""Ops that reshape a tile: which dims of the operand run along which of the result."""

from __future__ import annotations

from mlir import ir

from .base import PassError


def broadcast_dims(op: ir.Operation) -> list[int | None]:
    """For each dim of a broadcast's result the operand's dim; None where that is stretched or missing."""
    source, result = op.operands[0].type, ir.VectorType(op.results[0].type).shape
    sizes = list(source.shape) if isinstance(source, ir.VectorType) else []
    missing = len(result) - len(sizes)
    return [None if at < 0 or sizes[at] == 1 else at for at in range(-missing, len(sizes))]


def cast_dims(op: ir.Operation) -> list[int | None]:
    """For each dim of a shape_cast's result the operand's dim; only unit dims may come and go."""
    source, result = (list(ir.VectorType(value.type).shape) for value in (op.operands[0], op.results[0]))
    wide = [dim for dim, size in enumerate(source) if size != 1]
    if [source[dim] for dim in wide] != [size for size in result if size != 1]:
        raise PassError(op, "a shape_cast of tiles may only add or drop unit dims")
    rest = iter(wide)
    return [None if size == 1 else next(rest) for size in result]


def transpose_dims(op: ir.Operation) -> list[int | None]:
    """For each dim of a transpose's result the operand's dim."""
    return list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))


RESHAPES = {
    "vector.broadcast": broadcast_dims,
    "vector.shape_cast": cast_dims,
    "vector.transpose": transpose_dims,
}
