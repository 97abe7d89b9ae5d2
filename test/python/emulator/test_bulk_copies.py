"""Reductions in bulk in global memory, in every type; prefetches."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import formats, tensor_maps
from mlopt.test.python.emulator.snippets import kernel, kinds, run

RNG = np.random.default_rng(925)
# The operations and types of cp.reduce.async.bulk in global memory (ptxas takes these and no others).
FORMS = {
    "add": "noftz.f16 noftz.bf16 u32 s32 u64 f32 f64",
    "min": "f16 bf16 u32 s32 u64 s64",
    "max": "f16 bf16 u32 s32 u64 s64",
    "inc": "u32",
    "dec": "u32",
    "and": "b32 b64",
    "or": "b32 b64",
    "xor": "b32 b64",
}
NUMPY = {"add": np.add, "min": np.fmin, "max": np.fmax}
NUMPY |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
BODY = """
  mul.wide.u32 %rd5, %r0, 8;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.b64 %rd7, [%rd6];
  mov.u32 %r1, buffer;
  mad.lo.u32 %r1, %r0, 8, %r1;
  st.shared.b64 [%r1], %rd7;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.OPERATION [%rd0], [buffer], 256;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;
"""


def drawn(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """256 bytes of a type, as memory has them and as numpy computes with them."""
    if kind in ("f16", "bf16", "f32", "f64"):
        values = RNG.standard_normal(256 // formats_size(kind)) * 50
        values[:4] = [0.0, np.inf, np.nan, -np.inf]
        RNG.shuffle(values[:8])
        bits = values if kind == "f64" else formats.narrow(values, kind)
        return bits, formats.widen(bits, kind)
    size = int(kind[1:]) // 8
    array = RNG.integers(0, 1 << 63, 32, np.uint64).view(("i" if kind[0] == "s" else "u") + str(size))
    return array, array


def formats_size(kind: str) -> int:
    return {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}[kind]


@pytest.mark.parametrize(
    ("operation", "kind"), [(name, kind) for name, listed in FORMS.items() for kind in listed.split()]
)
def test_reductions(operation: str, kind: str) -> None:
    plain = kind.removeprefix("noftz.")
    (old, left), (new, right) = drawn(plain), drawn(plain)
    if operation == "inc":
        new[:8] = old[:8]
        expected = np.where(left >= right, 0, left + 1)
    elif operation == "dec":
        new[:8], old[8:12] = old[:8] - 1, 0
        expected = np.where((left == 0) | (left > right), right, left - 1)
    else:
        with np.errstate(invalid="ignore"):
            expected = NUMPY[operation](left, right)
    if plain in ("f16", "bf16", "f32"):
        expected = formats.narrow(expected, plain)
    found = old.copy()
    body = BODY.replace("OPERATION", f"{operation}.{kind}")
    assert run(kernel(body, 2, 256, "sm_90"), [found, new], 32).findings == []
    if plain == "bf16":
        np.testing.assert_array_equal(formats.widen(found, plain), formats.widen(expected, plain))
    else:
        np.testing.assert_array_equal(found, expected.astype(found.dtype))


def test_subnormal_sums_are_zeros() -> None:
    old, new = np.zeros((2, 64), np.float32)
    old[:4], new[:4] = 2.0**-126 * np.array([1.5, -1.5, 0.5, 1]), 2.0**-126 * np.array([-1, 1, 1, 0.5])
    body = BODY.replace("OPERATION", "add.f32")
    assert run(kernel(body, 2, 256), [old, new], 32).findings == []
    expected = np.array([0.0, -0.0, 2.0**-126, 2.0**-126], np.float32)
    np.testing.assert_array_equal(old[:4].view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cp.async.bulk.prefetch.L2.global [%rd0], 128", []),
        ("cp.async.bulk.prefetch.L2.global [%rd0+8], 128", ["misaligned"]),
        ("cp.async.bulk.prefetch.L2.global [%rd0], 120", ["misaligned"]),
        ("cp.async.bulk.prefetch.L2.global [%rd0], 0xFFFFFFF0", ["out-of-bounds"]),
        ("cp.async.bulk.prefetch.L2.global [0xFFFFFFFFFFFFFFF0], 64", ["out-of-bounds"]),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd9, {%r0, 5}]", []),
        ("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd9, {%r0}]", ["tensor-map"]),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd0, {%r0, 5}]", ["tensor-map"]),
    ],
)
def test_prefetches(line: str, found: list[str]) -> None:
    text = kernel(f"  cvta.param.u64 %rd9, map;\n  {line};\n", 1, 0, "sm_90")
    text = text.replace("k_param_0)", "k_param_0, .param .align 64 .b8 map[128])", 1)
    encoded = tensor_maps.tiled("f32", 1 << 20, (16, 8), (64,), (16, 8))
    report = emulator.load(text).launch("k", 1, 1, [np.zeros(64, np.uint32), encoded], check=False)
    assert kinds(report) == found


def test_a_copy_over_the_end_of_all_addresses() -> None:
    body = """
  mbarrier.init.shared::cta.b64 [buffer], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [buffer], 64;
  mov.u64 %rd1, 0xFFFFFFFFFFFFFFF0;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buffer+64], [%rd1], 64, [buffer];
L:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [buffer], 0;
  @!%p1 bra L;
"""
    assert kinds(run(kernel(body, 1, 128), [np.zeros(4, np.uint32)], 1)) == ["out-of-bounds"]


def test_registers_of_128_bits_are_refused() -> None:
    text = kernel("  mov.u32 %r1, 0;\n", 1).replace("  .reg .f32", "  .reg .b128 %q<2>;\n  .reg .f32", 1)
    with pytest.raises(emulator.EmulatorError, match="128 bits"):
        run(text, [np.zeros(1, np.uint32)])
