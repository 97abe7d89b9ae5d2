"""Atomics and reductions in memory, against the ISA's words in Python."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python.emulator.snippets import kernel, kinds, run

RNG = np.random.default_rng(97913)
OWN = "  add.s64 %rd10, %rd0, %rd31;\n  add.s64 %rd11, %rd1, %rd31;\n"


ATOMICS = {
    "and.b32": lambda old, v: old & v,
    "or.b32": lambda old, v: old | v,
    "xor.b32": lambda old, v: old ^ v,
    "exch.b32": lambda old, v: v,
    "add.u32": lambda old, v: (old + v) % 2**32,
    "inc.u32": lambda old, v: 0 if old >= v else old + 1,
    "dec.u32": lambda old, v: v if old == 0 or old > v else old - 1,
    "min.u32": min,
    "max.u32": max,
    "min.s32": lambda old, v: min(old, v, key=lambda u: (u + 2**31) % 2**32),
    "max.s32": lambda old, v: max(old, v, key=lambda u: (u + 2**31) % 2**32),
}


@pytest.mark.parametrize("space", ["global", "shared", ""])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(name: str, space: str) -> None:
    """Each thread's old value and the last value agree with some order: that of the old values themselves."""
    x = RNG.integers(0, 40, 96).astype(np.uint32)
    places, out = np.zeros(4, np.uint32), np.zeros(96, np.uint32)
    where = f".{space}" if space else ""
    body = OWN + "  ld.global.u32 %r1, [%rd11];\n  and.b32 %r2, %r0, 3;\n"
    if space == "shared":
        body += "  mov.u32 %r4, buffer;\n  mad.lo.u32 %r3, %r2, 4, %r4;\n  setp.lt.u32 %p1, %r0, 4;\n"
        body += "  @%p1 st.shared.u32 [%r3], 9;\n  bar.sync 0;\n"
        body += f"  atom{where}.{name} %r5, [%r3], %r1;\n  bar.sync 0;\n"
        body += "  mul.wide.u32 %rd12, %r2, 4;\n  add.s64 %rd12, %rd12, %rd2;\n  ld.shared.u32 %r6, [%r3];\n"
        body += "  @%p1 st.global.u32 [%rd12], %r6;\n"
    else:
        places[:] = 9
        body += "  mul.wide.u32 %rd12, %r2, 4;\n  add.s64 %rd12, %rd12, %rd2;\n"
        body += f"  atom{where}.{name} %r5, [%rd12], %r1;\n"
    body += "  st.global.u32 [%rd10], %r5;\n"
    assert run(kernel(body, 3, 64), [out, x, places], 96).findings == []
    for place in range(4):
        value = 9
        for thread in range(place, 96, 4):  # the emulator's order is that of the threads
            assert out[thread] == value
            value = ATOMICS[name](value, int(x[thread]))
        assert places[place] == value


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("f32", np.float32), ("f64", np.float64), ("noftz.f16", np.float16), ("u64", np.uint64)],
)
@pytest.mark.parametrize("opcode", ["red", "atom"])
def test_atomic_sums(opcode: str, kind: str, dtype: type) -> None:
    """Small whole numbers: every order gives the same sum."""
    size = np.dtype(dtype).itemsize
    register = {2: "%h1", 4: "%r1", 8: "%rd15"}[size]
    x, total = RNG.integers(0, 9, 128).astype(dtype), np.zeros(2, dtype)
    old = {2: "%h2", 4: "%r2", 8: "%rd16"}[size] + ", " if opcode == "atom" else ""
    body = (
        f"  mul.wide.u32 %rd10, %r0, {size};\n  add.s64 %rd10, %rd10, %rd1;\n"
        f"  ld.global.b{8 * size} {register}, [%rd10];\n"
        f"  {opcode}.global.add.{kind} {old}[%rd0], {register};\n"
    )
    assert run(kernel(body), [total, x], 128).findings == []
    assert total.tolist() == [x.sum(), 0]


@pytest.mark.parametrize("form", ["red.global", "atom.global", "red", "atom.shared", "red.shared"])
def test_subnormal_sums(form: str) -> None:
    """In global memory they are zeros of their sign, as what is added is; in shared memory they stay."""
    tiny, least = np.float32(2.0**-130), np.float32(2.0**-126)
    old = np.array([tiny, least, -least, 0.0, -tiny, 1.0, 1.5 * least, *[0.0] * 25], np.float32)
    x = np.array([tiny, tiny, -tiny, -tiny, -tiny, tiny, -least, *[0.0] * 25], np.float32)
    result = "%f2, " if form.startswith("atom") else ""
    body = """
  add.s64 %rd10, %rd0, %rd31;
  add.s64 %rd11, %rd1, %rd31;
  ld.global.f32 %f1, [%rd11];
"""
    if "shared" in form:
        body += f"""
  mov.u32 %r1, buffer;
  mad.lo.u32 %r1, %r0, 4, %r1;
  ld.global.f32 %f3, [%rd10];
  st.shared.f32 [%r1], %f3;
  {form}.add.f32 {result}[%r1], %f1;
  ld.shared.f32 %f4, [%r1];
  st.global.f32 [%rd10], %f4;
"""
    else:
        body += f"  {form}.add.f32 {result}[%rd10], %f1;\n"
    found, kept = old.copy(), np.where(np.abs(old) < least, np.copysign(0, old), old)
    if "shared" in form:
        expected = old + x
    else:
        added = np.where(np.abs(x) < least, np.copysign(0, x), x)
        expected = (kept + added).astype(np.float32)
        expected = np.where(np.abs(expected) < least, np.copysign(0, expected), expected)
    assert run(kernel(body, 2, 128), [found, x], 32).findings == []
    np.testing.assert_array_equal(found.view(np.uint32), expected.astype(np.float32).view(np.uint32))


VECTORS = [("add", "f32", 2), ("add", "f32", 4)]
VECTORS += [(name, "f16", count) for name in ("add", "min", "max") for count in (2, 4, 8)]
VECTORS += [(name, "f16x2", count) for name in ("add", "min", "max") for count in (2, 4)]


@pytest.mark.parametrize(("operation", "kind", "count"), VECTORS)
@pytest.mark.parametrize("opcode", ["red", "atom"])
def test_atomics_of_vectors(opcode: str, operation: str, kind: str, count: int) -> None:
    """Four threads to each vector; small whole numbers."""
    size = {"f32": 4, "f16": 2, "f16x2": 4}[kind]
    dtype = np.float32 if kind == "f32" else np.float16
    register = {"f32": "%f", "f16": "%h", "f16x2": "%r"}[kind]
    names = [f"{register}{number}" for number in range(1, 1 + count)]
    x = RNG.integers(-9, 9, (32, count * size // np.dtype(dtype).itemsize)).astype(dtype)
    total = RNG.integers(-9, 9, (8, x.shape[1])).astype(dtype)
    numpy = {"add": np.add, "min": np.minimum, "max": np.maximum}[operation]
    wanted = numpy(total, numpy.reduce(x.reshape(8, 4, -1), axis=1))
    loads = [f"  ld.global.b{8 * size} {name}, [%rd10+{size * at}];\n" for at, name in enumerate(names)]
    listed = "{" + ", ".join(names) + "}"
    old = listed + ", " if opcode == "atom" else ""
    noftz = "" if kind == "f32" else ".noftz"
    body = (
        f"  mul.wide.u32 %rd10, %r0, {size * count};\n  add.s64 %rd10, %rd10, %rd1;\n{''.join(loads)}"
        f"  shr.u32 %r40, %r0, 2;\n  mul.wide.u32 %rd11, %r40, {size * count};\n"
        f"  add.s64 %rd11, %rd11, %rd0;\n"
        f"  {opcode}.relaxed.gpu.global.{operation}{noftz}.v{count}.{kind} {old}[%rd11], {listed};\n"
    )
    assert run(kernel(body, target="sm_90"), [total, x], 32).findings == []
    np.testing.assert_array_equal(total, wanted)
    odd = body.replace("[%rd11]", f"[%rd11+{size}]")
    assert "misaligned" in kinds(run(kernel(odd, target="sm_90"), [total, x], 32))


def test_compare_and_swap_of_three_sizes() -> None:
    for size, register in ((2, "%h"), (4, "%r"), (8, "%rd")):
        cell, out = np.array([5], f"u{size}"), np.zeros(32, f"u{size}")
        body = (
            f"  cvt.u{8 * size}.u32 {register}20, %r0;\n  mov.b{8 * size} {register}21, 5;\n"
            f"  atom.global.cas.b{8 * size} {register}22, [%rd0], {register}21, {register}20;\n"
            f"  mul.wide.u32 %rd10, %r0, {size};\n  add.s64 %rd10, %rd10, %rd1;\n"
            f"  st.global.b{8 * size} [%rd10], {register}22;\n"
        )
        assert run(kernel(body), [cell, out], 32).findings == []
        assert cell[0] == 0 and out.tolist() == [5, *[0] * 4, *[0] * 27]
