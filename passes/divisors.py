"""The largest number that is known to divide an index: what aligned accesses rest on."""

from __future__ import annotations

from math import gcd

from mlir import ir

from .affine import fold_affine
from .constants import integer_of

_ONE_OF_TWO = ("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui")


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
        operands = [(divisor(operand), _end(operand)) for operand in op.operands]
        found, _ = fold_affine(where.results[0], operands, where.n_dims, _constant, _combine)
        return found
    if op.name in _ONE_OF_TWO or op.name in ("arith.addi", "arith.subi"):
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


def _end(value: ir.Value) -> int | None:
    """What an index, which is not negative, stays below: the end of its scf.for, if that is known."""
    owner = value.owner
    loop = owner.owner.operation if isinstance(owner, ir.Block) else None
    if loop is None or loop.name != "scf.for" or ir.BlockArgument(value).arg_number:
        return None
    return integer_of(loop.operands[1])


def _constant(number: int) -> tuple[int, int | None]:
    return abs(number), number + 1 if number >= 0 else None


def _combine(
    kind: str, left: tuple[int, int | None], right: tuple[int, int | None]
) -> tuple[int, int | None]:
    """The divisor of a sum, a product, …, of numbers with known divisors and ends; and its end."""
    (one, end), (other, _) = left, right
    if kind in ("+", "*"):
        return gcd(one, other) if kind == "+" else one * other, None
    if end is not None and end <= other:
        return left if kind == "mod" else (0, 1) if kind == "floordiv" else (1, None)
    if kind == "mod":
        return gcd(one, other), other
    return (one // other if kind == "floordiv" and one % other == 0 else 1), None
