"""vector.extract: an element that every thread holds, or a part that its registers hold."""

from __future__ import annotations

from mlir import ir

from ...base import PassError
from .emitter import Emitter
from .fragment import Fragment, uniform
from .registry import rule


@rule("vector.extract")
def emit_extract(em: Emitter, op: ir.Operation) -> None:
    """The registers at the extracted positions; those may not depend on the thread."""
    source, result = op.operands[0], op.results[0]
    places = list(ir.DenseI64ArrayAttr(op.attributes["static_position"]))
    if ir.ShapedType.get_dynamic_size() in places:
        raise PassError(op, "distribute: vector.extract needs constant positions")
    fragment = em.operand(source)
    layout = fragment.layout
    if layout is not None and any(layout.thread_reach(dim) for dim in range(len(places))):
        raise PassError(op, "distribute: vector.extract from a dim that is spread over threads")
    if not isinstance(result.type, ir.VectorType):
        em.set_scalar(result, fragment[tuple(places)])
    elif layout is None:
        em.set_fragment(result, uniform(fragment[()]))
    else:
        rest = layout.select(range(len(places), layout.rank))
        values = {
            position[len(places) :]: value
            for position, value in fragment.values.items()
            if position[: len(places)] == tuple(places)
        }
        em.set_fragment(result, Fragment(rest, values))
