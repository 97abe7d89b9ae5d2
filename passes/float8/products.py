"""linalg.matmul of 8-bit floats: of f16, which has all their numbers, or of bits."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, linalg

from ..structured import (
    body_of,
    inits_of,
    inputs_of,
    make_empty,
    make_generic,
    named_maps_of,
    replace_op,
)

NAME = "linalg.matmul"


def widen_factors(op: ir.Operation) -> None:
    """Let a product have factors of f16: the same numbers, by a cast of each."""
    at, half = ir.InsertionPoint(op), ir.F16Type.get()
    zero = op.operands[2]
    casts = []
    for factor in inputs_of(op):
        init = make_empty(factor, location=op.location, at=at, element=half)
        whole = ir.AffineMap.get_identity(factor.type.rank)
        kinds = ["parallel"] * factor.type.rank
        cast = make_generic([factor], [init], [whole] * 2, kinds, "cast", location=op.location, at=at)
        with ir.InsertionPoint(body_of(cast)), op.location:
            linalg.YieldOp([arith.extf(half, body_of(cast).arguments[0])])
        casts.append(cast.results[0])
    with at, op.location:
        made = linalg.matmul(*casts, outs=[zero])
    replace_op(op, [made])


def make_product(op: ir.Operation) -> list[ir.Operation]:
    """Write a product out; the casts in its body, which widen its factors."""
    made = make_generic(
        inputs_of(op),
        inits_of(op),
        named_maps_of(op),
        ["parallel", "parallel", "reduction"],
        "matmul",
        location=op.location,
        at=ir.InsertionPoint(op),
    )
    left, right, total = body_of(made).arguments
    with ir.InsertionPoint(body_of(made)), op.location:
        wide = [arith.extf(total.type, factor) for factor in (left, right)]
        linalg.YieldOp([arith.addf(total, arith.mulf(*wide))])
    replace_op(op, list(made.results))
    return [value.owner.operation for value in wide]


def read_bits(cast: ir.Operation, kind: ir.Type) -> None:
    """Let a cast take a byte, the bits of a ``kind``."""
    with ir.InsertionPoint(cast), cast.location:
        cast.operands[0] = arith.bitcast(kind, cast.operands[0])
