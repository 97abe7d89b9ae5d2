"""The largest number that is known to divide an index: what aligned accesses rest on."""

from __future__ import annotations

from math import gcd

from mlir import ir


def divisor(value: ir.Value) -> int:
    """The largest known divisor of an index value; 0 for the constant 0, which everything divides."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return _of_argument(value, owner)
    op = owner.operation
    if op.name == "arith.constant":
        attribute = op.attributes["value"]
        return abs(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else 1
    if op.name == "affine.apply":
        where = ir.AffineMapAttr(op.attributes["map"]).value
        return _of_expression(where.results[0], [divisor(operand) for operand in op.operands], where.n_dims)
    if op.name in ("arith.addi", "arith.subi"):
        return gcd(divisor(op.operands[0]), divisor(op.operands[1]))
    if op.name == "arith.muli":
        return divisor(op.operands[0]) * divisor(op.operands[1])
    return 1


def _of_argument(value: ir.Value, block: ir.Block) -> int:
    """Induction variables: of an scf.forall the multiples of its step, of an scf.for those from its start."""
    loop = block.owner.operation
    number = ir.BlockArgument(value).arg_number
    if loop.name == "scf.forall" and number < len(list(ir.DenseI64ArrayAttr(loop.attributes["staticStep"]))):
        step = list(ir.DenseI64ArrayAttr(loop.attributes["staticStep"]))[number]
        start = list(ir.DenseI64ArrayAttr(loop.attributes["staticLowerBound"]))[number]
        return gcd(step, start) if ir.ShapedType.get_dynamic_size() not in (step, start) else 1
    if loop.name == "scf.for" and number == 0:
        return gcd(divisor(loop.operands[0]), divisor(loop.operands[2]))
    return 1


def _of_expression(expr: ir.AffineExpr, operands: list[int], dims: int) -> int:
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return abs(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[dims + expr.position]
    if isinstance(expr, ir.AffineAddExpr):
        return gcd(_of_expression(expr.lhs, operands, dims), _of_expression(expr.rhs, operands, dims))
    if isinstance(expr, ir.AffineMulExpr):
        return _of_expression(expr.lhs, operands, dims) * _of_expression(expr.rhs, operands, dims)
    return 1
