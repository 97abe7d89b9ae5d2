"""Positions as sums: a number, and values times numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mlir import ir

from ...affine import fold_affine
from ...constants import scalar_constant

_NONE: Mapping[ir.Value, int] = {}


@dataclass(frozen=True)
class Linear:
    """``constant + Σ factor · value``; no factor is zero."""

    constant: int = 0
    terms: dict[ir.Value, int] = field(default_factory=dict)

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum of this and ``times`` the other."""
        terms = Counter(self.terms)
        for value, factor in other.terms.items():
            terms[value] += times * factor
        kept = {value: factor for value, factor in terms.items() if factor}
        return Linear(self.constant + times * other.constant, kept)


def linear_of(value: ir.Value, known: Mapping[ir.Value, int] = _NONE) -> Linear:
    """An integer as a sum; what else it comes from is a value of its own.

    ``known``: values that are numbers.
    """
    if value in known:
        return Linear(known[value])
    own = Linear(0, {value: 1})
    if isinstance(value.owner, ir.Block):
        return own
    op = value.owner.operation
    if op.name == "arith.constant":
        return Linear(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in ("arith.addi", "arith.subi"):
        first, second = (linear_of(operand, known) for operand in op.operands)
        return first.plus(second, 1 if op.name == "arith.addi" else -1)
    if op.name == "arith.select" and isinstance(holds := scalar_constant(op.operands[0]), ir.BoolAttr):
        return linear_of(op.operands[1 if holds.value else 2], known)
    if op.name == "arith.muli":
        return _product(*(linear_of(operand, known) for operand in op.operands)) or own
    if op.name == "affine.apply":
        where = ir.AffineMapAttr(op.attributes["map"]).value
        operands: list[Linear | None] = [linear_of(operand, known) for operand in op.operands]
        return fold_affine(where.results[0], operands, where.n_dims, Linear, _combine) or own
    return own


def _product(one: Linear, other: Linear) -> Linear | None:
    if not one.terms:
        one, other = other, one
    return None if other.terms else Linear().plus(one, other.constant)


def _combine(kind: str, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None:
        return None
    if kind == "+":
        return left.plus(right)
    if kind in ("floordiv", "mod") and not left.terms and not right.terms and right.constant > 0:
        quotient, rest = divmod(left.constant, right.constant)
        return Linear(quotient if kind == "floordiv" else rest)
    return _product(left, right) if kind == "*" else None
