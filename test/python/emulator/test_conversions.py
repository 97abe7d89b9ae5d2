"""cvt against rational arithmetic: each pair of types, each rounding, saturation, special values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mlopt.test.python.emulator import reference
from mlopt.test.python.emulator.snippets import apply

RNG = np.random.default_rng(9721)
COUNT = 256
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]


def limits(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def holder(kind: str) -> str:
    """8-bit numbers are in 16-bit registers."""
    return f"{kind[0]}{max(16, int(kind[1:]))}"


def integers(kind: str) -> tuple[np.ndarray, list[int]]:
    low, high = limits(kind)
    values = [int(v) for v in RNG.integers(low, high, COUNT, dtype=np.uint64 if kind[0] == "u" else np.int64)]
    values[:6] = [low, high, 0, 1, high - 1, low + 1]
    bits = int(holder(kind)[1:])
    return np.array([v & (1 << bits) - 1 for v in values], np.uint64).astype(f"u{bits // 8}"), values


def expect(found: np.ndarray, values: list[int], kind: str) -> None:
    bits = 8 * found.itemsize
    for at, (value, wanted) in enumerate(zip(found.tolist(), values, strict=True)):
        assert value == wanted & (1 << bits) - 1, (at, value, wanted, kind)


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer(to: str, source: str) -> None:
    raw, values = integers(source)
    low, high = limits(to)
    bits = int(to[1:])

    def wrapped(value: int) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits) if to[0] == "s" and value >> bits - 1 else value

    expect(apply(f"cvt.{to}.{source}", holder(to), [(holder(source), raw)]), [wrapped(v) for v in values], to)
    clamped = [min(max(v, low), high) for v in values]
    expect(apply(f"cvt.sat.{to}.{source}", holder(to), [(holder(source), raw)]), clamped, to)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("to", ["f16", "f32", "f64"])
def test_integer_to_float(to: str, source: str, mode: str) -> None:
    raw, values = integers(source)
    found = reference.from_bits(apply(f"cvt.{mode}.{to}.{source}", to, [(holder(source), raw)]), to)
    assert found == [reference.rounded(Fraction(v), to, mode) for v in values]


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("to", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_float_to_integer(to: str, source: str, mode: str) -> None:
    values = reference.samples(source, COUNT, RNG)
    for at in range(20, 120):
        values[at] = reference.rounded(Fraction(int(RNG.integers(-300, 300)), 4), source)
    values[-2:] = [math.inf, -math.inf]
    low, high = limits(to)
    round_to = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    expected = [
        (high if v > 0 else low) if math.isinf(v) else min(max(round_to(Fraction(v)), low), high)
        for v in values
    ]
    found = apply(f"cvt.{mode}.{to}.{source}", to, [(source, reference.to_bits(values, source))])
    expect(found, expected, to)


@pytest.mark.parametrize(
    ("to", "source", "modes"),
    [
        ("f16", "f32", ("rn", "rz", "rm", "rp")),
        ("f16", "f64", ("rn", "rz", "rm", "rp")),
        ("f32", "f64", ("rn", "rz", "rm", "rp")),
        ("bf16", "f32", ("rn", "rz")),
        ("tf32", "f32", ("rna", "rn", "rz")),
    ],
)
def test_float_to_narrower_float(to: str, source: str, modes: tuple[str, ...]) -> None:
    values = reference.samples(source, COUNT, RNG)
    precision = reference.FORMATS[to][0]
    for at in range(20, 120):  # ties, and what is just beside them
        base = Fraction(int(RNG.integers(1 << precision - 1, 1 << precision)) * 2 + 1, 1 << precision)
        values[at] = float(base + Fraction(int(RNG.integers(-1, 2)), 1 << 22))
    for mode in modes:
        found = reference.from_bits(
            apply(f"cvt.{mode}.{to}.{source}", to, [(source, reference.to_bits(values, source))]), to
        )
        assert found == [reference.rounded(Fraction(v), to, mode) for v in values], mode


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("to", ["f16", "bf16", "tf32"])
def test_nothing_is_beyond_the_range_with_satfinite(to: str, relu: str) -> None:
    precision, _, greatest = reference.FORMATS[to]
    top = (2 - 2.0 ** (1 - precision)) * 2.0**greatest
    values = [1e5, -1e5, 3.4e38, -3.4e38, math.inf, -math.inf, 1.5, -1.5, 0.0, math.nan, *[7.0] * 22]
    found = reference.from_bits(
        apply(f"cvt.rn.satfinite{relu}.{to}.f32", to, [("f32", np.array(values, np.float32))]), to
    )
    for value, got in zip(values, found, strict=True):
        if math.isnan(value):
            assert math.isnan(got)
        else:
            limited = min(max(value, 0.0 if relu else -top), top)
            assert got == reference.rounded(Fraction(limited), to)


@pytest.mark.parametrize(("to", "source"), [("f32", "f16"), ("f64", "f16"), ("f64", "f32"), ("f32", "bf16")])
def test_float_to_wider_float(to: str, source: str) -> None:
    values = reference.samples(source, COUNT, RNG)
    found = reference.from_bits(
        apply(f"cvt.{to}.{source}", to, [(source, reference.to_bits(values, source))]), to
    )
    assert found == values


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_float_to_whole_float(mode: str) -> None:
    values = [0.5, 1.5, 2.5, -0.5, -1.5, -0.25, 3.0, 1e30, -0.0, *[0.0] * 23]
    function = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]
    source = np.array(values, np.float32)
    found = apply(f"cvt.{mode}.f32.f32", "f32", [("f32", source)])
    np.testing.assert_array_equal(found, function(source).view(np.uint32))


@pytest.mark.parametrize("name", ["f16x2", "bf16x2"])
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_two_at_once(name: str, mode: str) -> None:
    single = name.removesuffix("x2")
    high, low = reference.samples("f32", COUNT, RNG), reference.samples("f32", COUNT, RNG)[::-1]
    sources = [("f32", np.array(values, np.float32)) for values in (high, low)]
    found = apply(f"cvt.{mode}.{name}.f32", name, sources).view(np.uint16).reshape(-1, 2)
    for column, values in enumerate((low, high)):
        got = reference.from_bits(np.ascontiguousarray(found[:, column]), single)
        assert got == [reference.rounded(Fraction(v), single, mode) for v in values]
    relu = apply(f"cvt.{mode}.relu.{name}.f32", name, sources).view(np.uint16)
    assert not (relu & 0x8000).any()


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_eight_bits_to_f16(name: str, relu: str) -> None:
    low, high = np.arange(256), RNG.permutation(256)
    found = apply(f"cvt.rn{relu}.f16x2.{name}x2", "f16x2", [("b16", (low | high << 8).astype(np.uint16))])
    for patterns, got in zip((low, high), found.view(np.float16).reshape(-1, 2).T, strict=True):
        exact = reference.eight(name)[patterns]
        if relu:
            exact = np.where(exact < 0, 0.0, exact)
        np.testing.assert_array_equal(got, exact.astype(np.float16))
    assert (found.view(np.uint16)[np.isnan(found.view(np.float16))] == 0x7FFF).all()


def nearest_of_eight_bits(values: np.ndarray, name: str, *, relu: bool) -> np.ndarray:
    """The patterns that are nearest, ties to the even one, no further than the greatest; NaN for NaN."""
    table = reference.eight(name)[:128]
    finite = table[np.isfinite(table)]
    out = []
    for value in values.astype(np.float64).tolist():
        if math.isnan(value):
            out.append(0x7F)
            continue
        distance = np.abs(finite - min(abs(value), finite[-1]))
        near = np.flatnonzero(distance == distance.min())
        pattern = int(next((each for each in near if each % 2 == 0), near[0]))
        negative = math.copysign(1, value) < 0
        out.append(0 if relu and negative else pattern | negative << 7)
    return np.array(out)


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
@pytest.mark.parametrize("source", ["f32", "f16x2"])
def test_to_eight_bits(source: str, name: str, relu: str) -> None:
    table = reference.eight(name)
    table = np.sort(table[np.isfinite(table)])
    ties = (table[1:] + table[:-1]) / 2
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 448.0, 464.0, 465.0, 6e4, -6e4, 2.0**-10, 2.0**-17]
    values = np.concatenate([ties, ties * (1 + 2.0**-10), ties * (1 - 2.0**-10), special])
    values = np.concatenate([values, np.zeros(-len(values) % 128)])
    if source == "f16x2":
        values = values.astype(np.float16)
        sources = [("f16x2", np.stack([values, values[::-1]], axis=1).view(np.uint32).reshape(-1))]
    else:
        values = values.astype(np.float32)
        sources = [("f32", values[::-1]), ("f32", values)]
    found = apply(f"cvt.rn.satfinite{relu}.{name}x2.{source}", f"{name}x2", sources)
    expected = nearest_of_eight_bits(values, name, relu=bool(relu))
    np.testing.assert_array_equal(found & 255, expected)
    np.testing.assert_array_equal(found >> 8, expected[::-1])


def test_special_values() -> None:
    source = np.array([math.nan, math.inf, -math.inf, 2.0**-140, *[0.0] * 28], np.float32)
    assert apply("cvt.rzi.s32.f32", "s32", [("f32", source)])[0] == 0
    assert apply("cvt.rzi.s64.f32", "s64", [("f32", source)])[0] == 1 << 63
    assert apply("cvt.rzi.u32.f64", "u32", [("f64", source.astype(np.float64))])[0] == 1 << 31
    assert apply("cvt.rn.f16.f32", "f16", [("f32", source)])[:3].tolist() == [0x7FFF, 0x7C00, 0xFC00]
    assert apply("cvt.rn.bf16.f32", "bf16", [("f32", source)])[:3].tolist() == [0x7FFF, 0x7F80, 0xFF80]
    assert apply("cvt.sat.f32.f32", "f32", [("f32", source)]).view(np.float32)[:3].tolist() == [0.0, 1.0, 0.0]
    assert apply("cvt.ftz.f64.f32", "f64", [("f32", source)])[3] == 0


def test_pack() -> None:
    a, b = (RNG.integers(-300, 300, 64).astype(np.int32) for _ in range(2))
    a[:4], b[:4] = [40000, -40000, 127, -128], [-40000, 40000, 255, 256]
    c = RNG.integers(0, 2**32, 64, dtype=np.uint32)
    pair = [("s32", a.view(np.uint32)), ("s32", b.view(np.uint32))]
    for kind, low, high in (("u16", 0, 65535), ("s16", -32768, 32767)):
        expected = (np.clip(a.astype(int), low, high) & 65535) << 16 | np.clip(
            b.astype(int), low, high
        ) & 65535
        np.testing.assert_array_equal(apply(f"cvt.pack.sat.{kind}.s32", "b32", pair), expected)
    for kind, low, high in (("u8", 0, 255), ("s8", -128, 127)):
        two = (np.clip(a, low, high) & 255) << 8 | np.clip(b, low, high) & 255
        expected = (c.astype(np.uint64) << 16 | two.astype(np.uint64)) & 0xFFFFFFFF
        np.testing.assert_array_equal(
            apply(f"cvt.pack.sat.{kind}.s32.b32", "b32", [*pair, ("b32", c)]), expected
        )
