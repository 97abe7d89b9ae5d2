"""Contractions read their operands as they are stored, and widen them in the body.

::

    %w = generic {cast} ins(%x : bf16) -> f32
    generic {matmul} ins(%w, …) { ^(%a: f32, …): %a * … }   ->   ins(%x, …) { ^(%a: bf16, …): extf(%a) * … }

Legal: widening is exact, so where it happens does not matter, and what lies between, views and moves, takes
elements of any type. It halves what is read.

Through views and moves it is done where both factors are then of one type, which tensor cores may multiply:
so are those of a linear layer whose weights are cast before they are transposed.
"""

from __future__ import annotations

from mlir import ir

from ..moving.reads import is_move
from ..operations import defining_op
from ..structured import (
    body_of,
    element_type,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    structured_ops,
)
from .bodies import is_contraction, widening_of
from .late_casts import cast_after
from .reshape import RESHAPES


def read_narrow_operands(func: ir.Operation) -> None:
    """Pull widening casts of operands into the bodies of the contractions of ``func``."""
    for op in structured_ops(func):
        if is_contraction(op):
            if should_widen_views(op):
                _widen_views(op)
            if any(_widened(value) is not None for value in inputs_of(op)):
                _pull_in(op)


def should_widen_views(op: ir.Operation) -> bool:
    """Whether both factors of a contraction are stored in one type, if it reads views before their casts."""
    kinds = [element_type(_stored(value)) for value in inputs_of(op)]
    return kinds[0] == kinds[1]


def _stored(value: ir.Value) -> ir.Value:
    """What was widened before views and moves made ``value`` of it; ``value`` if nothing was."""
    cast, _ = _behind_views(value)
    return value if cast is None else cast.operands[0]


def _behind_views(value: ir.Value) -> tuple[ir.Operation | None, list[ir.Operation]]:
    """The widening cast before the views and moves that ``value`` comes through, and these, in order."""
    views: list[ir.Operation] = []
    while (cast := _widened(value)) is None:
        view = defining_op(value, "linalg.generic", *RESHAPES)
        if view is None or (view.name == "linalg.generic" and not is_move(view)):
            return None, []
        views.insert(0, view)
        value = view.operands[0]
    return cast, views


def _widen_views(op: ir.Operation) -> None:
    """Let the casts of what ``op`` reads come after all views of it."""
    for value in inputs_of(op):
        cast, views = _behind_views(value)
        for view in views if cast is not None else ():
            cast = cast_after(cast, view)


def _widened(value: ir.Value) -> ir.Operation | None:
    maker = defining_op(value, "linalg.generic")
    return None if maker is None or widening_of(maker) is None else maker


def _pull_in(op: ir.Operation) -> None:
    inputs, body = inputs_of(op), body_of(op)
    for number, value in enumerate(inputs):
        maker = _widened(value)
        if maker is None:
            continue
        cast = widening_of(maker)
        assert cast is not None
        inputs[number] = maker.operands[0]
        argument = body.arguments[number]
        kind = argument.type
        argument.set_type(element_type(maker.operands[0]))
        with ir.InsertionPoint.at_block_begin(body), op.location:
            wide = ir.Operation.create(cast.name, results=[kind], operands=[argument])
        argument.replace_all_uses_except(wide.results[0], [wide])
    new = make_generic(
        inputs,
        inits_of(op),
        maps_of(op),
        kinds_of(op),
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body,
    )
    replace_op(op, new.results)
