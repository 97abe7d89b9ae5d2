"""Instructions between the lanes of a warp, and barriers: against the ISA's pseudo-code in Python."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt.runtime.emulator.machine import SCHEDULES
from mlopt.test.python.emulator.snippets import each_schedule, kernel, run

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
    return (source if valid else lane), valid


@each_schedule
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


@each_schedule
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
