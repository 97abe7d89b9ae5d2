"""The products of attention: which contractions make scores or add up values, and why others do not."""

from __future__ import annotations

from mlir import ir

from ..constants import is_zero
from ..structured import fill_value, inits_of, kinds_of, maps_of


def is_plain_product(op: ir.Operation) -> bool:
    """Whether a contraction adds up from zero along one loop, with loops alone in its maps."""
    maps = maps_of(op)
    plain = all(isinstance(expr, ir.AffineDimExpr) for each in maps for expr in each.results)
    floats = isinstance(op.results[0].type.element_type, (ir.F32Type, ir.F64Type))
    once = kinds_of(op).count("reduction") == 1
    return bool(plain and floats and once and is_zero(fill_value(inits_of(op)[0])))


def is_row_major(op: ir.Operation) -> bool:
    """Whether the first product's last dim is the second factor's own, in loop order."""
    maps = maps_of(op)
    last = maps[2].results[-1]
    rank = len(maps[2].results)
    in_order = [expr.position for expr in maps[2].results] == list(range(rank))
    reduced = kinds_of(op).index("reduction")
    return (
        in_order
        and last not in list(maps[0].results)
        and last in list(maps[1].results)
        and maps[0].results[-1] == ir.AffineDimExpr.get(reduced, op.context)
    )


def why_not_scores(op: ir.Operation) -> str:
    """Why a contraction, not plain or not row-major, does not make rows of scores."""
    if not is_plain_product(op):
        kind = op.results[0].type.element_type
        floats = isinstance(kind, (ir.F32Type, ir.F64Type))
        return "which does not add up from zero along one loop" if floats else f"which adds up in {kind}"
    (first, second, made), last = maps_of(op), maps_of(op)[2].results[-1]
    if [expr.position for expr in made.results] != list(range(len(made.results))):
        return "whose result is transposed"
    if last in list(first.results) or last not in list(second.results):
        return "whose second factor does not have the keys"
    return "whose first factor is transposed"
