"""Element-wise ops of arith and math: the same op on each strip.

Operands that do not depend on the lane stay scalars until they meet one that does. Lanes
beyond the strip's limit hold zeros, so an integer division there gets 1 as its divisor.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith

from ...divisions import DIVISIONS
from ...operations import attributes_of
from .emitter import Emitter
from .fragment import Fragment, Strip, element_of, is_vector, keys_of, lane_of
from .masks import lane_mask
from .registry import rule
from .vectors import spread


def _same_strip(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    return [(operand, strip if is_vector(operand) else ()) for operand in value.owner.operands]


@rule("elementwise", uses=_same_strip)
def emit_elementwise(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """Clone the op for each unrolled position."""
    op = value.owner.opview
    fragments = [em.emit(operand, strip if is_vector(operand) else ()) for operand in op.operands]
    element = element_of(value)
    attributes = attributes_of(op)
    lane = lane_of(strip)
    built: dict[tuple[ir.Value, ...], ir.Value] = {}
    values = {}
    for key in keys_of(strip):
        inputs = tuple(
            fragment[key if is_vector(operand) else ()]
            for fragment, operand in zip(fragments, op.operands, strict=True)
        )
        lanes = next((value.type.shape[0] for value in inputs if is_vector(value)), 0)
        if op.operation.name in DIVISIONS and lanes and lane is not None and strip[lane].limit is not None:
            inputs = (inputs[0], _safe_divisor(em, inputs[1], strip, key, lanes))
        if inputs not in built:
            built[inputs] = _clone(em, op, inputs, lanes, element, attributes)
        values[key] = built[inputs]
    return Fragment(values)


def _clone(
    em: Emitter,
    op: ir.OpView,
    inputs: Sequence[ir.Value],
    lanes: int,
    element: ir.Type,
    attributes: dict[str, ir.Attribute],
) -> ir.Value:
    with em.here():
        if lanes:
            stays = 1 if op.operation.name == "arith.select" and not is_vector(inputs[0]) else 0
            inputs = [value if at < stays else spread(value, lanes) for at, value in enumerate(inputs)]
        result = ir.VectorType.get([lanes], element) if lanes else element
        return ir.Operation.create(op.operation.name, [result], list(inputs), attributes).result


def _safe_divisor(em: Emitter, divisor: ir.Value, strip: Strip, key: tuple[int, ...], lanes: int) -> ir.Value:
    element = element_of(divisor)
    mask = lane_mask(em, strip, key)
    one = em.constant(ir.IntegerAttr.get(element, 1), element)
    with em.here():
        return arith.SelectOp(mask, spread(divisor, lanes), spread(one, lanes)).result
