"""Scalars of the tile IR: positions, sizes, and elements that are loaded one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mlir import ir

from ...affine import fold_affine
from ...base import PassError
from ..layouts.access import bytes_of
from .builder import Builder, Number
from .emitter import Emitter
from .registry import rule


@rule("affine.apply", "affine.min", "affine.max")
def emit_affine(em: Emitter, op: ir.Operation) -> None:
    """The expression, with numbers folded."""
    where = ir.AffineMapAttr(op.attributes["map"]).value
    operands = [em.number(operand) for operand in op.operands]
    combine = partial(_combine, em.build)
    results = [fold_affine(expr, operands, where.n_dims, int, combine) for expr in where.results]
    total = results[0]
    for other in results[1:]:
        total = em.build.least(total, other) if op.name == "affine.min" else em.build.most(total, other)
    em.set_scalar(op.results[0], total)


def _combine(build: Builder, kind: str, left: Number, right: Number) -> Number:
    """What is divided is never negative in tile IR."""
    if kind == "+":
        return build.add(left, right)
    if kind == "*":
        return build.mul(left, right)
    if kind == "mod":
        return build.rem(left, right)
    if kind == "ceildiv":
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
    memref, *indices = op.operands
    buffer, pointer = em.buffers[memref], element_pointer(em, memref, indices)
    (value,) = em.build.load(pointer, buffer.element, 1, bytes_of(buffer.element), buffer.constant)
    em.set_scalar(op.results[0], value)


def element_pointer(em: Emitter, memref: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """Where one element of a buffer is."""
    buffer = em.buffers[memref]
    place: Number = 0
    for index, size in zip(indices, buffer.sizes, strict=True):
        place = em.build.add(em.build.mul(place, size), em.number(index))
    return em.build.offset(buffer.pointer, buffer.element, place)
