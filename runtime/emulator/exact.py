"""Arithmetic without a rounding error too many: sums and products with their errors, fused multiply-add.

Results for narrow formats are computed in float64 and rounded to odd there (what is lost sets the
lowest bit), so that rounding them again is as good as rounding the exact result once (Boldo and
Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE TC 2008).
"""

from __future__ import annotations

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


def fma_error_sign(a: Array, b: Array, c: Array, result: Array) -> Array:
    """The sign of what rounding took from a * b + c."""
    signs = np.zeros(len(result))
    for row, values in enumerate(zip(a, b, c, result, strict=True)):
        if all(np.isfinite(values)):
            x, y, z, got = (Fraction(float(value)) for value in values)
            rest = x * y + z - got
            signs[row] = (rest > 0) - (rest < 0)
    return signs


def directed(result: Array, error: Array, mode: str) -> Array:
    """A float64 rounded to nearest, and the sign of its error, rounded by ``mode`` (rz, rm, rp)."""
    down, up = np.nextafter(result, -np.inf), np.nextafter(result, np.inf)
    finite = np.isfinite(result)
    if mode == "rp":
        return np.where(finite & (error > 0), up, result)
    if mode == "rm":
        return np.where(finite & (error < 0), down, result)
    inward = np.where(result > 0, down, up)
    lost = np.where(result > 0, error < 0, error > 0)
    return np.where(finite & lost & (result != 0), inward, result)
