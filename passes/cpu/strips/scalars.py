"""Ops between tiles and scalars, and scalar ops in the loops of the tile IR."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ...base import PassError
from ...operations import attributes_of
from .emitter import Emitter
from .fragment import Axis, Fragment, Strip, is_vector
from .registry import no_uses, rule


@rule("memref.load", "memref.dim", "affine.apply", "affine.min", "affine.max", uses=no_uses)
def emit_scalar(em: Emitter, value: ir.Value, _strip: Strip) -> Fragment:
    """The same op on scalars of the code being built."""
    op = value.owner.opview
    operands = [em.scalar(operand) for operand in op.operands]
    attributes = attributes_of(op)
    with em.here():
        results = [result.type for result in op.results]
        return Fragment({(): ir.Operation.create(op.operation.name, results, operands, attributes).result})


def emit_assert(em: Emitter, op: ir.OpView) -> None:
    """A check on a scalar, which may come from tiles."""
    condition = em.scalar(op.operands[0])
    with em.here():
        ir.Operation.create("cf.assert", [], [condition], {"msg": op.attributes["msg"]}, loc=op.location)


def _extract_uses(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    op = value.owner.opview
    return [(op.operands[0], _extract_strip(op, strip))]


def _extract_strip(op: ir.OpView, strip: Strip) -> Strip:
    dynamic = ir.ShapedType.get_dynamic_size()
    places = list(ir.DenseI64ArrayAttr(op.attributes["static_position"]))
    if dynamic in places:
        raise PassError(op, "strip-mine: vector.extract needs constant positions")
    return (*(Axis(offset=place) for place in places), *strip)


@rule("vector.extract", uses=_extract_uses)
def emit_extract(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """The tile at the extracted positions."""
    op = value.owner.opview
    extracted = _extract_strip(op, strip)
    fragment = em.emit(op.operands[0], extracted)
    skipped = len(extracted) - len(strip)
    if not is_vector(value):
        return Fragment({(): fragment[(0,) * skipped]})
    return Fragment({key[skipped:]: one for key, one in fragment.values.items()})
