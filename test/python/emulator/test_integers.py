"""Integer, logic and byte instructions against Python's integers, as the ISA's text defines them."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python.emulator.snippets import apply

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


@pytest.mark.parametrize("bits", [32, 64])
def test_counts_of_bits(bits: int) -> None:
    raw, values = numbers(f"u{bits}")
    source = [(f"b{bits}", raw)]
    check(apply(f"popc.b{bits}", "u32", source), [v.bit_count() for v in values])
    check(apply(f"clz.b{bits}", "u32", source), [bits - v.bit_length() for v in values])
    check(apply(f"brev.b{bits}", f"b{bits}", source), [int(f"{v:0{bits}b}"[::-1], 2) for v in values])
    check(apply(f"bfind.u{bits}", "u32", source), [v.bit_length() - 1 for v in values])
    shift = [bits - v.bit_length() if v else -1 for v in values]
    check(apply(f"bfind.shiftamt.u{bits}", "u32", source), shift)
    raw, values = numbers(f"s{bits}")
    check(
        apply(f"bfind.s{bits}", "u32", [(f"s{bits}", raw)]),
        [(v if v >= 0 else ~v).bit_length() - 1 for v in values],
    )


def _bfe(a: int, position: int, length: int, kind: str) -> int:
    """The ISA's pseudo-code."""
    width = int(kind[1:])
    most = width - 1
    position, length = position & 255, length & 255
    bits = a & ((1 << width) - 1)
    sign = 0 if kind[0] == "u" or length == 0 else bits >> min(position + length - 1, most) & 1
    out = 0
    for i in range(width):
        bit = bits >> position + i & 1 if i < length and position + i <= most else sign
        out |= bit << i
    return out


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bit_fields(kind: str) -> None:
    (raw, values), (raw_p, positions), (raw_l, lengths) = (
        numbers(kind),
        numbers("u32", 0, 80),
        numbers("u32", 0, 80),
    )
    fields = [("u32", raw_p), ("u32", raw_l)]
    expected = [_bfe(a, p, n, kind) for a, p, n in zip(values, positions, lengths, strict=True)]
    check(apply(f"bfe.{kind}", kind, [(kind, raw), *fields]), expected)
    bits = int(kind[1:])
    raw_b, base = numbers(f"u{bits}")
    inserted = []
    for a, b, p, n in zip(values, base, positions, lengths, strict=True):
        mask = sum(1 << i for i in range(p, min(p + n, bits)))
        inserted.append(b & ~mask | (a << p) & mask)
    sources = [(f"b{bits}", raw), (f"b{bits}", raw_b), *fields]
    check(apply(f"bfi.b{bits}", f"b{bits}", sources), inserted)


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "s32", "u64", "s64"])
def test_shifts(kind: str) -> None:
    typed = kind.replace("b", "u")
    (raw, values), (raw_n, amounts) = numbers(typed), numbers("u32", 0, 80)
    bits, pairs = int(kind[1:]), list(zip(values, amounts, strict=True))
    if kind[0] == "b":
        check(apply(f"shl.{kind}", kind, [(kind, raw), ("u32", raw_n)]), [v << n for v, n in pairs])
    expected = [v >> min(n, bits) for v, n in pairs]
    check(apply(f"shr.{kind}", kind, [(kind, raw), ("u32", raw_n)]), expected)


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shifts(mode: str) -> None:
    (raw_a, a), (raw_b, b), (raw_n, amounts) = numbers("u32"), numbers("u32"), numbers("u32", 0, 80)
    sources = [("b32", raw_a), ("b32", raw_b), ("u32", raw_n)]
    by = [n & 31 if mode == "wrap" else min(n, 32) for n in amounts]
    pairs = [high << 32 | low for low, high in zip(a, b, strict=True)]
    check(apply(f"shf.l.{mode}.b32", "b32", sources), [p << n >> 32 for p, n in zip(pairs, by, strict=True)])
    check(apply(f"shf.r.{mode}.b32", "b32", sources), [p >> n for p, n in zip(pairs, by, strict=True)])


@pytest.mark.parametrize("table", [0x80, 0xFE, 0x96, 0x1A, 0, 0xFF, 0xCA])
def test_lop3(table: int) -> None:
    sources = [("b32", numbers("u32")[0]) for _ in range(3)]
    expected = []
    for a, b, c in zip(*(values.tolist() for _, values in sources), strict=True):
        bits = [table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1 for i in range(32)]
        expected.append(sum(bit << i for i, bit in enumerate(bits)))
    check(apply("lop3.b32", "b32", sources, f", {table}"), expected)


def test_logic() -> None:
    (raw_a, a), (raw_b, b) = numbers("u64"), numbers("u64")
    pair = [("b64", raw_a), ("b64", raw_b)]
    check(apply("and.b64", "b64", pair), [x & y for x, y in zip(a, b, strict=True)])
    check(apply("or.b64", "b64", pair), [x | y for x, y in zip(a, b, strict=True)])
    check(apply("xor.b64", "b64", pair), [x ^ y for x, y in zip(a, b, strict=True)])
    check(apply("not.b64", "b64", pair[:1]), [~x for x in a])
    check(apply("cnot.b64", "b64", pair[:1]), [int(x == 0) for x in a])


_PRMT = {
    "f4e": lambda s: [s, s + 1, s + 2, s + 3],
    "b4e": lambda s: [s, (s + 7) % 8, (s + 6) % 8, (s + 5) % 8],
    "rc8": lambda s: [s] * 4,
    "ecl": lambda s: [max(s, i) for i in range(4)],
    "ecr": lambda s: [min(s, i) for i in range(4)],
    "rc16": lambda s: [2 * (s & 1), 2 * (s & 1) + 1] * 2,
}


def test_prmt() -> None:
    (raw_a, a), (raw_b, b), (raw_s, selectors) = numbers("u32"), numbers("u32"), numbers("u32")
    sources = [("b32", raw_a), ("b32", raw_b), ("b32", raw_s)]

    def pick(low: int, high: int, places: list[int]) -> int:
        data = (high << 32 | low).to_bytes(8, "little")
        out = [data[p & 7] if not p & 8 else 255 * (data[p & 7] >> 7) for p in places]
        return int.from_bytes(bytes(out), "little")

    triples = list(zip(a, b, selectors, strict=True))
    check(
        apply("prmt.b32", "b32", sources),
        [pick(x, y, [s >> 4 * i & 15 for i in range(4)]) for x, y, s in triples],
    )
    for mode, places in _PRMT.items():
        expected = [pick(x, y, places(s & 3)) for x, y, s in triples]
        check(apply(f"prmt.b32.{mode}", "b32", sources), expected)


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


def test_bmsk_and_szext() -> None:
    (raw_a, a), (raw_b, b) = numbers("u32", 0, 70), numbers("u32", 0, 70)
    pair = [("b32", raw_a), ("b32", raw_b)]
    clamped = [((1 << min(y, 32)) - 1) << min(x, 32) for x, y in zip(a, b, strict=True)]
    check(apply("bmsk.clamp.b32", "b32", pair), clamped)
    wrapped = [((1 << (y & 31)) - 1) << (x & 31) for x, y in zip(a, b, strict=True)]
    check(apply("bmsk.wrap.b32", "b32", pair), wrapped)
    raw, values = numbers("u32")
    source = [("u32", raw), ("u32", raw_b)]
    check(
        apply("szext.clamp.u32", "u32", source),
        [v & (1 << min(n, 32)) - 1 for v, n in zip(values, b, strict=True)],
    )
    signed = []
    for v, n in zip(values, (min(n, 32) for n in b), strict=True):
        low = v & (1 << n) - 1
        signed.append(low - (1 << n) if n and low >> (n - 1) else low)
    check(apply("szext.clamp.s32", "s32", source), signed)


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
