"""Approximate functions: the errors and special values that the PTX ISA gives in 9.7.3 and 9.7.4."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mlopt.test.python.emulator.reference import from_bits, to_bits
from mlopt.test.python.emulator.snippets import apply

RNG = np.random.default_rng(9)
COUNT = 1024
INF, NAN = math.inf, math.nan
TINY, HUGE = 2.0**-149, 3e38
WHOLE_TURN = 2 * math.pi

# The exact function; its error, absolute and relative to the result; where it holds.
BOUNDS: dict[tuple[str, tuple[float, float]], tuple[Callable[[Any], Any], float, float]] = {
    ("rcp.approx.f32", (2.0**-126, 2.0**126)): (lambda a: 1 / a, 0, 2.0**-23),
    ("sqrt.approx.f32", (TINY, HUGE)): (np.sqrt, 0, 2.0**-23),
    ("rsqrt.approx.f32", (TINY, HUGE)): (lambda a: 1 / np.sqrt(a), 0, 2.0**-22.9),
    ("sin.approx.f32", (-WHOLE_TURN, WHOLE_TURN)): (np.sin, 2.0**-20.5, 0),
    ("cos.approx.f32", (-WHOLE_TURN, WHOLE_TURN)): (np.cos, 2.0**-20.5, 0),
    ("sin.approx.f32", (-50 * WHOLE_TURN, 50 * WHOLE_TURN)): (np.sin, 2.0**-14.7, 0),
    ("cos.approx.f32", (-50 * WHOLE_TURN, 50 * WHOLE_TURN)): (np.cos, 2.0**-14.7, 0),
    ("lg2.approx.f32", (0.5, 2.0)): (np.log2, 2.0**-22, 0),
    ("lg2.approx.f32", (2.0, HUGE)): (np.log2, 0, 2.0**-22),
    ("lg2.approx.f32", (TINY, 0.5)): (np.log2, 0, 2.0**-22),
    ("ex2.approx.f32", (-150.0, 128.0)): (np.exp2, 2 * TINY, 2.0**-22),
    ("ex2.approx.ftz.f32", (-125.9, 128.0)): (np.exp2, 0, 2.0**-22),
    ("tanh.approx.f32", (-12.0, 12.0)): (np.tanh, 0, 2.0**-11),
    ("ex2.approx.f16", (-14.0, 15.9)): (np.exp2, 0, 2.0**-9.9),
    ("tanh.approx.f16", (-6.0, 6.0)): (np.tanh, 2.0**-10.987, 0),
    ("ex2.approx.ftz.bf16", (-120.0, 120.0)): (np.exp2, 0, 2.0**-7),
    ("tanh.approx.bf16", (-6.0, 6.0)): (np.tanh, 0, 2.0**-8),
}


def values(low: float, high: float) -> np.ndarray:
    """Random numbers in a range: even ones, or where it is positive, of even exponents."""
    if low < 0:
        return RNG.uniform(low, high, COUNT)
    return np.clip(np.exp2(RNG.uniform(math.log2(low), math.log2(high), COUNT)), low, high)


@pytest.mark.parametrize("case", BOUNDS, ids=lambda case: f"{case[0]}-{case[1][1]:.3g}")
def test_errors(case: tuple[str, tuple[float, float]]) -> None:
    (instruction, (low, high)), (function, absolute, relative) = case, BOUNDS[case]
    kind = instruction.rpartition(".")[2]
    numbers = values(low, high).astype(np.float32)
    bits = to_bits(numbers.tolist(), kind) if kind != "f32" else numbers.view(np.uint32)
    given = np.array(from_bits(bits, kind), np.longdouble)
    found = np.array(from_bits(apply(instruction, kind, [(kind, bits)]), kind), np.longdouble)
    exact = function(given)
    assert (np.abs(found - exact) <= absolute + relative * np.abs(exact)).all()


@pytest.mark.parametrize(("instruction", "top"), [("div.full.f32", 2.0**60), ("div.approx.f32", 2.0**126)])
def test_division_within_two_ulp(instruction: str, top: float) -> None:
    a, b = (values(2.0**-20, 2.0**20), values(1 / top, top))
    a, b = a.astype(np.float32), np.clip(b.astype(np.float32), np.float32(1 / top), np.float32(top))
    found = apply(instruction, "f32", [("f32", a), ("f32", b)]).view(np.float32).astype(np.longdouble)
    exact = a.astype(np.longdouble) / b.astype(np.longdouble)
    ulp = np.maximum(np.exp2(np.floor(np.log2(exact)) - 23), np.longdouble(TINY))
    finite = exact < np.finfo(np.float32).max
    assert (np.abs(found - exact) <= 2 * ulp)[finite].all()


# What -inf, -1, -0, +0, +inf and NaN give.
SPECIAL: dict[str, list[float]] = {
    "rcp.approx.f32": [-0.0, -1.0, -INF, INF, 0.0, NAN],
    "sqrt.approx.f32": [NAN, NAN, -0.0, 0.0, INF, NAN],
    "rsqrt.approx.f32": [NAN, NAN, -INF, INF, 0.0, NAN],
    "lg2.approx.f32": [NAN, NAN, -INF, -INF, INF, NAN],
    "ex2.approx.f32": [0.0, 0.5, 1.0, 1.0, INF, NAN],
    "tanh.approx.f32": [-1.0, math.tanh(-1.0), -0.0, 0.0, 1.0, NAN],
    "sin.approx.f32": [NAN, math.sin(-1.0), -0.0, 0.0, NAN, NAN],
    "cos.approx.f32": [NAN, math.cos(-1.0), 1.0, 1.0, NAN, NAN],
    "rcp.approx.ftz.f64": [-0.0, -1.0, -INF, INF, 0.0, NAN],
    "rsqrt.approx.ftz.f64": [NAN, NAN, -INF, INF, 0.0, NAN],
}


@pytest.mark.parametrize("instruction", SPECIAL)
def test_special_values(instruction: str) -> None:
    kind, dtype = ("f64", np.float64) if instruction.endswith("f64") else ("f32", np.float32)
    given = np.array([-INF, -1.0, -0.0, 0.0, INF, NAN] * 2 + [1.0] * 20, dtype)
    bits = apply(instruction, kind, [(kind, given)])[:6]
    found, expected = bits.view(dtype), np.array(SPECIAL[instruction], dtype)
    assert np.allclose(found, expected, rtol=1e-6, equal_nan=True)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()
    canonical = 0x7FFFFFFF if kind == "f32" else 0x7FFFFFFF00000000
    assert (bits[np.isnan(expected)] == canonical).all()


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("rcp.approx.ftz.f32", [INF, -INF]),
        ("sqrt.approx.ftz.f32", [0.0, -0.0]),
        ("rsqrt.approx.ftz.f32", [INF, -INF]),
        ("lg2.approx.ftz.f32", [-INF, -INF]),
        ("ex2.approx.ftz.f32", [1.0, 1.0]),
        ("sin.approx.ftz.f32", [0.0, -0.0]),
        ("cos.approx.ftz.f32", [1.0, 1.0]),
        ("sin.approx.f32", [2.0**-130, -(2.0**-130)]),
        ("tanh.approx.f32", [2.0**-130, -(2.0**-130)]),
        ("lg2.approx.f32", [-130.0, NAN]),
        ("rcp.approx.ftz.f64", [INF, -INF]),
        ("rsqrt.approx.ftz.f64", [INF, -INF]),
    ],
)
def test_subnormal_numbers(instruction: str, expected: list[float]) -> None:
    kind, dtype = ("f64", np.float64) if instruction.endswith("f64") else ("f32", np.float32)
    least = 2.0**-1050 if kind == "f64" else 2.0**-130
    given = np.array([least, -least] + [1.0] * 30, dtype)
    found = apply(instruction, kind, [(kind, given)])[:2].view(dtype)
    assert np.array_equal(found, np.array(expected, dtype), equal_nan=True)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


def test_reciprocals_of_the_upper_half() -> None:
    a = values(1e-100, 1e100)
    seen = (a.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    for instruction, exact in (("rcp.approx.ftz.f64", 1 / seen), ("rsqrt.approx.ftz.f64", 1 / np.sqrt(seen))):
        bits = apply(instruction, "f64", [("f64", a)])
        assert (bits & np.uint64(0xFFFFFFFF) == 0).all()
        assert np.allclose(bits.view(np.float64), exact, rtol=2.0**-20, atol=0)


def test_division_by_what_is_huge() -> None:
    a = np.array([1.0, INF, -1.0, 2.0**120] + [1.0] * 28, np.float32)
    b = np.full(32, 2.0**127, np.float32)
    found = apply("div.approx.f32", "f32", [("f32", a), ("f32", b)]).view(np.float32)
    assert found[0] == 0 and np.isnan(found[1]) and found[2] == 0 and found[3] == 0
    assert apply("div.full.f32", "f32", [("f32", a), ("f32", b)]).view(np.float32)[3] == 2.0**-7
