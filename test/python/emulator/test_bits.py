"""Instructions for bits: counts, fields, shifts, logic, bytes, against exact integers."""

from __future__ import annotations

import pytest
from mlopt.test.python.emulator.integers import check, numbers
from mlopt.test.python.emulator.snippets import apply


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
