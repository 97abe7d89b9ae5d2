"""mma.sync: each shape, with the layouts that the ISA's text gives it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator import reference
from mlopt.test.python.emulator.snippets import kernel

RNG = np.random.default_rng(914)
Place = Callable[[int, int], tuple[int, int]]  # lane, element: row, column


def g(lane: int) -> int:
    return lane >> 2


def t(lane: int) -> int:
    return lane % 4


# From the ISA, "Matrix Fragments for mma.m…": for each shape and width, where A's and B's elements are.
A: dict[tuple[str, int], Place] = {
    ("m16n8k8", 16): lambda lane, i: (g(lane) + 8 * (i >= 2), t(lane) * 2 + (i & 1)),
    ("m16n8k16", 16): lambda lane, i: (
        g(lane) + (0 if 0 <= i < 2 or 4 <= i < 6 else 8),
        t(lane) * 2 + (i & 1) + (8 if i >= 4 else 0),
    ),
    ("m16n8k4", 32): lambda lane, i: (g(lane) + 8 * (i == 1), t(lane)),
    ("m16n8k8", 32): lambda lane, i: (g(lane) + 8 * (i in (1, 3)), t(lane) + 4 * (i >= 2)),
    ("m8n8k4", 64): lambda lane, i: (lane >> 2, lane & 3),
    ("m16n8k4", 64): lambda lane, i: (g(lane) + 8 * i, t(lane)),
    ("m16n8k8", 64): lambda lane, i: (g(lane) + 8 * (i % 2), t(lane) + 4 * (i >= 2)),
    ("m16n8k16", 64): lambda lane, i: (g(lane) + 8 * (i % 2), (i // 2) * 4 + t(lane)),
    ("m8n8k16", 8): lambda lane, i: (g(lane), t(lane) * 4 + i),
    ("m16n8k16", 8): lambda lane, i: (g(lane) + 8 * (i >= 4), t(lane) * 4 + (i & 3)),
    ("m16n8k32", 8): lambda lane, i: (
        g(lane) + (0 if 0 <= i < 4 or 8 <= i < 12 else 8),
        t(lane) * 4 + (i & 3) + (16 if i >= 8 else 0),
    ),
    ("m8n8k32", 4): lambda lane, i: (g(lane), t(lane) * 8 + (i & 7)),
    ("m16n8k32", 4): lambda lane, i: (g(lane) + 8 * (i >= 8), t(lane) * 8 + (i & 7)),
    ("m16n8k64", 4): lambda lane, i: (
        g(lane) + (0 if 0 <= i < 8 or 16 <= i < 24 else 8),
        t(lane) * 8 + (i & 7) + (32 if i >= 16 else 0),
    ),
    ("m8n8k128", 1): lambda lane, i: (g(lane), t(lane) * 32 + i),
    ("m16n8k128", 1): lambda lane, i: (g(lane) + 8 * (i >= 32), t(lane) * 32 + (i & 31)),
    ("m16n8k256", 1): lambda lane, i: (
        g(lane) + (0 if 0 <= i < 32 or 64 <= i < 96 else 8),
        t(lane) * 32 + (i & 31) + (128 if i >= 64 else 0),
    ),
}
B: dict[tuple[str, int], Place] = {
    ("m16n8k8", 16): lambda lane, i: (t(lane) * 2 + i, g(lane)),
    ("m16n8k16", 16): lambda lane, i: (t(lane) * 2 + (i & 1) + (8 if i >= 2 else 0), g(lane)),
    ("m16n8k4", 32): lambda lane, i: (t(lane), g(lane)),
    ("m16n8k8", 32): lambda lane, i: (t(lane) + 4 * i, g(lane)),
    ("m8n8k4", 64): lambda lane, i: (lane & 3, lane >> 2),
    ("m16n8k4", 64): lambda lane, i: (t(lane), g(lane)),
    ("m16n8k8", 64): lambda lane, i: (t(lane) + 4 * i, g(lane)),
    ("m16n8k16", 64): lambda lane, i: (t(lane) + 4 * i, g(lane)),
    ("m8n8k16", 8): lambda lane, i: (t(lane) * 4 + i, g(lane)),
    ("m16n8k16", 8): lambda lane, i: (t(lane) * 4 + i, g(lane)),
    ("m16n8k32", 8): lambda lane, i: (t(lane) * 4 + (i & 3) + (16 if i >= 4 else 0), g(lane)),
    ("m8n8k32", 4): lambda lane, i: (t(lane) * 8 + (i & 7), g(lane)),
    ("m16n8k32", 4): lambda lane, i: (t(lane) * 8 + (i & 7), g(lane)),
    ("m16n8k64", 4): lambda lane, i: (t(lane) * 8 + (i & 7) + (32 if i >= 8 else 0), g(lane)),
    ("m8n8k128", 1): lambda lane, i: (t(lane) * 32 + i, g(lane)),
    ("m16n8k128", 1): lambda lane, i: (t(lane) * 32 + i, g(lane)),
    ("m16n8k256", 1): lambda lane, i: (t(lane) * 32 + (i & 31) + (128 if i >= 32 else 0), g(lane)),
}


def c_place(lane: int, i: int) -> tuple[int, int]:
    """C and D: c0 and c1 in row g, c2 and c3 (of m16) in row g + 8."""
    return g(lane) + 8 * (i >= 2), t(lane) * 2 + (i & 1)


def values(name: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of a type: its elements' bits, one in each uint64, and their values."""
    if name in ("u8", "s8", "u4", "s4", "b1"):
        bits = int(name[1:])
        raw = RNG.integers(0, 1 << bits, shape)
        value = raw - ((raw >> bits - 1) << bits) if name[0] == "s" else raw
        return raw.astype(np.uint64), value.astype(np.float64)
    if name in ("e4m3", "e5m2"):
        raw = RNG.choice(np.flatnonzero(np.abs(reference.eight(name)) < 9), shape)
        return raw.astype(np.uint64), reference.eight(name)[raw]
    value = RNG.integers(-64, 64, shape) / 8
    if name == "bf16":
        return (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64), value
    if name == "tf32":  # the lowest 13 bits are ignored
        return (value.astype(np.float32).view(np.uint32) | 0x1ABC).astype(np.uint64), value
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s32": np.int32}[name]
    value = np.rint(value) if name == "s32" else value
    raw = value.astype(dtype)
    return raw.view(f"u{raw.itemsize}").astype(np.uint64), value


def packed(matrix: np.ndarray, place: Place, width: int, register: int) -> np.ndarray:
    """The registers of each lane, from a matrix of elements' bits."""
    count = matrix.size // 32
    words = np.zeros((32, count * width // register), np.uint64)
    for lane in range(32):
        for i in range(count):
            words[lane, i * width // register] |= matrix[place(lane, i)] << np.uint64(i * width % register)
    return words.astype(f"u{register // 8}")


def run(instruction: str, widths: list[int], fragments: list[np.ndarray], out: tuple[int, int]) -> np.ndarray:
    """One instruction in one warp: ``fragments`` are the sources' registers, ``out`` the result's."""
    lines, vectors = [], []
    for number, (width, words) in enumerate(zip(widths, fragments, strict=True), start=1):
        names = []
        lines.append(f"  mul.wide.u32 %rd30, %r0, {words.shape[1] * width // 8};")
        lines.append(f"  add.s64 %rd30, %rd30, %rd{number};")
        for register in range(words.shape[1]):
            names.append(f"q{number}_{register}")
            lines.insert(0, f"  .reg .b{width} q{number}_{register};")
            lines.append(f"  ld.global.b{width} {names[-1]}, [%rd30+{register * width // 8}];")
        vectors.append("{" + ", ".join(names) + "}")
    count, width = out
    results = [f"d{register}" for register in range(count)]
    lines.insert(0, f"  .reg .b{width} {', '.join(results)};")
    lines.append(f"  {instruction} {{{', '.join(results)}}}, {', '.join(vectors)};")
    lines += [f"  mul.wide.u32 %rd30, %r0, {count * width // 8};", "  add.s64 %rd30, %rd30, %rd0;"]
    lines += [f"  st.global.b{width} [%rd30+{at * width // 8}], {name};" for at, name in enumerate(results)]
    found = np.zeros((32, count), f"u{width // 8}")
    text = kernel("\n".join(lines), 1 + len(fragments), target="sm_90")
    emulator.load(text).launch("k", 1, 32, [found, *fragments])
    return found


MULTIPLICATIONS = [
    *((shape, d, "f16", "f16", d) for shape in ("m16n8k8", "m16n8k16") for d in ("f16", "f32")),
    *((shape, "f32", "bf16", "bf16", "f32") for shape in ("m16n8k8", "m16n8k16")),
    *((shape, "f32", "tf32", "tf32", "f32") for shape in ("m16n8k4", "m16n8k8")),
    *((shape, "f64", "f64", "f64", "f64") for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")),
    *(
        (shape, "s32", a, b, "s32")
        for shape in ("m8n8k16", "m16n8k16", "m16n8k32")
        for a in ("u8", "s8")
        for b in ("u8", "s8")
    ),
    *(
        (shape, "s32", a, b, "s32")
        for shape in ("m8n8k32", "m16n8k32", "m16n8k64")
        for a in ("u4", "s4")
        for b in ("u4", "s4")
    ),
    *((shape, "s32", "b1", "b1", "s32") for shape in ("m8n8k128", "m16n8k128", "m16n8k256")),
    *(
        (shape, d, a, b, d)
        for shape in ("m16n8k16", "m16n8k32")
        for d in ("f16", "f32")
        for a in ("e4m3", "e5m2")
        for b in ("e4m3", "e5m2")
    ),
]
WIDTHS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "e4m3": 8,
    "e5m2": 8,
    "u8": 8,
    "s8": 8,
    "u4": 4,
    "s4": 4,
    "b1": 1,
    "s32": 32,
}


@pytest.mark.parametrize(("shape", "d", "a", "b", "c"), MULTIPLICATIONS)
def test_mma(shape: str, d: str, a: str, b: str, c: str) -> None:
    m, n, k = (int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split())
    width = WIDTHS[a]
    register = 64 if width == 64 else 32
    (raw_a, value_a), (raw_b, value_b) = values(a, (m, k)), values(b, (k, n))
    raw_c, value_c = values(c, (m, n))
    wide = max(32, WIDTHS[c])
    fragments = [
        packed(raw_a, A[shape, width], width, register),
        packed(raw_b, B[shape, width], width, register),
        packed(raw_c, c_place, WIDTHS[c], wide),
    ]
    products = {"xor": 1, "and": 1} if a == "b1" else {"": 1}
    for operation in products:
        middle = f".{operation}.popc" if operation else ""
        instruction = f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c}{middle}"
        count = m * n // 32 * WIDTHS[d] // wide
        found = run(instruction, [register, register, wide], fragments, (count, wide))
        expected = value_a @ value_b + value_c
        if operation == "xor":
            expected = (value_a[:, :, None] != value_b[None]).sum(1) + value_c
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s32": np.int32}[d]
        elements = found.view(dtype).reshape(32, -1)
        got = np.zeros((m, n))
        for lane in range(32):
            for i in range(elements.shape[1]):
                got[c_place(lane, i)] = elements[lane, i]
        np.testing.assert_array_equal(got, expected.astype(dtype))


@pytest.mark.parametrize("d", ["f16", "f32"])
@pytest.mark.parametrize("layout_b", ["row", "col"])
@pytest.mark.parametrize("layout_a", ["row", "col"])
def test_mma_of_quad_pairs(layout_a: str, layout_b: str, d: str) -> None:
    """m8n8k4 of f16 multiplies four pairs of matrices; lanes 0-3 and 16-19 have the first."""
    raw_a, value_a = values("f16", (4, 8, 4))  # type: ignore[arg-type]
    raw_b, value_b = values("f16", (4, 4, 8))  # type: ignore[arg-type]
    raw_c, value_c = values(d, (4, 8, 8))  # type: ignore[arg-type]

    def place_c(lane: int, i: int) -> tuple[int, int, int]:
        pair, upper = lane % 16 // 4, 4 * (lane >= 16)
        if d == "f16":
            return pair, lane % 4 + upper, i
        return pair, (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)

    def place_a(lane: int, i: int) -> tuple[int, int, int]:
        pair, upper = lane % 16 // 4, 4 * (lane >= 16)
        return (pair, lane % 4 + upper, i) if layout_a == "row" else (pair, i % 4 + upper, lane % 4)

    def place_b(lane: int, i: int) -> tuple[int, int, int]:
        pair, upper = lane % 16 // 4, 4 * (lane >= 16)
        return (pair, lane % 4, i + upper) if layout_b == "row" else (pair, i, lane % 4 + upper)

    fragments = [
        packed_four(raw_a, place_a, 4, 16),
        packed_four(raw_b, place_b, 4, 16),
        packed_four(raw_c, place_c, 8, WIDTHS[d]),
    ]
    instruction = f"mma.sync.aligned.m8n8k4.{layout_a}.{layout_b}.{d}.f16.f16.{d}"
    found = run(instruction, [32, 32, 32], fragments, (fragments[2].shape[1], 32))
    dtype = np.float16 if d == "f16" else np.float32
    elements = found.view(dtype).reshape(32, 8)
    got = np.zeros((4, 8, 8))
    for lane in range(32):
        for i in range(8):
            got[place_c(lane, i)] = elements[lane, i]
    np.testing.assert_array_equal(got, (value_a @ value_b + value_c).astype(dtype))


def packed_four(matrices: np.ndarray, place: Callable, count: int, width: int) -> np.ndarray:
    words = np.zeros((32, count * width // 32), np.uint64)
    for lane in range(32):
        for i in range(count):
            words[lane, i * width // 32] |= matrices[place(lane, i)] << np.uint64(i * width % 32)
    return words.astype(np.uint32)


def test_saturating_sums() -> None:
    ones = np.full((32, 4), 0x7F7F7F7F, np.uint32)
    sums = np.full((32, 4), 2**31 - 10, np.uint32)
    for suffix, expected in ((".satfinite", 2**31 - 1), ("", (2**31 - 10 + 32 * 127 * 127) % 2**32)):
        instruction = f"mma.sync.aligned.m16n8k32.row.col{suffix}.s32.s8.s8.s32"
        assert (run(instruction, [32] * 3, [ones, ones[:, :2].copy(), sums], (4, 32)) == expected).all()
