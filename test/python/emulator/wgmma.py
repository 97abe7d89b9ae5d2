"""Products by wgmma, of matrices in the layouts that the ISA's text gives them, held against numpy's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from mlopt.test.python.emulator import reference
from mlopt.test.python.emulator.snippets import kernel, run

RNG = np.random.default_rng(915)
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "u8": 8, "s8": 8, "b1": 1}
SPAN = {"none": 1, "32B": 2, "64B": 4, "128B": 8}  # units of 16 bytes in a row of the swizzle
MODE = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
THREAD = np.arange(128)
LANE, WARP = THREAD % 32, THREAD // 32


# -- values ----------------------------------------------------------------------------------------


def values(name: str, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of a type: its elements' bits, and their values."""
    if name in ("u8", "s8", "b1"):
        raw = RNG.integers(0, 1 << BITS[name], shape)
        return raw, np.where(raw > 127, raw - 256, raw).astype(float) if name == "s8" else raw.astype(float)
    if name in ("e4m3", "e5m2"):
        small = np.flatnonzero(np.abs(reference.eight(name)) < 9)
        raw = RNG.choice(small, shape)
        return raw, reference.eight(name)[raw]
    value = RNG.integers(-64, 64, shape) / 8
    if name == "bf16":
        return value.astype(np.float32).view(np.uint32) >> 16, value
    if name == "tf32":  # the lowest 13 bits are ignored
        return value.astype(np.float32).view(np.uint32) | 0x1ABC, value
    dtype = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[name]
    value = np.rint(value) if name == "s32" else value
    return value.astype(dtype).view(f"u{np.dtype(dtype).itemsize}"), value


# -- layouts ---------------------------------------------------------------------------------------


@dataclass
class Operand:
    """How a matrix lies in shared memory: bytes of the strides; whether its M or N is contiguous."""

    swizzle: str = "128B"
    by_columns: bool = False
    gap: int = 0  # more than the strides need
    start: int = 0
    base: int = 0
    strides: tuple[int, int] = field(default=(0, 0))  # leading, stride

    def lay_out(self, bits: np.ndarray, width: int) -> np.ndarray:
        """The bytes of shared memory from 0 on, of a matrix whose lines are M or N; sets the strides.

        The canonical layouts of the ISA, as shapes and strides (here in bits): M or N first, then K.
        """
        lines, k = bits.shape
        unit, span = 128 // width, SPAN[self.swizzle]
        pattern = 16 * span * 8 + self.gap
        if self.swizzle == "none":
            cores = k // unit if not self.by_columns else lines // unit
            near, far = 128 + self.gap, (128 + self.gap) * cores + self.gap
            leading, stride = (far, near) if self.by_columns else (near, far)
        else:
            leading, stride = 2 * pattern, pattern
        self.strides = leading, stride
        if not self.by_columns:
            m_shape = [(8, 128 * span), (lines, 8 * stride)]
            k_shape = [(unit, width), (k, 8 * leading if self.swizzle == "none" else 128)]
        elif self.swizzle == "none":
            m_shape, k_shape = [(unit, width), (lines, 8 * stride)], [(8, 128), (k, 8 * leading)]
        else:
            m_shape = [(unit, width), (span, 128), (lines, 8 * leading)]
            k_shape = [(8, 128 * span), (k, 8 * stride)]
        at = offsets(m_shape, lines)[:, None] + offsets(k_shape, k)[None, :]
        place, bit = at // 8 + self.start, at % 8
        place = place ^ ((((place >> 7) - self.base) & (span - 1)) << 4)
        image = np.zeros(-(-int(place.max() + 4) // 16) * 16, np.uint8)
        for byte in range(max(1, width // 8)):
            piece = (bits.astype(np.int64) >> 8 * byte << bit) & 255
            np.bitwise_or.at(image, place + byte, piece.astype(np.uint8))
        return image

    def descriptor(self, address: int) -> int:
        leading, stride = self.strides
        fields = (address + self.start) >> 4 | leading >> 4 << 16 | stride >> 4 << 32
        return fields | self.base << 49 | MODE[self.swizzle] << 62


def offsets(shape: Sequence[tuple[int, int]], count: int) -> np.ndarray:
    """For numbers below ``count``: the sum of strides, by parts of a number from the lowest on."""
    number, total = np.arange(count), np.zeros(count, np.int64)
    for size, stride in shape[:-1]:
        total += number % size * stride
        number = number // size
    return total + number * shape[-1][1]


def places_d(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each thread's accumulators (ISA, "D fragment layout")."""
    i = np.arange(n // 2)[None, :]
    row = 16 * WARP[:, None] + (LANE // 4)[:, None] + 8 * (i // 2 % 2)
    return row, 8 * (i // 4) + (LANE % 4)[:, None] * 2 + i % 2


def places_a(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each thread's elements of A: four registers (ISA, "A fragment layout")."""
    each = 32 // width
    i = np.arange(4 * each)[None, :]
    row = 16 * WARP[:, None] + (LANE // 4)[:, None] + 8 * (i // each % 2)
    return row, (LANE % 4)[:, None] * each + i % each + 4 * each * (i // (2 * each))


# -- kernels ---------------------------------------------------------------------------------------


def multiply(
    instruction: str,
    accumulators: np.ndarray,
    image: np.ndarray,
    descriptors: tuple[int | None, int],
    a: np.ndarray | None = None,
    more: str = "",
    adds: int = 1,
    schedule: str = "together",
) -> np.ndarray:
    """One wgmma of one warpgroup on an image of shared memory: the accumulators after it, by threads."""
    count = accumulators.shape[1]
    size = -(-len(image) // 2048) * 2048
    lines = [f"  .reg .b32 d<{count}>, a<4>;\n  .shared .align 1024 .b8 tile[{size}];"]
    lines += [f"  mul.wide.u32 %rd10, %r0, {4 * count};\n  add.s64 %rd10, %rd10, %rd0;"]
    lines += [f"  ld.global.b32 d{at}, [%rd10+{4 * at}];" for at in range(count)]
    lines += ["  mul.wide.u32 %rd11, %r0, 16;\n  add.s64 %rd12, %rd11, %rd1;\n  cvt.u32.u64 %r2, %rd11;"]
    lines += ["  mov.u32 %r3, tile;\n  add.u32 %r2, %r2, %r3;\n  mov.u32 %r4, %r2;"]
    lines += [
        "L:\n  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd12];",
        "  st.shared.v4.u32 [%r4], {%r5, %r6, %r7, %r8};",
        "  add.u32 %r4, %r4, 2048;\n  add.s64 %rd12, %rd12, 2048;",
        f"  setp.lt.u32 %p1, %r4, {size};\n  @%p1 bra L;\n  fence.proxy.async;\n  bar.sync 0;",
    ]
    first = f"{descriptors[0]}"
    if a is not None:
        lines += ["  mul.wide.u32 %rd13, %r0, 16;\n  add.s64 %rd13, %rd13, %rd2;"]
        lines += [f"  ld.global.b32 a{at}, [%rd13+{4 * at}];" for at in range(4)]
        first = "{a0, a1, a2, a3}"
    else:
        lines += [f"  mov.u64 %rd20, {first};"]
        first = "%rd20"
    listed = ", ".join(f"d{at}" for at in range(count))
    lines += [
        f"  mov.u64 %rd21, {descriptors[1]};\n  setp.ne.u32 %p2, {adds}, 0;\n  wgmma.fence.sync.aligned;"
    ]
    lines += [f"  {instruction} {{{listed}}}, {first}, %rd21, %p2{more};"]
    lines += ["  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;"]
    lines += [f"  st.global.b32 [%rd10+{4 * at}], d{at};" for at in range(count)]
    found = accumulators.copy()
    padded = np.zeros(size, np.uint8)
    padded[: len(image)] = image
    text = kernel("\n".join(lines), 3, 0, "sm_90a")
    report = run(text, [found, padded, np.zeros(512, np.uint32) if a is None else a], 128, 1, schedule)
    assert report.findings == [], [str(finding) for finding in report.findings]
    return found


def f32_of(d: np.ndarray, a: np.ndarray, b: np.ndarray, adds: int = 1) -> np.ndarray:
    """D of f32 of one wgmma of f16."""
    a_as, b_as = Operand(), Operand()
    image_b = b_as.lay_out(b.view(np.uint16), 16)
    image_a = a_as.lay_out(a.view(np.uint16), 16)
    start = -(-len(image_b) // 1024) * 1024
    image = np.concatenate([image_b, np.zeros(start - len(image_b), np.uint8), image_a])
    n = len(b)
    sums = np.ascontiguousarray(d[places_d(n)]).view(np.uint32)
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
    descriptors = a_as.descriptor(start), b_as.descriptor(0)
    found = multiply(name, sums, image, descriptors, None, ", 1, 1, 0, 0", adds)
    out = np.zeros((64, n), np.float32)
    out[places_d(n)] = found.view(np.float32)
    return out


def check(
    n: int,
    types: tuple[str, str, str],
    a_as: Operand | None = None,
    b_as: Operand | None = None,
    scales: tuple[int, int] = (1, 1),
    adds: int = 1,
    mods: str = "",
    schedule: str = "together",
) -> None:
    """A wgmma of random matrices against numpy; A is in registers without ``a_as``."""
    d, a, b = types
    k = 256 // BITS[a]
    (raw_a, value_a), (raw_b, value_b) = values(a, (64, k)), values(b, (n, k))
    raw_d, value_d = values(d, (64, n))
    b_as = b_as or Operand()
    image_b = b_as.lay_out(raw_b, BITS[b])
    start = -(-len(image_b) // 1024) * 1024
    image, registers = image_b, None
    if a_as is not None:
        image_a = a_as.lay_out(raw_a, BITS[a])
        image = np.concatenate([image_b, np.zeros(start - len(image_b), np.uint8), image_a])
    else:
        elements, width = raw_a.astype(np.uint64)[places_a(BITS[a])], BITS[a]
        shifts = np.arange(32 // width, dtype=np.uint64) * np.uint64(width)
        registers = (elements.reshape(128, 4, -1) << shifts).sum(2).astype(np.uint32)
    sums = np.ascontiguousarray(raw_d[places_d(n)]).view(np.uint32)
    more = ""
    if d != "s32":
        more += f", {scales[0]}, {scales[1]}"
    if a in ("f16", "bf16"):
        more += f", {int(a_as.by_columns)}" if a_as else ""
        more += f", {int(b_as.by_columns)}"
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{mods}"
    descriptors = (a_as.descriptor(start) if a_as else None, b_as.descriptor(0))
    found = multiply(name, sums, image, descriptors, registers, more, adds, schedule)
    expected = scales[0] * scales[1] * (value_a @ value_b.T) + (value_d if adds else 0)
    if "satfinite" in mods:
        expected = np.clip(expected, -(2**31), 2**31 - 1)
    dtype = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[d]
    rounded = expected.astype(np.int64).astype(np.int32) if d == "s32" else expected.astype(dtype)
    got = np.zeros((64, n), dtype)
    got[places_d(n)] = found.view(dtype)
    np.testing.assert_array_equal(got, rounded)
