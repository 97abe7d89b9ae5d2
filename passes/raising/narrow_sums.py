"""Sums of products of which only the low half is kept are made in that.

::

    %s = generic {matmul} ins(%x, %y : i32) -> i64 { acc + extsi(a) * extsi(b) }
    generic {cast} ins(%s) { trunci } -> i32
  ->
    generic {matmul} ins(%x, %y : i32) -> i32 { acc + a * b }

PyTorch multiplies matrices of i32 so. Legal: the low half of a sum or a product is that of the low halves.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import constant, is_zero
from ..operations import defining_op
from ..structured import (
    WIDENING,
    body_of,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    is_pointwise,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
)
from .bodies import is_contraction


def narrow_sums(func: ir.Operation) -> None:
    """Make the sums of ``func`` in the type that all of their readers want."""
    for op in structured_ops(func):
        reader = _truncation(op)
        if reader is not None:
            _narrow(op, reader)


def _truncation(op: ir.Operation) -> ir.Operation | None:
    """The one reader of a sum of products from zero, if that does nothing but drop high bits."""
    if not is_contraction(op) or not isinstance(element_type(op.results[0]), ir.IntegerType):
        return None
    start = fill_value(inits_of(op)[0])
    uses = list(op.results[0].uses)
    if start is None or not is_zero(start) or len(uses) != 1:
        return None
    reader = uses[0].owner.operation
    if reader.name != "linalg.generic" or not is_pointwise(reader) or len(reader.operands) != 2:
        return None
    body = body_of(reader)
    cast = defining_op(body.operations[-1].operation.operands[0], "arith.trunci")
    plain = all(where == maps_of(reader)[-1] for where in maps_of(reader))
    return reader if plain and cast is not None and cast.operands[0] == body.arguments[0] else None


def _narrow(op: ir.Operation, reader: ir.Operation) -> None:
    kind = element_type(reader.results[0])
    with op.location, ir.InsertionPoint(op):
        zero = constant(ir.IntegerAttr.get(kind, 0))
        empty = tensor.EmptyOp(sizes_of(op.results[0]), kind).result
        init = linalg.fill(zero, outs=[empty])
    new = make_generic(
        inputs_of(op),
        [init],
        maps_of(op),
        kinds_of(op),
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint(op),
    )
    casts = {
        each.operation.operands[0]: each.operation.name
        for each in body_of(op).operations
        if each.operation.name in WIDENING
    }
    one, other, total = body_of(new).arguments
    old = body_of(op).arguments
    with ir.InsertionPoint(body_of(new)), op.location:
        factors = [_cast(value, casts.get(was), kind) for value, was in zip((one, other), old, strict=False)]
        linalg.YieldOp([arith.addi(total, arith.muli(*factors))])
    replace_op(reader, new.results)


def _cast(value: ir.Value, widening: str | None, kind: ir.IntegerType) -> ir.Value:
    """A factor in the sum's type; ``widening`` is how it was widened before."""
    width = value.type.width
    if width == kind.width:
        return value
    name = "arith.trunci" if width > kind.width else widening
    return ir.Operation.create(name, results=[kind], operands=[value]).results[0]
