"""Sizes that come back to what they were: ``(n * 7) / 7`` is ``n``.

Collapsing a dynamic dim with a static one multiplies its size, and expanding it again divides. Only when the
two are one value can it be seen that two tensors have one shape. Sizes are not negative and do not overflow.
"""

from __future__ import annotations

from mlir import ir

from ..constants import scalar_constant
from ..divisions import QUOTIENTS
from ..groups import entry_ops
from ..operations import defining_op


def fold_sizes(func: ir.Operation) -> None:
    """Replace exact divisions of multiplied sizes in ``func``."""
    for op in entry_ops(func):
        if op.name in QUOTIENTS and isinstance(op.results[0].type, ir.IndexType):
            divisor = scalar_constant(op.operands[1])
            whole = None if divisor is None else _divided(op.operands[0], divisor.value)
            if whole is not None:
                op.results[0].replace_all_uses_with(whole)


def _divided(value: ir.Value, divisor: int) -> ir.Value | None:
    """``n`` where ``value`` is ``n * divisor``."""
    product = defining_op(value, "arith.muli")
    if product is not None:
        factor = scalar_constant(product.operands[1])
        return product.operands[0] if factor is not None and factor.value == divisor else None
    applied = defining_op(value, "affine.apply")
    if applied is None or len(applied.operands) != 1:
        return None
    expr = applied.attributes["map"].value.results[0]
    is_product = isinstance(expr, ir.AffineMulExpr) and isinstance(expr.rhs, ir.AffineConstantExpr)
    is_single = is_product and isinstance(expr.lhs, (ir.AffineSymbolExpr, ir.AffineDimExpr))
    return applied.operands[0] if is_single and expr.rhs.value == divisor else None
