"""Stores and reductions in another block of the cluster that arrive at an mbarrier there."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt.runtime.emulator.machine import SCHEDULES
from mlopt.test.python.emulator.snippets import each_schedule, kernel, kinds, run

RNG = np.random.default_rng(64)
MEET = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n"
# Each of two blocks has 512 bytes, and an mbarrier behind them that expects so many bytes. %r4 is the other
# block's memory, %rd3 what this block has in the array %rd0.
BEFORE = f"""
  mov.u32 %r1, buffer;
  mov.u32 %r2, %cluster_ctarank;
  setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared::cta.b64 [buffer+1024], 1;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [buffer+1024], BYTES;
  mul.wide.u32 %rd3, %r2, 512;
  add.s64 %rd3, %rd3, %rd0;
  mad.lo.u32 %r10, %r0, 8, %r1;
  mul.wide.u32 %rd4, %r0, 8;
  add.s64 %rd4, %rd4, %rd3;
  ld.global.b64 %rd5, [%rd4];
  st.shared.b64 [%r10], %rd5;
  fence.proxy.async.shared::cta;
{MEET}  xor.b32 %r3, %r2, 1;
  mapa.shared::cluster.u32 %r4, %r1, %r3;
"""
AFTER = f"""
L:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [buffer+1024], 0;
  @!%p2 bra L;
  ld.shared.b64 %rd6, [%r10];
  st.global.b64 [%rd4], %rd6;
{MEET}"""


def launch(
    lines: str, array: np.ndarray, size: int, schedule: str = "together", before: str = BEFORE
) -> list[str]:
    """Runs the lines in two blocks of 64 threads with 512 bytes of ``array`` each; gives what is found."""
    text = kernel(before.replace("BYTES", str(size)) + lines + AFTER, 1, 1032, "sm_90")
    report = run(text, [array], 64, 2, schedule, cluster=2)
    return kinds(report)


@each_schedule
def test_stores(schedule: str) -> None:
    lines = """
  mad.lo.u32 %r5, %r0, 8, %r4;
  mad.lo.u32 %r6, %r2, 100, %r0;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r5], {%r6, %r0}, [%r4+1024];
"""
    out, t = np.zeros((2, 64, 2), np.uint32), np.arange(64)
    assert launch(lines, out, 512, schedule) == []
    for block in range(2):
        np.testing.assert_array_equal(out[block], np.stack([(1 - block) * 100 + t, t], 1))
    early = "  ld.shared.u32 %r9, [buffer];\n"
    assert "async-read" in launch(lines + early, out, 512, schedule)


OPERATIONS = {
    "add": (np.add, ("u32", "s32", "u64")),
    "min": (np.minimum, ("u32", "s32")),
    "max": (np.maximum, ("u32", "s32")),
    "inc": (lambda old, value: np.where(old >= value, 0, old + 1), ("u32",)),
    "dec": (lambda old, value: np.where((old == 0) | (old > value), value, old - 1), ("u32",)),
    "and": (np.bitwise_and, ("b32",)),
    "or": (np.bitwise_or, ("b32",)),
    "xor": (np.bitwise_xor, ("b32",)),
}
FORMS = [(operation, kind) for operation, (_, types) in OPERATIONS.items() for kind in types]


def expected(operation: str, kind: str, array: np.ndarray) -> np.ndarray:
    dtype = np.dtype(("i" if kind[0] == "s" else "u") + str(int(kind[1:]) // 8))
    values = array.view(dtype).reshape(2, -1)
    return OPERATIONS[operation][0](values, values[::-1]).astype(dtype)


@pytest.mark.parametrize(("operation", "kind"), FORMS)
def test_reductions_in_bulk(operation: str, kind: str) -> None:
    # A copy of what is to be added is taken before the other block changes it.
    lines = f"""
  ld.shared.b64 %rd7, [%r10];
  st.shared.b64 [%r10+512], %rd7;
  fence.proxy.async.shared::cta;
{MEET}  @!%p1 bra L;
  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{kind}
    [%r4], [buffer+512], 512, [%r4+1024];
"""
    array = RNG.integers(0, 1 << 32, (2, 128), np.uint32)
    array[1, :40] = array[0, :40] + RNG.integers(-1, 2, 40).astype(np.uint32)
    wanted = expected(operation, kind, array)
    assert launch(lines, array, 512) == []
    np.testing.assert_array_equal(array.view(wanted.dtype).reshape(2, -1), wanted)


@pytest.mark.parametrize(("operation", "kind"), FORMS)
def test_reductions_by_threads(operation: str, kind: str) -> None:
    size = int(kind[1:]) // 8
    register = "%rd9" if size == 8 else "%r9"
    lines = f"""
  mad.lo.u32 %r5, %r0, {size}, %r1;
  mad.lo.u32 %r6, %r0, {size}, %r4;
  ld.shared.b{8 * size} {register}, [%r5];
{MEET}  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation}.{kind}
    [%r6], {register}, [%r4+1024];
"""
    array = RNG.integers(0, 1 << 32, (2, 128), np.uint32)
    wanted = expected(operation, kind, array)
    wanted[:, 64:] = array.view(wanted.dtype).reshape(2, -1)[:, 64:]
    assert launch(lines, array, 64 * size) == []
    np.testing.assert_array_equal(array.view(wanted.dtype).reshape(2, -1), wanted)


MANY = """
  and.b32 %r5, %r0, 15;
  mad.lo.u32 %r5, %r5, 4, %r4;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r0, [%r4+1024];
"""


@each_schedule
def test_several_may_change_one_place(schedule: str) -> None:
    array = np.full((2, 128), 5, np.uint32)
    assert launch(MANY, array, 256, schedule) == []
    assert array[:, :16].tolist() == [[5 + sum(range(t, 64, 16)) for t in range(16)]] * 2
    assert (array[:, 16:] == 5).all()


@pytest.mark.parametrize(
    ("lines", "size", "kind"),
    [
        (MANY + MEET + "  ld.shared.u32 %r9, [buffer];\n", 256, "async-read"),
        (MANY + MEET + "  @%p1 st.shared.u32 [buffer+4], 1;\n", 256, "async-write"),
        (MANY.replace("%r0, [%r4+1024]", "%r0, [buffer+1024]"), 256, "mbarrier"),
        (MANY, 252, "transaction-count"),
        (MANY.replace("[%r5]", "[%r5+2]"), 256, "misaligned"),
        (MANY.replace("[%r5]", "[%r5+1024]"), 256, "out-of-bounds"),
        (MANY.replace("[%r5]", "[%r5+512]"), 256, "uninitialized-memory"),
    ],
)
def test_faults_of_reductions(lines: str, size: int, kind: str) -> None:
    for schedule in SCHEDULES:
        assert kind in launch(lines, np.full((2, 128), 5, np.uint32), size, schedule), schedule


@pytest.mark.parametrize("block", [0, 1])
def test_a_load_to_another_block_arrives_at_its_mbarrier(block: int) -> None:
    lines = f"""
  mapa.shared::cluster.u32 %r7, %r1, {block};
  setp.eq.and.u32 %p2, %r2, 0, %p1;
  @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd0], 512, [%r7+1024];
  setp.eq.u32 %p2, %r2, {block};
  @!%p2 bra E;
"""
    before = BEFORE.replace(
        "@%p1 mbarrier.arrive", "setp.eq.and.u32 %p3, %r2, 1, %p1;\n  @%p3 mbarrier.arrive"
    )
    before = before.replace("%r2, 1, %p1", f"%r2, {block}, %p1")
    text = kernel(before.replace("BYTES", "512") + lines + AFTER.replace(MEET, "E:\n" + MEET), 1, 1032)
    array = RNG.integers(0, 1 << 32, (2, 128), np.uint32)
    kept = array.copy()
    report = run(text, [array], 64, 2, cluster=2)
    if not block:
        assert "mbarrier" in kinds(report)
    else:
        assert report.findings == []
        np.testing.assert_array_equal(array[1], kept[0])


def test_a_reduction_in_bulk_needs_fences() -> None:
    lines = """
  @%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32
    [%r4+256], [buffer], 256, [%r4+1024];
"""
    array = np.full((2, 128), 5, np.uint32)
    assert launch(lines, array, 256) == []
    assert (array[:, 64:] == 10).all() and (array[:, :64] == 5).all()
    bare = BEFORE.replace("  fence.proxy.async.shared::cta;\n", "")
    assert launch(lines, array, 256, before=bare) == ["proxy-fence"]
