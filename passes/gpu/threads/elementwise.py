"""arith and math: the op on each register."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.attributes import BY_SOFTMAX_SUM
from ....dialects.layouts import Position
from .emitter import Emitter
from .fragment import Fragment, positions_of, uniform
from .index_type import long_source
from .late import can_wait, late_values, should_compute_late
from .registry import rule


@rule("arith", "math")
def emit_elementwise(em: Emitter, op: ir.Operation) -> None:
    """The op on scalars: once if all operands are the same everywhere."""
    result = op.results[0]
    kept = [name for name in op.attributes if not name.startswith("mlopt.") or name == BY_SOFTMAX_SUM.name]
    attributes = {name: op.attributes[name] for name in kept}
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

    def make(position: Position) -> ir.Value:
        return apply([fragment[position] for fragment in fragments])

    wanted = positions_of(layout, result)
    if can_wait(em, op) and should_compute_late(em, op, fragments):
        em.set_fragment(result, Fragment(layout, late_values(em, result, wanted, make)))
    else:
        em.set_fragment(result, Fragment(layout, {position: make(position) for position in wanted}))


@rule("arith.cmpi")
def emit_compare(em: Emitter, op: ir.Operation) -> None:
    """A position from memory is compared as what it is there: it may not fit into the kernel's index type."""
    sources = [source for source in map(long_source, op.operands) if source is not None]
    if not sources or isinstance(sources[0].type, ir.VectorType):
        emit_elementwise(em, op)
        return
    kind = sources[0].type

    def wide(value: ir.Value) -> ir.Value:
        number = em.scalar(long_source(value) or value)
        return number if number.type == kind else em.build.op("arith.extsi", [number], kind)

    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    em.set_scalar(op.results[0], em.build.compare(predicate, *map(wide, op.operands)))


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
