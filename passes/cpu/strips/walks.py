"""How a position in memory follows a loop over a window: some steps a turn, or one in ``stride`` turns."""

from __future__ import annotations

from typing import NamedTuple

from mlir import ir
from mlir.dialects import arith

from ...affine import fold_affine
from ...constants import integer_of
from .emitter import Emitter


class Walk(NamedTuple):
    """The position ``start`` + ``step`` * ((k + ``shift``) floordiv ``stride``), for a loop's variable k.

    One of ``step`` and ``stride`` is 1: windows with a dilation have the one, and with a stride the other.
    """

    start: ir.Value
    shift: int = 0
    stride: int = 1
    step: int = 1

    def moved(self, turn: int) -> int:
        """How far the position is from ``start`` in a turn."""
        return self.step * ((turn + self.shift) // self.stride)

    def turn_of(self, em: Emitter, position: int) -> ir.Value:
        """The least k for which the position is not below ``position``."""
        where, stride, shift, step = map(em.index, (position, self.stride, self.shift, self.step))
        with em.here():
            turn = arith.SubIOp(where, self.start).result
            if self.stride != 1:
                turn = arith.MulIOp(turn, stride).result
            if self.step != 1:
                turn = arith.CeilDivSIOp(turn, step).result
            return arith.SubIOp(turn, shift).result if self.shift else turn


def walk_of(em: Emitter, index: ir.Value, loop: ir.OpView, around: ir.OpView) -> Walk | None:
    """How ``index`` follows the variable of ``loop`` and no other of a loop in ``around``; else None."""
    owner, variable = index.owner, loop.induction_variable
    if index == variable:
        return Walk(em.index(0))
    if isinstance(owner, ir.Block) or owner.name != "affine.apply":
        return None
    operands: list[Walk | ir.Value | None] = []
    for operand in owner.operands:
        if operand == variable:
            operands.append(Walk(em.index(0)))
        else:
            operands.append(None if _is_inside(operand, around) else em.scalar(operand))
    affine = owner.attributes["map"].value

    def combine(
        kind: str, left: Walk | ir.Value | None, right: Walk | ir.Value | None
    ) -> Walk | ir.Value | None:
        if kind == "+" and isinstance(right, Walk):
            left, right = right, left
        if left is None or right is None or isinstance(right, Walk):
            return None
        if not isinstance(left, Walk):
            return em.sum(left, right) if kind == "+" else None
        if kind == "+":
            return left._replace(start=em.sum(left.start, right))
        start, number = integer_of(left.start), integer_of(right)
        is_plain = left.stride == left.step == 1
        if not is_plain or start is None or number is None or number <= 0:
            return None
        if kind == "floordiv":
            return Walk(em.index(0), left.shift + start, number)
        return Walk(em.index(number * start), step=number) if kind == "*" and not left.shift else None

    found = fold_affine(affine.results[0], operands, affine.n_dims, em.index, combine)
    return found if isinstance(found, Walk) else None


def _is_inside(value: ir.Value, loop: ir.OpView) -> bool:
    """Whether a value is not known before the loop."""
    owner = value.owner
    parent = owner.owner.operation if isinstance(owner, ir.Block) else owner.parent
    while parent is not None and parent.operation != loop.operation:
        parent = parent.operation.parent
    return parent is not None
