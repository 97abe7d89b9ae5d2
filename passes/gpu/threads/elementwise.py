"""arith and math: the op on each register."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .emitter import Emitter
from .fragment import Fragment, positions_of, uniform
from .registry import rule


@rule("arith", "math")
def emit_elementwise(em: Emitter, op: ir.Operation) -> None:
    """The op on scalars: once if all operands are the same everywhere."""
    result = op.results[0]
    attributes = {name: op.attributes[name] for name in op.attributes if not name.startswith("mlopt.")}
    kind = em.element(result.type)

    def apply(operands: Sequence[ir.Value]) -> ir.Value:
        return em.build.op(op.name, operands, kind, attributes)

    if not isinstance(result.type, ir.VectorType):
        em.set_scalar(result, apply([em.scalar(operand) for operand in op.operands]))
        return
    fragments = [em.operand(operand) for operand in op.operands]
    if all(fragment.uniform for fragment in fragments):
        em.set_fragment(result, uniform(apply([fragment[()] for fragment in fragments])))
        return
    layout = em.layout(result)
    values = {
        position: apply([fragment[position] for fragment in fragments])
        for position in positions_of(layout, result)
    }
    em.set_fragment(result, Fragment(layout, values))


_CASTS = {"arith.index_cast": "arith.extsi", "arith.index_castui": "arith.extui"}


@rule(*_CASTS)
def emit_index_cast(em: Emitter, op: ir.Operation) -> None:
    """Between indices, which have the kernel's index type, and other integers."""
    result, operand = op.results[0], op.operands[0]
    kind = em.element(result.type)

    def cast(value: ir.Value) -> ir.Value:
        if value.type == kind:
            return value
        name = _CASTS[op.name] if kind.width > value.type.width else "arith.trunci"
        return em.build.op(name, [value], kind)

    if not isinstance(result.type, ir.VectorType):
        em.set_scalar(result, cast(em.scalar(operand)))
        return
    fragment = em.operand(operand)
    values = {position: cast(value) for position, value in fragment.values.items()}
    em.set_fragment(result, Fragment(fragment.layout, values))
