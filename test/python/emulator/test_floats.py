"""Floating-point instructions against rational arithmetic: each format, each rounding, special values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mlopt.test.python.emulator import reference
from mlopt.test.python.emulator.snippets import apply

RNG = np.random.default_rng(754)
COUNT = 512
MODES = ("rn", "rz", "rm", "rp")


def operands(name: str, number: int) -> list[list[float]]:
    found = [reference.samples(name, COUNT, RNG) for _ in range(number)]
    for values in found[1:]:
        RNG.shuffle(values)
    return found


def run(instruction: str, name: str, sources: list[list[float]]) -> list[float]:
    given = [(name, reference.to_bits(values, name)) for values in sources]
    return reference.from_bits(apply(instruction, name, given), name)


def check(found: list[float], exact: list[Fraction | None], name: str, mode: str) -> None:
    """Equal to the rounded exact value; None: anything."""
    for at, (value, wanted) in enumerate(zip(found, exact, strict=True)):
        if wanted is not None:
            assert value == reference.rounded(wanted, name, mode), (at, value, float(wanted))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_add_sub_mul(name: str, mode: str) -> None:
    a, b = operands(name, 2)
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(a, b, strict=True)]
    check(run(f"add.{mode}.{name}", name, [a, b]), [x + y for x, y in pairs], name, mode)
    check(run(f"sub.{mode}.{name}", name, [a, b]), [x - y for x, y in pairs], name, mode)
    products = [x * y for x, y in pairs]
    check(run(f"mul.{mode}.{name}", name, [a, b]), products, name, mode)


@pytest.mark.parametrize(
    ("name", "mode"),
    [*((name, mode) for name in ("f32", "f64") for mode in MODES), ("f16", "rn"), ("bf16", "rn")],
)
def test_fma(name: str, mode: str) -> None:
    a, b, c = operands(name, 3)
    # Sums that cancel, and sums whose addend is a tie's breath away: where two roundings differ from one.
    precision = reference.FORMATS[name][0]
    for at in range(40, 200):
        a[at] = reference.rounded(Fraction(a[at % 30 + 300]) or Fraction(3), name)
        product = Fraction(a[at]) * Fraction(b[at])
        if at % 2:
            c[at] = (
                -reference.rounded(product, name) if math.isfinite(reference.rounded(product, name)) else 1.0
            )
        else:
            c[at] = reference.rounded(product * Fraction(1, 2 ** (precision + at % 7 - 3)), name)
            c[at] = c[at] if math.isfinite(c[at]) else 1.0
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, c, strict=True)]
    check(run(f"fma.{mode}.{name}", name, [a, b, c]), exact, name, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_div_rcp_sqrt(name: str, mode: str) -> None:
    a, b = operands(name, 2)
    b = [value or 3.0 for value in b]
    quotients = [Fraction(x) / Fraction(y) for x, y in zip(a, b, strict=True)]
    check(run(f"div.{mode}.{name}", name, [a, b]), quotients, name, mode)
    check(run(f"rcp.{mode}.{name}", name, [b]), [1 / Fraction(y) for y in b], name, mode)
    roots = run(f"sqrt.{mode}.{name}", name, [[abs(value) for value in a]])
    for value, root in zip(a, roots, strict=True):
        square = abs(Fraction(value))
        top, bottom = square.numerator, square.denominator
        guess = Fraction(math.isqrt(top * bottom << 400), bottom << 200)
        if guess * guess != square:  # below the root, by less than any distance to a tie of two floats
            guess += Fraction(1, bottom << 202)
        assert root == reference.rounded(guess, name, mode), value


@pytest.mark.parametrize("name", ["f16", "bf16", "f16x2", "bf16x2"])
def test_half_precision(name: str) -> None:
    single = name.removesuffix("x2")
    a, b = operands(single, 2)
    bits = [reference.to_bits(values, single) for values in (a, b)]
    if name != single:
        bits = [np.ascontiguousarray(values).view(np.uint16).view(np.uint32) for values in bits]
    sources = [(name, values) for values in bits]
    pairs = [(Fraction(x), Fraction(y)) for x, y in zip(a, b, strict=True)]

    def result(instruction: str) -> list[float]:
        return reference.from_bits(apply(f"{instruction}.{name}", name, sources).view(np.uint16), single)

    if single == "f16":
        check(result("add"), [x + y for x, y in pairs], single, "rn")
        check(result("sub"), [x - y for x, y in pairs], single, "rn")
        check(result("mul"), [x * y for x, y in pairs], single, "rn")
    assert result("min") == [min(x, y) for x, y in zip(a, b, strict=True)]
    assert result("max") == [max(x, y) for x, y in zip(a, b, strict=True)]


INF, NAN = math.inf, math.nan


def special(instruction: str, *values: list[float], name: str = "f32", more: str = "") -> np.ndarray:
    length = len(values[0])
    padded = [[*value, *[1.0] * (32 - length)] for value in values]
    given = [(name, reference.to_bits(value, name)) for value in padded]
    return apply(instruction, name, given, more)[:length]


def test_nan_is_canonical() -> None:
    assert special("add.f32", [INF, NAN], [-INF, 1.0]).tolist() == [0x7FFFFFFF] * 2
    assert special("fma.rn.f32", [INF, 0.0], [0.0, INF], [1.0, 1.0]).tolist() == [0x7FFFFFFF] * 2
    assert special("mul.f16", [INF], [0.0], name="f16").tolist() == [0x7FFF]


def test_min_and_max() -> None:
    a, b = [NAN, 1.0, NAN, 0.0, -0.0], [2.0, NAN, NAN, -0.0, 0.0]
    found = special("min.f32", a, b).view(np.float32)
    assert found[:2].tolist() == [2.0, 1.0] and np.isnan(found[2])
    assert np.signbit(found[3:]).all()
    assert not np.signbit(special("max.f32", a, b).view(np.float32)[3:]).any()
    assert np.isnan(special("min.NaN.f32", a, b).view(np.float32)[:3]).all()
    signed = special("min.xorsign.abs.f32", [-3.0, -3.0], [2.0, -2.0]).view(np.float32)
    assert signed.tolist() == [-2.0, 2.0]


def test_ftz_and_sat() -> None:
    tiny = 2.0**-140
    assert special("add.ftz.f32", [tiny, -tiny], [0.0, -0.0]).tolist() == [0, 0x80000000]
    assert special("mul.ftz.f32", [2.0**-70], [2.0**-70]).tolist() == [0]
    assert special("mul.f32", [2.0**-70], [2.0**-70]).view(np.float32).tolist() == [tiny]
    found = special("add.sat.f32", [2.0, -1.0, NAN, 0.25], [1.0, 0.0, 0.0, 0.25]).view(np.float32)
    assert found.tolist() == [1.0, 0.0, 0.0, 0.5]
    relu = special("fma.rn.relu.f16", [-1.0, 2.0, NAN], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0], name="f16")
    assert relu.view(np.float16)[:2].tolist() == [0.0, 3.0] and relu[2] == 0x7FFF


def test_signs() -> None:
    assert special("neg.f32", [NAN, 0.0, 1.5])[1:].tolist() == [0x80000000, 0xBFC00000]
    assert special("abs.f32", [-0.0, -INF]).view(np.float32).tolist() == [0.0, INF]
    assert special("neg.f16x2", [1.0], name="f32").tolist() == [0x3F800000 ^ 0x80008000]
    assert special("copysign.f32", [-1.0, 1.0], [3.0, -4.0]).view(np.float32).tolist() == [-3.0, 4.0]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("finite", [1, 0, 0, 1, 1]),
        ("infinite", [0, 1, 0, 0, 0]),
        ("number", [1, 1, 0, 1, 1]),
        ("notanumber", [0, 0, 1, 0, 0]),
        ("normal", [1, 0, 0, 0, 0]),
        ("subnormal", [0, 0, 0, 1, 0]),
    ],
)
def test_testp(test: str, expected: list[int]) -> None:
    values = np.array([1.0, INF, NAN, 2.0**-140, 0.0] + [1.0] * 27, np.float32)
    assert apply(f"testp.{test}.f32", "pred", [("f32", values)])[:5].tolist() == expected


@pytest.mark.parametrize("compare", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_setp(compare: str) -> None:
    a = np.array([1.0, 1.0, 2.0, NAN, NAN, -0.0] + [0.0] * 26, np.float32)
    b = np.array([1.0, 2.0, 1.0, 1.0, NAN, 0.0] + [0.0] * 26, np.float32)
    plain = {
        "eq": [1, 0, 0, 0, 0, 1],
        "ne": [0, 1, 1, 0, 0, 0],
        "lt": [0, 1, 0, 0, 0, 0],
        "le": [1, 1, 0, 0, 0, 1],
        "gt": [0, 0, 1, 0, 0, 0],
        "ge": [1, 0, 1, 0, 0, 1],
    }[compare]
    sources = [("f32", a), ("f32", b)]
    assert apply(f"setp.{compare}.f32", "pred", sources)[:6].tolist() == plain
    unordered = [one or int(at in (3, 4)) for at, one in enumerate(plain)]
    assert apply(f"setp.{compare}u.f32", "pred", sources)[:6].tolist() == unordered
    halves = [("f16", values.astype(np.float16)) for values in (a, b)]
    assert apply(f"setp.{compare}.f16", "pred", halves)[:6].tolist() == plain
    assert apply("setp.nan.f32", "pred", sources)[:6].tolist() == [0, 0, 0, 1, 1, 0]
    assert apply("setp.num.f32", "pred", sources)[:6].tolist() == [1, 1, 1, 0, 0, 1]
