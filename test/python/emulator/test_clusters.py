"""Clusters of blocks and mbarriers: what they compute, in each schedule."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python.emulator.snippets import each_schedule, kernel, kinds, run

STORE = "  add.s64 %rd2, %rd0, %rd31;\n  st.global.u32 [%rd2], %r9;\n"


def sm_90(body: str, parameters: int = 1, shared: int = 0) -> str:
    return kernel(body, parameters, shared, "sm_90")


def test_a_block_knows_its_place_in_the_cluster() -> None:
    names = [f"%{what}.{axis}" for what in ("clusterid", "nclusterid", "cluster_ctaid") for axis in "xyz"]
    names += ["%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_ctarank", "%cluster_nctarank"]
    lines = ["  mov.u32 %r1, %ctaid.y;\n  mad.lo.u32 %r1, %r1, 4, %r31;\n  mul.wide.u32 %rd2, %r1, 64;"]
    lines.insert(0, "  mov.u32 %r31, %ctaid.x;")
    lines += ["  add.s64 %rd2, %rd2, %rd0;"]
    for number, name in enumerate(names):
        lines += [f"  mov.u32 %r2, {name};", f"  st.global.u32 [%rd2+{4 * number}], %r2;"]
    out = np.zeros((6, 4, 16), np.uint32)
    report = run(sm_90("\n".join(lines)), [out], 1, (4, 6), cluster=(2, 3))
    assert report.findings == []
    for y in range(6):
        for x in range(4):
            expected = [x // 2, y // 3, 0, 2, 2, 1, x % 2, y % 3, 0, 2, 3, y % 3 * 2 + x % 2, 6]
            assert out[y, x, :13].tolist() == expected


@each_schedule
def test_blocks_read_each_others_shared_memory(schedule: str) -> None:
    # Each block of 4 gives its thread numbers plus 100 times its rank; each reads from the next one.
    body = """
  mov.u32 %r1, buffer;
  shl.b32 %r2, %r0, 2;
  add.u32 %r1, %r1, %r2;
  mov.u32 %r3, %cluster_ctarank;
  mad.lo.u32 %r4, %r3, 100, %r0;
  st.shared.u32 [%r1], %r4;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  add.u32 %r5, %r3, 1;
  and.b32 %r5, %r5, 3;
  mapa.shared::cluster.u32 %r6, %r1, %r5;
  ld.shared::cluster.u32 %r7, [%r6];
  getctarank.shared::cluster.u32 %r8, %r6;
  cvta.shared.u64 %rd3, buffer;
  mapa.u64 %rd4, %rd3, %r5;
  add.s64 %rd4, %rd4, %rd31;
  ld.u32 %r9, [%rd4];
  mad.lo.u32 %r9, %r9, 10, %r8;
  isspacep.shared::cta %p1, %rd4;
  isspacep.shared::cluster %p2, %rd4;
  @%p1 add.u32 %r9, %r9, 1000000;
  @!%p2 add.u32 %r9, %r9, 1000000;
  setp.ne.u32 %p1, %r8, %r5;
  @%p1 add.u32 %r9, %r9, 1000000;
  mad.lo.u32 %r9, %r7, 10000, %r9;
  mov.u32 %r10, %ctaid.x;
  mul.wide.u32 %rd5, %r10, 256;
  add.s64 %rd0, %rd0, %rd5;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
"""
    out = np.zeros((8, 64), np.uint32)
    report = run(sm_90(body + STORE, shared=256), [out], 64, 8, schedule, cluster=4)
    assert report.findings == []
    t = np.arange(64)
    for block in range(8):
        next_one = (block + 1) % 4
        value = next_one * 100 + t
        np.testing.assert_array_equal(out[block], value * 10000 + value * 10 + next_one)


@each_schedule
def test_atomics_and_arrivals_in_another_block(schedule: str) -> None:
    # All threads of both blocks add to a sum in block 0 and arrive there; its threads wait.
    body = f"""
  mov.u32 %r1, buffer;
  mov.u32 %r2, %cluster_ctarank;
  or.b32 %r3, %r2, %r0;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 mbarrier.init.shared::cta.b64 [buffer], 128;
  @%p1 st.shared.u32 [buffer+8], 0;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mapa.shared::cluster.u32 %r4, %r1, 0;
  add.u32 %r5, %r0, %r2;
  atom.shared::cluster.add.u32 %r6, [%r4+8], %r5;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra E;
L:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [buffer], 0;
  @!%p3 bra L;
  ld.shared.u32 %r9, [buffer+8];
{STORE}E:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
"""
    out = np.zeros(64, np.uint32)
    report = run(sm_90(body, shared=16), [out], 64, 2, schedule, cluster=2)
    assert report.findings == []
    assert (out == 2 * sum(range(64)) + 64).all()


@each_schedule
def test_a_barrier_of_the_cluster_orders_global_memory(schedule: str) -> None:
    body = """
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r2, %r1, 32, %r0;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd2, %rd2, %rd0;
  st.global.u32 [%rd2], %r2;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  xor.b32 %r2, %r2, 32;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd3, %rd3, %rd0;
  ld.global.u32 %r9, [%rd3];
  st.global.u32 [%rd2+256], %r9;
"""
    out = np.zeros(128, np.uint32)
    assert run(sm_90(body), [out], 32, 2, schedule, cluster=2).findings == []
    assert out[64:].tolist() == [number ^ 32 for number in range(64)]
    without = body.replace("  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n", "")
    assert "race" in kinds(run(sm_90(without), [out], 32, 2, schedule, cluster=2))


def test_states_count_what_is_pending() -> None:
    body = """
  mbarrier.init.shared::cta.b64 [buffer], 10;
  mbarrier.arrive_drop.shared::cta.b64 %rd3, [buffer], 4;
  mbarrier.arrive.shared::cta.b64 %rd4, [buffer], 5;
  mbarrier.arrive.shared::cta.b64 %rd5, [buffer], 1;
  mbarrier.arrive.shared::cta.b64 %rd6, [buffer], 6;
  mbarrier.pending_count.b64 %r1, %rd3;
  mbarrier.pending_count.b64 %r2, %rd4;
  mbarrier.pending_count.b64 %r3, %rd5;
  mbarrier.pending_count.b64 %r4, %rd6;
  st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};
  mbarrier.test_wait.parity.shared::cta.b64 %p1, [buffer], 1;
  selp.b32 %r5, 1, 0, %p1;
  st.global.u32 [%rd0+16], %r5;
"""
    out = np.zeros(5, np.uint32)
    assert run(sm_90(body, shared=8), [out], 1).findings == []
    assert out.tolist() == [10, 6, 1, 6, 1]  # the second phase expects six, and is over too


@pytest.mark.parametrize(
    ("grid", "cluster", "directive", "target", "words"),
    [
        (3, 2, "", "sm_90", "do not divide"),
        (32, 32, "", "sm_90", "a cluster of 32 blocks, of 16"),
        (4, 2, ".reqnctapercluster 4", "sm_90", "says (4, 1, 1)"),
        (4, None, ".explicitcluster", "sm_90", "asks for one"),
        (16, 16, ".maxclusterrank 8", "sm_90", "of 8"),
        (2, 2, "", "sm_80", "which sm_90 has"),
    ],
)
def test_clusters_that_are_refused(
    grid: int, cluster: int | None, directive: str, target: str, words: str
) -> None:
    text = kernel("  bar.sync 0;\n", 1, 0, target).replace(")\n{", f")\n{directive}\n{{")
    report = run(text, [np.zeros(1, np.uint32)], 32, grid, cluster=cluster)
    assert kinds(report) == ["launch"] and words in report.findings[0].detail


@each_schedule
def test_who_runs_into_a_barrier_lets_the_others_come(schedule: str) -> None:
    body = """
  mov.u32 %r9, 7;
  setp.ne.u32 %p1, %r0, 5;
  @%p1 bra J;
  mov.u32 %r9, 8;
J:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
"""
    out = np.zeros(64, np.uint32)
    assert run(sm_90(body + STORE), [out], 64, 2, schedule, cluster=2).findings == []
    assert out.tolist() == [8 if thread == 5 else 7 for thread in range(64)]


@each_schedule
@pytest.mark.parametrize("first", [32, 64])
def test_who_ends_before_the_first_arrival_is_not_waited_for(first: int, schedule: str) -> None:
    body = f"""
  setp.ge.u32 %p1, %r0, {first};
  @%p1 exit;
  mov.u32 %r9, 7;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
"""
    out = np.zeros(96, np.uint32)
    assert run(sm_90(body + STORE), [out], 96, 4, schedule, cluster=2).findings == []
    assert out.tolist() == [7] * first + [0] * (96 - first)
