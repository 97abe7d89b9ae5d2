"""Scalars of the tile IR: positions, sizes, and elements that are loaded one by one."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ...base import PassError
from ..layouts.access import bytes_of
from .builder import Number
from .emitter import Emitter
from .registry import rule


@rule("affine.apply", "affine.min", "affine.max")
def emit_affine(em: Emitter, op: ir.Operation) -> None:
    """The expression, with numbers folded."""
    where = ir.AffineMapAttr(op.attributes["map"]).value
    operands = [em.number(operand) for operand in op.operands]
    results = [evaluate(em, expr, operands, where.n_dims) for expr in where.results]
    total = results[0]
    for other in results[1:]:
        total = em.build.least(total, other) if op.name == "affine.min" else em.build.most(total, other)
    em.set_scalar(op.results[0], total)


def evaluate(em: Emitter, expr: ir.AffineExpr, operands: Sequence[Number], dims: int) -> Number:
    """An affine expression; what is divided is never negative in tile IR."""
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[dims + expr.position]
    left = evaluate(em, expr.lhs, operands, dims)
    right = evaluate(em, expr.rhs, operands, dims)
    build = em.build
    if isinstance(expr, ir.AffineAddExpr):
        return build.add(left, right)
    if isinstance(expr, ir.AffineMulExpr):
        return build.mul(left, right)
    if isinstance(expr, ir.AffineModExpr):
        return build.rem(left, right)
    if isinstance(expr, ir.AffineCeilDivExpr):
        left = build.add(left, build.sub(right, 1))
    return build.div(left, right)


@rule("memref.dim")
def emit_dim(em: Emitter, op: ir.Operation) -> None:
    """A size of a buffer."""
    at = em.number(op.operands[1])
    if not isinstance(at, int):
        raise PassError(op, "distribute: memref.dim needs a constant dim")
    em.set_scalar(op.results[0], em.buffers[op.operands[0]].sizes[at])


@rule("memref.cast")
def emit_cast(em: Emitter, op: ir.Operation) -> None:
    """The same buffer."""
    em.buffers[op.results[0]] = em.buffers[op.operands[0]]


@rule("memref.load")
def emit_load(em: Emitter, op: ir.Operation) -> None:
    """One element, the same for all threads."""
    buffer = em.buffers[op.operands[0]]
    place: Number = 0
    for index, size in zip(list(op.operands)[1:], buffer.sizes, strict=True):
        place = em.build.add(em.build.mul(place, size), em.number(index))
    pointer = em.build.offset(buffer.pointer, buffer.element, place)
    (value,) = em.build.load(pointer, buffer.element, 1, bytes_of(buffer.element), buffer.constant)
    em.set_scalar(op.results[0], value)
