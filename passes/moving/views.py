"""A view that joins dims and splits them otherwise passes element-wise work of tensors of one shape.

::

    %c = tensor.collapse_shape %n : tensor<8x96xf32> into tensor<768xf32>
    %v = tensor.expand_shape %c into tensor<64x12xf32>
    %r = generic {relu} (i, j) ins(%v at (i, j))
  ->
    %r1 = generic {relu} (i, j) ins(%n at (i, j))
    %c = tensor.collapse_shape %r1
    %r = tensor.expand_shape %c

Legal where each tensor is read at the loops in order, and the body does not ask for their numbers. Done for
what reads a view of what another op makes, and for what is computed of inputs: they are viewed instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..structured import (
    ATTENTION,
    copy_generic,
    has_one_use,
    inits_of,
    inputs_of,
    kinds_of,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
)
from ..subsets import split
from .expansions import is_awaited, rests_on_rows
from .splits import can_split


class View(NamedTuple):
    """A tensor.expand_shape of a tensor.collapse_shape."""

    collapse: ir.Operation
    expand: ir.Operation

    @property
    def source(self) -> ir.Value:
        """What is viewed."""
        return self.collapse.operands[0]

    @property
    def result(self) -> ir.Value:
        """How it is seen."""
        return self.expand.results[0]

    def of(self, value: ir.Value) -> ir.Value:
        """The view of another ``value``, of the source's shape."""
        return _reshaped(value, self.collapse, self.expand, self.result)

    def before(self, value: ir.Value) -> ir.Value:
        """What ``value``, of the view's shape, is a view of, in the source's shape."""
        known = view_of(value)
        if known is not None and known.source.type.shape == self.source.type.shape:
            return known.source
        return _reshaped(value, self.expand, self.collapse, self.source)


def view_of(value: ir.Value) -> View | None:
    """The view that ``value`` is."""
    expand = defining_op(value, "tensor.expand_shape")
    collapse = None if expand is None else defining_op(expand.operands[0], "tensor.collapse_shape")
    return None if expand is None or collapse is None else View(collapse, expand)


def view_of_made(op: ir.Operation) -> View | None:
    """The first view that ``op`` reads of what another op makes."""
    views = (view_of(value) for value in inputs_of(op))
    return next((view for view in views if view is not None and is_made(view.source)), None)


def is_made(value: ir.Value) -> bool:
    """Whether a generic or attention makes ``value``, which so could be in a kernel with more."""
    return defining_op(value, "linalg.generic", ATTENTION) is not None


def move_views(func: ir.Operation) -> None:
    """Let element-wise ops of ``func`` run before views, or else behind them."""
    for op in structured_ops(func):
        view = view_of_made(op)
        if view is not None and can_pass(op) and should_come_before(op):
            with ir.InsertionPoint(op), op.location:
                replace_op(op, [view.of(_rebuilt(op, view.before, view.source))])
    for op in reversed(structured_ops(func)):
        view = _view_behind(op)
        if view is not None and can_pass(op) and should_come_behind(op, view):
            with ir.InsertionPoint(view.expand), op.location:
                replace_op(view.expand, [_rebuilt(op, view.of, view.result)])


def can_pass(op: ir.Operation) -> bool:
    """Whether ``op`` computes element by element, whatever the shape of its tensors."""
    if len(op.results) != 1 or "reduction" in kinds_of(op) or not can_split(op):
        return False
    identity = ir.AffineMap.get_identity(len(kinds_of(op)), op.context)
    in_order = all(where in (identity, _nowhere(identity)) for where in maps_of(op))
    return in_order and defining_op(inits_of(op)[0], "tensor.empty") is not None


def should_come_before(op: ir.Operation) -> bool:
    """Whether ``op``, which reads a view, reads nothing else that is made in a kernel."""
    return not any(is_made(value) for value in inputs_of(op))


def should_come_behind(op: ir.Operation, view: View) -> bool:
    """Whether what reads ``view`` could do what ``op`` does, and no other kernel would."""
    return is_awaited(view.result) and not any(map(rests_on_rows, inputs_of(op)))


def _view_behind(op: ir.Operation) -> View | None:
    """The view that alone reads what ``op`` makes."""
    value = op.results[0]
    for name in ("tensor.collapse_shape", "tensor.expand_shape"):
        reader = next(iter(value.uses)).owner.operation if has_one_use(value) else None
        if reader is None or reader.name != name:
            return None
        value = reader.results[0]
    return view_of(value)


def _rebuilt(op: ir.Operation, reshaped: Callable[[ir.Value], ir.Value], like: ir.Value) -> ir.Value:
    """What ``op`` makes, here, of its operands ``reshaped`` to be ``like`` another tensor."""
    rank = like.type.rank
    identity = ir.AffineMap.get_identity(rank, op.context)
    maps = [identity if where.results else _nowhere(identity) for where in maps_of(op)]
    inputs = [
        reshaped(value) if where.results else value
        for value, where in zip(inputs_of(op), maps_of(op), strict=False)
    ]
    init = tensor.EmptyOp(sizes_of(like), op.results[0].type.element_type).result
    at, kinds = ir.InsertionPoint.current, ["parallel"] * rank
    return copy_generic(op, [*inputs, init], at=at, maps=maps, kinds=kinds).results[0]


def _nowhere(identity: ir.AffineMap) -> ir.AffineMap:
    """How a number is read."""
    return ir.AffineMap.get(identity.n_dims, 0, [], identity.context)


def _reshaped(value: ir.Value, joined: ir.Operation, parts: ir.Operation, like: ir.Value) -> ir.Value:
    """``value`` with dims joined as one reshape has them, and split as another one: ``like`` a tensor."""
    element = value.type.element_type
    flat = (joined.results if joined.name == "tensor.collapse_shape" else joined.operands)[0]
    kind = ir.RankedTensorType.get(flat.type.shape, element)
    collapsed = tensor.CollapseShapeOp(kind, value, joined.attributes["reassociation"]).result
    static, dynamic = split(sizes_of(like))
    whole = ir.RankedTensorType.get(static, element)
    groups = parts.attributes["reassociation"]
    return tensor.ExpandShapeOp(whole, collapsed, groups, dynamic, static).result
