"""Arithmetic of integers against Python's, as the ISA's text defines it."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python.emulator.integers import check, numbers, quotient
from mlopt.test.python.emulator.snippets import apply

KINDS = ["u16", "s16", "u32", "s32", "u64", "s64"]
BINARY = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul.lo": lambda a, b, bits: a * b,
    "mul.hi": lambda a, b, bits: a * b >> bits,
    "div": lambda a, b, bits: quotient(a, b),
    "rem": lambda a, b, bits: a - b * quotient(a, b),
    "min": lambda a, b, bits: min(a, b),
    "max": lambda a, b, bits: max(a, b),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("instruction", BINARY)
def test_binary(instruction: str, kind: str) -> None:
    (raw_a, a), (raw_b, b) = numbers(kind), numbers(kind)
    if instruction in ("div", "rem"):
        raw_b, b = np.where(raw_b == 0, raw_b.dtype.type(3), raw_b), [v or 3 for v in b]
    found = apply(f"{instruction}.{kind}", kind, [(kind, raw_a), (kind, raw_b)])
    check(found, [BINARY[instruction](x, y, int(kind[1:])) for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_mul_and_mad_wide(kind: str) -> None:
    (raw_a, a), (raw_b, b) = numbers(kind), numbers(kind)
    double = f"{kind[0]}{2 * int(kind[1:])}"
    raw_c, c = numbers(double)
    pair = [(kind, raw_a), (kind, raw_b)]
    check(apply(f"mul.wide.{kind}", double, pair), [x * y for x, y in zip(a, b, strict=True)])
    wide = [x * y + z for x, y, z in zip(a, b, c, strict=True)]
    check(apply(f"mad.wide.{kind}", double, [*pair, (double, raw_c)]), wide)


@pytest.mark.parametrize("kind", KINDS)
def test_mad_sad_abs_neg(kind: str) -> None:
    (raw_a, a), (raw_b, b), (raw_c, c) = numbers(kind), numbers(kind), numbers(kind)
    sources = [(kind, raw_a), (kind, raw_b), (kind, raw_c)]
    triples = list(zip(a, b, c, strict=True))
    check(apply(f"mad.lo.{kind}", kind, sources), [x * y + z for x, y, z in triples])
    check(apply(f"mad.hi.{kind}", kind, sources), [(x * y >> int(kind[1:])) + z for x, y, z in triples])
    check(apply(f"sad.{kind}", kind, sources), [z + abs(x - y) for x, y, z in triples])
    if kind[0] == "s":
        check(apply(f"abs.{kind}", kind, sources[:1]), [abs(x) for x in a])
        check(apply(f"neg.{kind}", kind, sources[:1]), [-x for x in a])


def test_saturating() -> None:
    (raw_a, a), (raw_b, b) = numbers("s32"), numbers("s32")
    clamp = lambda v: max(-(2**31), min(v, 2**31 - 1))  # noqa: E731
    pair = [("s32", raw_a), ("s32", raw_b)]
    check(apply("add.sat.s32", "s32", pair), [clamp(x + y) for x, y in zip(a, b, strict=True)])
    check(apply("sub.sat.s32", "s32", pair), [clamp(x - y) for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_24_bits(kind: str) -> None:
    (raw_a, a), (raw_b, b) = numbers(kind), numbers(kind)

    def low(value: int) -> int:
        value &= (1 << 24) - 1
        return value - (1 << 24) if kind == "s32" and value >> 23 else value

    pair = [(kind, raw_a), (kind, raw_b)]
    products = [low(x) * low(y) for x, y in zip(a, b, strict=True)]
    check(apply(f"mul24.lo.{kind}", kind, pair), products)
    check(apply(f"mul24.hi.{kind}", kind, pair), [p >> 16 for p in products])
    check(
        apply(f"mad24.lo.{kind}", kind, [*pair, (kind, raw_a)]),
        [p + x for p, x in zip(products, a, strict=True)],
    )


@pytest.mark.parametrize("left", ["u32", "s32"])
@pytest.mark.parametrize("right", ["u32", "s32"])
def test_dot_products(left: str, right: str) -> None:
    raw_a, raw_b, raw_c = (numbers("u32")[0] for _ in range(3))

    def parts(word: int, size: int, kind: str) -> list[int]:
        data = word.to_bytes(4, "little")
        return [
            int.from_bytes(data[i : i + size], "little", signed=kind[0] == "s") for i in range(0, 4, size)
        ]

    result = "s32" if "s" in left + right else "u32"
    sources = [("b32", raw_a), ("b32", raw_b), (result, raw_c)]
    four, low, high = [], [], []
    for a, b, c in zip(raw_a.tolist(), raw_b.tolist(), raw_c.tolist(), strict=True):
        bytes_b = parts(b, 1, right)
        four.append(c + sum(x * y for x, y in zip(parts(a, 1, left), bytes_b, strict=True)))
        halves = parts(a, 2, left)
        low.append(c + sum(x * y for x, y in zip(halves, bytes_b[:2], strict=True)))
        high.append(c + sum(x * y for x, y in zip(halves, bytes_b[2:], strict=True)))
    check(apply(f"dp4a.{left}.{right}", result, sources), four)
    check(apply(f"dp2a.lo.{left}.{right}", result, sources), low)
    check(apply(f"dp2a.hi.{left}.{right}", result, sources), high)


def test_packed_halves() -> None:
    raw_a, raw_b = numbers("u32")[0], numbers("u32")[0]
    for kind, dtype in (("u16x2", np.uint16), ("s16x2", np.int16)):
        pair = [(kind, raw_a), (kind, raw_b)]
        left, right = raw_a.view(dtype), raw_b.view(dtype)
        for name, function in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
            np.testing.assert_array_equal(
                apply(f"{name}.{kind}", kind, pair).view(dtype), function(left, right)
            )


def test_selection() -> None:
    (raw_a, a), (raw_b, b), (raw_c, c) = numbers("s32"), numbers("s32"), numbers("s32")
    chosen = [x if z >= 0 else y for x, y, z in zip(a, b, c, strict=True)]
    check(apply("slct.s32.s32", "s32", [("s32", raw_a), ("s32", raw_b), ("s32", raw_c)]), chosen)
    flags = (raw_c & 1).astype(np.uint32)
    chosen = [x if f else y for x, y, f in zip(a, b, flags, strict=True)]
    check(apply("selp.b32", "b32", [("b32", raw_a), ("b32", raw_b), ("pred", flags)]), chosen)
    for name, compare in (
        ("lo", np.less),
        ("ls", np.less_equal),
        ("hi", np.greater),
        ("hs", np.greater_equal),
    ):
        found = apply(f"setp.{name}.u32", "pred", [("u32", raw_a), ("u32", raw_b)])
        np.testing.assert_array_equal(found, compare(raw_a, raw_b))
    check(
        apply("set.lt.u32.s32", "u32", [("s32", raw_a), ("s32", raw_b)]),
        [-(x < y) for x, y in zip(a, b, strict=True)],
    )
