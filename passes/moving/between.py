"""Why a reshape between two kernels stayed there: what each side would have had to do, and could not.

Asked once all is moved, of what mlopt-fuse found: `behind`.
"""

from __future__ import annotations

from mlir import ir

from ..operations import defining_op
from ..structured import inputs_of, maps_of
from .collapses import why_not_split
from .expansions import why_not_lifted
from .refined import why_not_refined
from .reshapes import why_not_joined
from .views import is_made, view_of


def why_between(op: ir.Operation, value: ir.Value) -> str | None:
    """Why ``op`` reads ``value``, which reshapes made of what a kernel makes; None if nobody knows."""
    if op.name != "linalg.generic" or value not in inputs_of(op):
        return None
    where = maps_of(op)[inputs_of(op).index(value)]
    view = view_of(value)
    if view is not None:
        return why_not_refined(op, view) if is_made(view.source) else None
    collapse = defining_op(value, "tensor.collapse_shape")
    if collapse is not None:
        return why_not_split(op, collapse, where)
    expand = defining_op(value, "tensor.expand_shape")
    if expand is None or not is_made(expand.operands[0]):
        return None
    reasons = why_not_joined(op, value, where), why_not_lifted(expand)
    return None if None in reasons else "; and ".join(map(str, reasons))
