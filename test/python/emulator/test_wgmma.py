"""wgmma: each type, shape, swizzle and major dimension, with the layouts that the ISA's text gives them."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import each_schedule, kernel, run
from mlopt.test.python.emulator.wgmma import RNG, SPAN, Operand, check, f32_of

FLOATS = [(d, a, a) for a in ("f16", "bf16", "tf32") for d in ("f32", "f16") if d == "f32" or a == "f16"]
FLOATS += [(d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INTEGERS = [("s32", a, b) for a in ("u8", "s8") for b in ("u8", "s8")]


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n(n: int) -> None:
    check(n, ("f32", "f16", "f16"), Operand())


@pytest.mark.parametrize("types", FLOATS + INTEGERS, ids="-".join)
@pytest.mark.parametrize("in_registers", [False, True])
def test_every_type(types: tuple[str, str, str], in_registers: bool) -> None:
    for n in (8, 32):
        check(n, types, None if in_registers else Operand(), adds=int(n == 32))


@pytest.mark.parametrize("in_registers", [False, True])
def test_single_bits(in_registers: bool) -> None:
    check(24, ("s32", "b1", "b1"), None if in_registers else Operand("64B"), mods=".and.popc")


@pytest.mark.parametrize("swizzle", SPAN)
@pytest.mark.parametrize("a_by_columns", [False, True])
@pytest.mark.parametrize("b_by_columns", [False, True])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_swizzle(name: str, b_by_columns: bool, a_by_columns: bool, swizzle: str) -> None:
    a, b = Operand(swizzle, a_by_columns), Operand(swizzle, b_by_columns)
    check(8 if b_by_columns and swizzle == "none" else 128, ("f32", name, name), a, b)


@pytest.mark.parametrize("swizzle", SPAN)
@pytest.mark.parametrize("name", ["tf32", "e4m3", "s8"])
def test_every_swizzle_of_other_widths(name: str, swizzle: str) -> None:
    check(48, ("s32" if name == "s8" else "f32", name, name), Operand(swizzle), Operand(swizzle))


@pytest.mark.parametrize(("swizzle", "gap"), [("none", 16), ("none", 144), ("64B", 512), ("128B", 2048)])
@pytest.mark.parametrize("by_columns", [False, True])
def test_strides_beyond_the_least(swizzle: str, gap: int, by_columns: bool) -> None:
    a, b = Operand(swizzle, by_columns, gap), Operand(swizzle, by_columns, gap)
    check(64, ("f32", "f16", "f16"), a, b)


@pytest.mark.parametrize("start", [0, 32, 64, 96])
def test_steps_along_k_within_a_row_of_the_swizzle(start: int) -> None:
    check(64, ("f32", "f16", "f16"), Operand(start=start), Operand(start=start))


@pytest.mark.parametrize(("swizzle", "base"), [("128B", 1), ("128B", 5), ("64B", 3), ("32B", 1)])
def test_a_pattern_that_begins_elsewhere(swizzle: str, base: int) -> None:
    operand = Operand(swizzle, start=128 * base, base=base)
    check(32, ("f32", "f16", "f16"), operand, Operand(swizzle, start=128 * base, base=base))


@pytest.mark.parametrize("scales", [(1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("adds", [0, 1])
def test_scales(scales: tuple[int, int], adds: int) -> None:
    check(16, ("f32", "f16", "f16"), Operand(), scales=scales, adds=adds)
    check(16, ("f16", "e5m2", "e4m3"), None, scales=scales, adds=adds)


@each_schedule
def test_every_schedule(schedule: str) -> None:
    check(40, ("f32", "bf16", "bf16"), Operand(), schedule=schedule)
    check(16, ("f16", "f16", "f16"), None, Operand("32B", True), schedule=schedule)


def test_sums_are_rounded_once() -> None:
    a, b = (RNG.standard_normal((lines, 16)).astype(np.float16) for lines in (64, 32))
    d = RNG.standard_normal((64, 32)).astype(np.float32)
    exact = d.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64).T
    terms = np.abs(d) + np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T
    assert (np.abs(f32_of(d, a, b) - exact) <= 2.0**-24 * np.abs(exact) + 2.0**-48 * terms).all()


def test_special_values() -> None:
    a, b, d = np.zeros((64, 16), np.float16), np.ones((8, 16), np.float16), np.ones((64, 8), np.float32)
    a[0, 3], a[1, 5], a[2, 7] = np.inf, np.nan, -np.inf
    a[3, 2], a[3, 9] = np.inf, -np.inf
    a[4, 0], b[3, 0], d[4] = 2.0**-24, 2.0**-24, 0  # subnormal in f16
    d[5, 6] = np.nan
    found = f32_of(d, a, b)
    assert (found[0, 0], found[2, 0]) == (np.inf, -np.inf)
    assert np.isnan(found[1]).all() and np.isnan(found[3]).all() and np.isnan(found[5, 6])
    assert found[4, 0] == 2.0**-24 and found[4, 3] == 2.0**-48 and (found[6:] == 1).all()
    assert (found[1].view(np.uint32) == 0x7FFFFFFF).all()
    assert f32_of(d, a, b, adds=0)[5, 6] == 0  # nothing of the accumulators is read


BEGIN = "wgmma.mma_async.sync.aligned."
FOUR, DESCRIPTORS = "{%f0, %f1, %f2, %f3}", "%rd0, %rd0, %p0"
REFUSED = [
    ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0}, %rd0, %rd1, %r1, 0, 1", "sparse"),
    (f"{BEGIN}m64n8k8.f32.f16.f16 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "m64n8k8 of f16"),
    (f"{BEGIN}m64n12k16.f32.f16.f16 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "m64n12k16"),
    (f"{BEGIN}m64n264k16.f32.f16.f16 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "m64n264k16"),
    (f"{BEGIN}m64n40k32.s32.s8.s8 {FOUR}, {DESCRIPTORS}", "m64n40k32"),
    (f"{BEGIN}m64n8k16.f32.f16.bf16 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "f16 and bf16"),
    (f"{BEGIN}m64n8k16.f16.bf16.bf16 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "result of f16"),
    (f"{BEGIN}m64n8k16.f32.f16.f16 {FOUR}, {DESCRIPTORS}, 1, 1", "2 immediate operands of 4"),
    (f"{BEGIN}m64n8k8.f32.tf32.tf32 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "4 immediate operands of 2"),
    (f"{BEGIN}m64n8k32.s32.s8.s8 {FOUR}, {DESCRIPTORS}, 1, 1", "2 immediate operands of 0"),
    (f"{BEGIN}m64n8k16.f32.f16.f16 {FOUR}, {DESCRIPTORS}, 2, 1, 0, 0", "scales"),
    (f"{BEGIN}m64n16k16.f32.f16.f16 {FOUR}, {DESCRIPTORS}, 1, 1, 0, 0", "4 accumulators of 8"),
    (f"{BEGIN}m64n8k256.s32.b1.b1 {FOUR}, {DESCRIPTORS}", ".and.popc"),
    (f"{BEGIN}m64n8k256.s32.b1.b1.xor.popc {FOUR}, {DESCRIPTORS}", ".and.popc"),
    ("wgmma.wait_group.sync.aligned %r1", "constant"),
]


@pytest.mark.parametrize(("line", "named"), REFUSED, ids=[named for _, named in REFUSED])
def test_what_the_isa_does_not_have_is_refused(line: str, named: str) -> None:
    with pytest.raises(emulator.UnsupportedInstructionError) as caught:
        run(kernel(f"  {line};\n", 1, 64, "sm_90a"), [np.zeros(64, np.uint32)], 128)
    assert named in str(caught.value) and "9.7.15" in str(caught.value)
