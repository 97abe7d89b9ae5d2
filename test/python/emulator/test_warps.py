"""Instructions between the lanes of a warp, atomics, barriers: against the ISA's pseudo-code in Python."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator.machine import SCHEDULES
from mlopt.test.python.emulator.snippets import kernel, kinds, run

RNG = np.random.default_rng(97913)
OWN = "  add.s64 %rd10, %rd0, %rd31;\n  add.s64 %rd11, %rd1, %rd31;\n"


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The source lane and the predicate, as the ISA's pseudo-code has them."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    most, least = (lane & mask) | (cval & ~mask & 31), lane & mask
    source, valid = {
        "up": (lane - bval, lane - bval >= most),
        "down": (lane + bval, lane + bval <= most),
        "bfly": (lane ^ bval, lane ^ bval <= most),
        "idx": (least | (bval & ~mask & 31), (least | (bval & ~mask & 31)) <= most),
    }[mode]
    if mode == "bfly":
        valid = (lane ^ bval) <= most
    return (source if valid else lane), valid


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shfl(mode: str, schedule: str) -> None:
    for b, width in ((1, 32), (3, 8), (16, 32), (2, 16), (7, 4)):
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        x = RNG.integers(0, 2**32, 64, dtype=np.uint32)
        out = np.zeros(128, np.uint32)
        body = OWN + (
            f"  ld.global.u32 %r1, [%rd11];\n  shfl.sync.{mode}.b32 %r2|%p1, %r1, {b}, {c}, -1;\n"
            "  st.global.u32 [%rd10], %r2;\n  selp.b32 %r3, 1, 0, %p1;\n  st.global.u32 [%rd10+256], %r3;\n"
        )
        assert run(kernel(body), [out, x], 64, schedule=schedule).findings == []
        for thread in range(64):
            source, valid = shuffled(mode, thread % 32, b, c)
            assert out[thread] == x[thread // 32 * 32 + source]
            assert out[64 + thread] == valid


def test_shfl_in_a_part_of_the_warp() -> None:
    """Lanes that come to the instruction by different ways, at different times, meet there."""
    body = OWN + (
        "  and.b32 %r1, %r0, 1;\n  setp.eq.u32 %p1, %r1, 0;\n  @%p1 bra EVEN;\n  mov.u32 %r4, 5;\nL:\n"
        "  sub.u32 %r4, %r4, 1;\n  setp.ne.u32 %p2, %r4, 0;\n  @%p2 bra L;\n"
        "  shfl.sync.bfly.b32 %r5, %r0, 2, 31, 0xaaaaaaaa;\n  bra OUT;\nEVEN:\n"
        "  shfl.sync.bfly.b32 %r5, %r0, 4, 31, 0x55555555;\nOUT:\n  st.global.u32 [%rd10], %r5;\n"
    )
    out = np.zeros(32, np.uint32)
    for schedule in SCHEDULES:
        assert run(kernel(body), [out, out.copy()], 32, schedule=schedule).findings == []
        lanes = np.arange(32)
        np.testing.assert_array_equal(out, np.where(lanes % 2, lanes ^ 2, lanes ^ 4))


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x00FF00FF])
def test_vote_match_redux(mask: int) -> None:
    x = RNG.integers(0, 6, 32).astype(np.uint32)
    out = np.zeros((10, 32), np.uint32)
    lines = [
        "vote.sync.ballot.b32 %r10, %p2, MASK",
        "vote.sync.all.pred %p3, %p2, MASK;\n  selp.b32 %r11, 1, 0, %p3",
        "vote.sync.any.pred %p3, !%p2, MASK;\n  selp.b32 %r12, 1, 0, %p3",
        "vote.sync.uni.pred %p3, %p2, MASK;\n  selp.b32 %r13, 1, 0, %p3",
        "match.any.sync.b32 %r14, %r1, MASK",
        "match.all.sync.b32 %r15|%p3, %r1, MASK",
        "redux.sync.add.u32 %r16, %r1, MASK",
        "redux.sync.min.s32 %r17, %r1, MASK",
        "redux.sync.xor.b32 %r18, %r1, MASK",
        "activemask.b32 %r19",
    ]
    body = OWN + "  ld.global.u32 %r1, [%rd11];\n  setp.gt.u32 %p2, %r1, 2;\n"
    body += f"  shr.u32 %r2, {mask:#x}, %r0;\n  and.b32 %r2, %r2, 1;\n"
    body += "  setp.eq.u32 %p4, %r2, 0;\n  @%p4 bra END;\n"
    body += "".join(f"  {line};\n".replace("MASK", hex(mask)) for line in lines)
    body += "".join(f"  st.global.u32 [%rd10+{128 * at}], %r{10 + at};\n" for at in range(10)) + "END:\n"
    assert run(kernel(body), [out, x], 32).findings == []
    named = [lane for lane in range(32) if mask >> lane & 1]
    mine = x[named]
    ballot = sum(1 << lane for lane in named if x[lane] > 2)
    for lane in named:
        same = sum(1 << other for other in named if x[other] == x[lane])
        expected = [
            ballot,
            int((mine > 2).all()),
            int((mine <= 2).any()),
            int((mine > 2).all() or not (mine > 2).any()),
            same,
            mask if same == mask else 0,
            int(mine.sum()),
            int(mine.min()),
            int(np.bitwise_xor.reduce(mine)),
            mask,
        ]
        assert out[:, lane].tolist() == expected


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


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_barrier_reductions(schedule: str) -> None:
    out = np.zeros(3 * 96, np.uint32)
    body = OWN + (
        "  setp.lt.u32 %p1, %r0, 40;\n  barrier.cta.red.popc.aligned.u32 %r1, 0, %p1;\n"
        "  barrier.cta.red.and.aligned.pred %p2, 1, %p1;\n  bar.red.or.pred %p3, 2, !%p1;\n"
        "  selp.b32 %r2, 1, 0, %p2;\n  selp.b32 %r3, 1, 0, %p3;\n  st.global.u32 [%rd10], %r1;\n"
        "  st.global.u32 [%rd10+384], %r2;\n  st.global.u32 [%rd10+768], %r3;\n"
    )
    assert run(kernel(body), [out, out.copy()], 96, schedule=schedule).findings == []
    assert out.reshape(3, 96)[:, 0].tolist() == [40, 0, 1]
    assert (out.reshape(3, 96) == out.reshape(3, 96)[:, :1]).all()


def test_cp_async_fills_with_zeros() -> None:
    x = np.arange(64, dtype=np.uint8) + 1
    out = np.full(64, 99, np.uint8)
    body = (
        "  mov.u32 %r1, buffer;\n  cp.async.cg.shared.global [%r1], [%rd1], 16, 5;\n"
        "  cp.async.ca.shared.global [%r1+16], [%rd1+16], 8, 0;\n  setp.eq.u32 %p1, %r0, %r0;\n"
        "  cp.async.ca.shared.global [%r1+24], [%rd1+24], 4, %p1;\n"
        "  cp.async.ca.shared.global [%r1+28], [%rd1+28], 4, !%p1;\n  cp.async.wait_all;\n"
        "  ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];\n  st.global.v4.u32 [%rd0], {%r2, %r3, %r4, %r5};\n"
        "  ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1+16];\n"
        "  st.global.v4.u32 [%rd0+16], {%r2, %r3, %r4, %r5};\n"
    )
    assert run(kernel(body, 2, 64), [out, x], 1).findings == []
    assert out[:32].tolist() == [1, 2, 3, 4, 5, *[0] * 23, 29, 30, 31, 32]


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0xFFFF0000, 0x00F00010])
def test_elect(mask: int) -> None:
    body = f"""
  mov.u32 %r1, 1;
  shl.b32 %r1, %r1, %r0;
  and.b32 %r1, %r1, {mask};
  setp.eq.u32 %p1, %r1, 0;
  @%p1 exit;
  elect.sync %r2|%p2, {mask};
  selp.u32 %r3, 256, 512, %p2;
  or.b32 %r3, %r3, %r2;
  add.s64 %rd2, %rd0, %rd31;
  st.global.u32 [%rd2], %r3;
"""
    out = np.zeros(32, np.uint32)
    assert run(kernel(body, 1, target="sm_90"), [out]).findings == []
    named = [lane for lane in range(32) if mask >> lane & 1]
    assert out[named].tolist() == [(512, 256)[lane == named[0]] | named[0] for lane in named]
    assert np.count_nonzero(out) == len(named)


def test_what_no_family_defines_is_named() -> None:
    for line, section in (
        ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0}, %rd0, %rd1, %r1, 0, 1;", "9.7.15"),
        ("tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r1}];", "9.7.10"),
        ("vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;", "9.7.18"),
        ("frobnicate.u32 %r1, %r2;", "not an instruction of the PTX ISA"),
        ("mma.sync.aligned.m16n8k24.row.col.f32.f16.f16.f32 {%f0}, {%r1}, {%r1}, {%f0};", "9.7.14"),
    ):
        with pytest.raises(emulator.UnsupportedInstructionError) as caught:
            run(kernel("  " + line + "\n"), [np.zeros(1, np.uint32)] * 2)
        assert section in str(caught.value) and "PTX line" in str(caught.value)


def test_text_that_is_no_ptx() -> None:
    for text, message in (
        (".version 8.0\n.target sm_80\n.entry k() { add.u32 %r1 %r2; }", "expected ','"),
        (".version 8.0\nhello", "is not a directive"),
        (".version 8.0\n.address_size 32", "32 bits"),
        (".version 8.0\n.visible .entry k() {", "ends too early"),
    ):
        with pytest.raises(emulator.EmulatorError, match=message):
            emulator.load(text)
