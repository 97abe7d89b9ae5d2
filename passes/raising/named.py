"""Named linalg ops become linalg.generic, and keep what they were as ``mlopt.op``.

::

    linalg.batch_matmul ins(%a, %b) outs(%c)
    ->  linalg.generic {mlopt.op = "bmm", indexing_maps = [(b,m,n,k) -> (b,m,k), …]} ins(%a, %b) outs(%c)

Legal for every structured op: its maps and its (hidden) body say all that it does. linalg.fill stays.
"""

from __future__ import annotations

from mlir import ir

from ..structured import body_of, make_generic, named_maps_of, replace_op

_LABELS = {
    "linalg.matmul": "matmul",
    "linalg.batch_matmul": "bmm",
    "linalg.batch_reduce_matmul": "bmm",
    "linalg.matvec": "matvec",
    "linalg.vecmat": "matvec",
    "linalg.batch_matvec": "matvec",
    "linalg.batch_vecmat": "matvec",
    "linalg.dot": "dot",
    "linalg.contract": "matmul",
    "linalg.quantized_matmul": "matmul",
    "linalg.quantized_batch_matmul": "bmm",
}
_KEPT = ("linalg.generic", "linalg.fill")


def generalize_named_ops(func: ir.Operation) -> None:
    """Replace the named linalg ops of ``func`` by labelled generics."""
    for op in list(func.regions[0].blocks[0].operations):
        op = op.operation
        if op.name.startswith("linalg.") and op.name not in _KEPT and can_generalize(op):
            generalize(op, _LABELS.get(op.name, op.name.removeprefix("linalg.")))


def can_generalize(op: ir.Operation) -> bool:
    """Whether ``op`` is a structured op on tensors: it has maps, and a body of one block."""
    return bool(op.results) and len(op.regions) == 1 and named_maps_of(op) is not None


def generalize(op: ir.Operation, label: str) -> ir.Operation:
    """Replace the structured op ``op`` by a generic called ``label``."""
    maps = named_maps_of(op)
    outputs = len(op.results)
    operands = list(op.operands)
    kinds = kinds_from(maps, outputs)
    generic = make_generic(
        operands[:-outputs],
        operands[-outputs:],
        maps,
        kinds,
        label,
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body_of(op),
    )
    replace_op(op, generic.results)
    return generic


def kinds_from(maps: list[ir.AffineMap], outputs: int) -> list[str]:
    """The iterator types that maps imply: a loop is parallel if it is a dim of the (first) result."""
    shown = {expr.position for expr in maps[-outputs].results if isinstance(expr, ir.AffineDimExpr)}
    return ["parallel" if loop in shown else "reduction" for loop in range(maps[0].n_dims)]
