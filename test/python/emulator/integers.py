"""Integers of each type, at random and at the ends, and results held against exact ones."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(97)
COUNT = 256
ENDS = [0, 1, -1, 2, 7, -8, 31, 32, 33, 63, 64]


def numbers(kind: str, low: int | None = None, high: int | None = None) -> tuple[np.ndarray, list[int]]:
    """Raw values of an integer type, and what they mean."""
    bits = int(kind[1:])
    signed = kind[0] == "s"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if low is None or high is None:
        values = [int(v) for v in RNG.integers(least, most, COUNT, dtype=np.int64 if signed else np.uint64)]
        values[:12] = [min(max(v, least), most) for v in [*ENDS, most]]
        values[12] = least
    else:
        values = RNG.integers(low, high, COUNT).tolist()
    RNG.shuffle(values)
    return np.array([v & ((1 << bits) - 1) for v in values], np.uint64).astype(f"u{bits // 8}"), values


def check(found: np.ndarray, expected: list[int]) -> None:
    mask = (1 << 8 * found.itemsize) - 1
    for at, (value, wanted) in enumerate(zip(found.tolist(), expected, strict=True)):
        assert value == wanted & mask, (at, hex(value), hex(wanted & mask))


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
