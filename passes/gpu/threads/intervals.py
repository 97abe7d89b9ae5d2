"""Intervals of whole numbers, and what arithmetic makes of them. None: a number of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]  # both ends are inside
Known: TypeAlias = Interval | None


def hull(*parts: Known) -> Known:
    """What holds all numbers of all ``parts``."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def below(known: Known, limit: Known) -> Known:
    """The numbers that are smaller than one of ``limit``."""
    if known is None or limit is None:
        return None
    return known[0], max(known[0], min(known[1], limit[1] - 1))


def _corners(of: Callable[[int, int], list[int]]) -> Callable[[Interval, Interval], Known]:
    """An op that is greatest and least where both of its operands are."""

    def made(one: Interval, other: Interval) -> Known:
        found = [number for corner in product(one, other) for number in of(*corner)]
        return min(found), max(found)

    return made


def _quotient(one: Interval, other: Interval) -> Known:
    return _divided(one, other) if other[0] > 0 else None


def _unsigned_quotient(one: Interval, other: Interval) -> Known:
    return _quotient(one, other) if one[0] >= 0 else None


def _unsigned_remainder(one: Interval, other: Interval) -> Known:
    if one[0] < 0 or other[0] <= 0:
        return None
    return (0, min(one[1], other[1] - 1))


def _remainder(one: Interval, other: Interval) -> Known:
    if other[0] <= 0:
        return None
    most = min(max(map(abs, one)), other[1] - 1)
    return (-most if one[0] < 0 else 0), (most if one[1] > 0 else 0)


def _modulus(_: Interval, other: Interval) -> Known:
    """Of affine maps: never negative."""
    return (0, other[1] - 1) if other[0] > 0 else None


def _bits(one: Interval, other: Interval) -> Known:
    """Of or, and exclusive or: no bit above the highest one of both."""
    if one[0] < 0 or other[0] < 0:
        return None
    return 0, (1 << max(one[1], other[1]).bit_length()) - 1


def _common_bits(one: Interval, other: Interval) -> Known:
    return (0, min(one[1], other[1])) if one[0] >= 0 and other[0] >= 0 else None


def _unsigned(of: Callable[[Interval, Interval], Known]) -> Callable[[Interval, Interval], Known]:
    """An op that takes numbers below zero for great ones."""
    return lambda one, other: of(one, other) if one[0] >= 0 and other[0] >= 0 else None


_sum = _corners(lambda one, other: [one + other])
_product = _corners(lambda one, other: [one * other])
_least = _corners(lambda one, other: [min(one, other)])
_greatest = _corners(lambda one, other: [max(one, other)])
_divided = _corners(lambda one, other: [one // other, -(-one // other)])  # however it is rounded

_RULES: Mapping[str, Callable[[Interval, Interval], Known]] = {
    "+": _sum,
    "*": _product,
    "mod": _modulus,
    "floordiv": _quotient,
    "ceildiv": _quotient,
    "arith.addi": _sum,
    "arith.subi": _corners(lambda one, other: [one - other]),
    "arith.muli": _product,
    "arith.divsi": _quotient,
    "arith.floordivsi": _quotient,
    "arith.ceildivsi": _quotient,
    "arith.divui": _unsigned_quotient,
    "arith.ceildivui": _unsigned_quotient,
    "arith.remsi": _remainder,
    "arith.remui": _unsigned_remainder,
    "arith.minsi": _least,
    "arith.maxsi": _greatest,
    "arith.minui": _unsigned(_least),
    "arith.maxui": _unsigned(_greatest),
    "arith.andi": _common_bits,
    "arith.ori": _bits,
    "arith.xori": _bits,
}


def combine(kind: str, one: Known, other: Known) -> Known:
    """What an op of two operands makes, or a part of an affine map ("+", "mod")."""
    rule = _RULES.get(kind)
    return None if rule is None or one is None or other is None else rule(one, other)
