"""How large index values get, and how many positions of a tile lie inside memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from mlir import ir

from ...affine import fold_affine
from ...constants import integer_of

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Range:
    """An index lies in [low, high] (None: unknown) and is a multiple of ``multiple`` (0: it is 0)."""

    low: int | None
    high: int | None
    multiple: int


UNKNOWN = Range(None, None, 1)


def range_of(value: ir.Value) -> Range:
    """What the loops around an index value, and the arithmetic that makes it, say about it."""
    number = integer_of(value)
    if number is not None:
        return _exactly(number)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return _loop_range(value, owner)
    name = owner.name
    if name == "affine.apply":
        affine = owner.attributes["map"].value
        inputs = [range_of(operand) for operand in owner.operands]
        return fold_affine(affine.results[0], inputs, affine.n_dims, _exactly, _combine)
    if name in ("arith.addi", "arith.subi", "arith.muli"):
        left, right = (range_of(operand) for operand in owner.operands)
        if name == "arith.muli":
            return _times(left, right)
        return _plus(left, right if name == "arith.addi" else _times(right, Range(-1, -1, 1)))
    if name == "arith.minsi":
        return _least(*(range_of(operand) for operand in owner.operands))
    return UNKNOWN


def _loop_range(value: ir.Value, block: ir.Block) -> Range:
    loop = block.owner
    number = ir.BlockArgument(value).arg_number
    if loop.operation.name == "scf.for" and number == 0:
        lower, upper, step = (range_of(operand) for operand in list(loop.operation.operands)[:3])
    elif loop.operation.name == "scf.forall" and number < len(loop.attributes["staticLowerBound"]):
        sizes = (
            ir.DenseI64ArrayAttr(loop.attributes[name])[number]
            for name in ("staticLowerBound", "staticUpperBound", "staticStep")
        )
        lower, upper, step = (UNKNOWN if size == DYNAMIC else _exactly(size) for size in sizes)
    else:
        return UNKNOWN
    multiple = gcd(lower.multiple, step.multiple)
    if lower.low is None or upper.high is None or step.low is None or step.low != step.high:
        return Range(lower.low, None, multiple)
    last = lower.low + max(upper.high - 1 - lower.low, 0) // step.low * step.low
    return Range(lower.low, last, multiple)


def _exactly(number: int) -> Range:
    return Range(number, number, abs(number))


def _plus(left: Range, right: Range) -> Range:
    low = None if left.low is None or right.low is None else left.low + right.low
    high = None if left.high is None or right.high is None else left.high + right.high
    return Range(low, high, gcd(left.multiple, right.multiple))


def _least(left: Range, right: Range) -> Range:
    low = None if left.low is None or right.low is None else min(left.low, right.low)
    highs = [side.high for side in (left, right) if side.high is not None]
    return Range(low, min(highs, default=None), gcd(left.multiple, right.multiple))


def _times(left: Range, right: Range) -> Range:
    multiple = left.multiple * right.multiple
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return Range(None, None, multiple)
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return Range(min(corners), max(corners), multiple)


def _combine(kind: str, left: Range, right: Range) -> Range:
    if kind == "+":
        return _plus(left, right)
    if kind == "*":
        return _times(left, right)
    divisor = right.low
    if divisor is None or divisor != right.high or divisor <= 0 or left.low is None or left.high is None:
        return UNKNOWN
    if kind == "floordiv":
        exact = left.multiple // divisor if left.multiple % divisor == 0 else 1
        return Range(left.low // divisor, left.high // divisor, exact)
    if kind == "mod":
        if left.low >= 0 and left.high < divisor:
            return left
        return Range(0, divisor - 1, gcd(left.multiple, divisor))
    return UNKNOWN


@dataclass(frozen=True)
class Extent:
    """How many positions of a tile dim count: ``static`` of them, or a run-time number that is
    at most ``most``, at least ``least`` and a multiple of ``multiple``; ``bound`` as in `Axis`.
    """

    static: int | None
    value: ir.Value | None
    most: int
    least: int
    multiple: int
    bound: tuple[ir.Value, int] | None = None


def fits(index: ir.Value, tile: int, size: int) -> bool:
    """Whether ``index + tile <= size`` is certain."""
    known = range_of(index)
    return (
        size != DYNAMIC
        and known.low is not None
        and known.low >= 0
        and (known.high is not None and known.high + tile <= size)
    )
