"""Arithmetic without a rounding error too many: sums and products with their errors, fused multiply-add.

Results for narrow formats are computed in float64 and rounded to odd there (what is lost sets the
lowest bit), so that rounding them again is as good as rounding the exact result once (Boldo and
Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE TC 2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .ptx import Array

_SPLIT = np.float64(134217729.0)  # 2**27 + 1, Veltkamp's constant for 53 bits
_ONE = np.uint64(1)


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b rounded, and its error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """a * b rounded, and its error (Dekker, Veltkamp); for operands far from the range's ends."""
    product = a * b
    big_a, big_b = _SPLIT * a, _SPLIT * b
    ah, bh = big_a - (big_a - a), big_b - (big_b - b)
    al, bl = a - ah, b - bh
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def to_odd(value: Any, error: Any) -> Any:
    """A rounded float64 and its error as one float64: truncated, the lowest bit set if anything was lost."""
    bits = np.asarray(value).view(np.uint64)
    inexact = (error != 0) & np.isfinite(value)
    even = (bits & _ONE) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact & even, np.nextafter(value, toward), value)


def odd_sum(a: Any, b: Any) -> Any:
    """a + b rounded to odd."""
    total, error = two_sum(a, b)
    return to_odd(total, error)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c for float64, rounded once to nearest."""
    a, b, c = np.broadcast_arrays(a, b, c)
    plain = a * b + c
    product = np.abs(a * b)
    safe = (product < 2.0**1000) & (product > 2.0**-900) & (np.abs(c) < 2.0**1000)
    safe &= (np.abs(a) < 2.0**990) & (np.abs(b) < 2.0**990)
    high, low = two_product(a, b)
    sum_high, sum_low = two_sum(c, low)
    total, rest = two_sum(high, sum_high)
    result = np.where(safe, total + odd_sum(sum_low, rest), plain)
    simple = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    for row in np.flatnonzero(~(safe | simple)):
        result[row] = _fma_slowly(float(a[row]), float(b[row]), float(c[row]), float(plain[row]))
    return result


def _fma_slowly(a: float, b: float, c: float, plain: float) -> float:
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        return plain
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def fma_directed(a: Array, b: Array, c: Array, nearest: Array, mode: str) -> Array:
    """a * b + c for float64 rounded by ``mode``, from the result that is rounded to nearest."""
    out = nearest.copy()
    for row, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
        if np.isfinite(x) and np.isfinite(y) and np.isfinite(z):
            value = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            out[row] = round_fraction(value, mode, float(nearest[row]))
    return out


def nudged(result: Array, error: Array, mode: str) -> Array:
    """A float64 rounded to nearest, and its error's sign, rounded by ``mode`` (rz, rm, rp)."""
    down, up = np.nextafter(result, -np.inf), np.nextafter(result, np.inf)
    finite = np.isfinite(result)
    if mode == "rp":
        return np.where(finite & (error > 0), up, result)
    if mode == "rm":
        return np.where(finite & (error < 0), down, result)
    inward = np.where(result > 0, down, up)
    lost = np.where(result > 0, error < 0, error > 0)
    return np.where(finite & lost & (result != 0), inward, result)


def directed(
    operation: Callable[..., Fraction], mode: str, nearest: Array, error: Array, *operands: Array
) -> Array:
    """The float64 result of an operation, rounded by ``mode``, from the one to nearest and its error.

    The error is right only far from the ends of the range; elsewhere ``operation`` is computed exactly.
    """
    nearest, error, *operands_ = np.broadcast_arrays(np.atleast_1d(nearest), error, *operands)
    out = nudged(nearest, error, mode)
    finite = np.logical_and.reduce([np.isfinite(operand) for operand in operands_])
    sizes = np.abs(np.stack([nearest, *operands_]))
    safe = ((sizes == 0) | ((sizes > 2.0**-400) & (sizes < 2.0**400))).all(axis=0)
    for row in np.flatnonzero(finite & ~safe):
        values = [Fraction(float(operand[row])) for operand in operands_]
        try:
            out[row] = round_fraction(operation(*values), mode, float(nearest[row]))
        except ZeroDivisionError:
            out[row] = nearest[row]
    return out


def round_fraction(value: Fraction, mode: str, nearest: float) -> float:
    """An exact value, which ``nearest`` is nearest to (or infinite), rounded by ``mode``."""
    above = nearest == math.inf or (math.isfinite(nearest) and Fraction(nearest) > value)
    below = nearest == -math.inf or (math.isfinite(nearest) and Fraction(nearest) < value)
    if above and (mode == "rm" or (mode == "rz" and value > 0)):
        return math.nextafter(nearest, -math.inf)
    if below and (mode == "rp" or (mode == "rz" and value < 0)):
        return math.nextafter(nearest, math.inf)
    return nearest
