"""tensor.generate, tensor.splat and constants of one number become linalg: a generic over the indices, fills.

::

    tensor.generate %n { ^bb0(%i, %j): … }     ->  linalg.generic outs(tensor.empty) { linalg.index 0, 1: … }
    tensor.splat %s                            ->  linalg.fill ins(%s) outs(tensor.empty)
    arith.constant dense<2.0> : tensor<5x7xf32>  ->  linalg.fill ins(%two) outs(tensor.empty)

Legal always. A fill costs no reads, and a GPU has no constants in the memory of the host; run it on constants
after generics have taken in those that they read.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import splat_of
from ..structured import body_of, make_generic, replace_op, structured_ops
from ..subsets import mixed


def lower_generated(func: ir.Operation) -> None:
    """Rewrite each tensor.generate and tensor.splat of ``func``."""
    for op in structured_ops(func, "tensor.generate"):
        with op.location, ir.InsertionPoint(op):
            empty = _empty_of(op, list(op.operands))
            replace_op(op, [fill_by_index(op, empty)])
    for op in structured_ops(func, "tensor.splat"):
        with op.location, ir.InsertionPoint(op):
            replace_op(op, [linalg.fill(op.operands[0], outs=[_empty_of(op, list(op.operands)[1:])])])


def fill_constants(func: ir.Operation) -> None:
    """Rewrite each tensor constant of ``func`` that is one number throughout."""
    for op in structured_ops(func, "arith.constant"):
        kind = op.results[0].type
        number = splat_of(op.results[0]) if isinstance(kind, ir.RankedTensorType) else None
        if number is not None:
            with op.location, ir.InsertionPoint(op):
                value = arith.constant(kind.element_type, number)
                replace_op(op, [linalg.fill(value, outs=[_empty_of(op, [])])])


def _empty_of(op: ir.Operation, dynamic: list[ir.Value]) -> ir.Value:
    kind = op.results[0].type
    return tensor.EmptyOp(mixed(kind.shape, dynamic), kind.element_type).result


def fill_by_index(op: ir.Operation, empty: ir.Value) -> ir.Value:
    """A generic onto ``empty`` that takes over the body of ``op``, whose arguments are the indices."""
    rank = empty.type.rank
    generic = make_generic(
        [],
        [empty],
        [ir.AffineMap.get_identity(rank, op.context)],
        ["parallel"] * rank,
        "generate",
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body_of(op),
    )
    body = body_of(generic)
    with op.location:
        with ir.InsertionPoint.at_block_begin(body):
            for dim in range(rank):
                body.arguments[dim].replace_all_uses_with(linalg.IndexOp(dim).result)
        end = body.operations[-1].operation
        with ir.InsertionPoint(end):
            linalg.YieldOp(list(end.operands))
        end.erase()
        for _ in range(rank):
            body.erase_argument(0)
        body.add_argument(empty.type.element_type, op.location)
    return generic.results[0]
