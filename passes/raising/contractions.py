"""Contractions read their operands as they are stored, and widen them in the body.

::

    %w = generic {cast} ins(%x : bf16) -> f32
    generic {matmul} ins(%w, …) { ^(%a: f32, …): %a * … }   ->   ins(%x, …) { ^(%a: bf16, …): extf(%a) * … }

Legal: widening is exact, so where it happens does not matter. It halves what is read.
"""

from __future__ import annotations

from mlir import ir

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


def read_narrow_operands(func: ir.Operation) -> None:
    """Pull widening casts of operands into the bodies of the contractions of ``func``."""
    for op in structured_ops(func):
        if is_contraction(op) and any(_widened(value) is not None for value in inputs_of(op)):
            _pull_in(op)


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
