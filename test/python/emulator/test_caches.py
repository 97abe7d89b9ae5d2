"""What memory must move for a launch, from the sectors that its blocks have touched."""

from __future__ import annotations

import numpy as np
from mlopt import emulator
from mlopt.test.python.emulator.snippets import kernel

SIZE = 1 << 10  # floats
# Each block reads its own 128 bytes of the first buffer, then 128 that all of them read.
OWN = """
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 128;
  mul.wide.u32 %rd4, %r0, 4;
  add.s64 %rd5, %rd0, %rd4;
  add.s64 %rd3, %rd3, %rd5;
  ld.global.f32 %f1, [%rd3+128];
"""
SHARED = "  ld.global.f32 %f2, [%rd5];\n"
WRITE = "  st.global.f32 [%rd3+128], %f1;\n"
LINE = 128
BLOCKS = 16


def trace(body: str) -> emulator.Report:
    """Blocks of one warp."""
    with emulator.record(trace=True) as reports:
        emulator.load(kernel(body, 1)).launch("k", BLOCKS, 32, [np.zeros(SIZE, np.float32)])
    return reports[0]


def moved(report: emulator.Report, resident: int, capacity: float) -> int:
    assert report.trace is not None
    return report.trace.moved(resident, capacity)


def test_what_was_touched_a_moment_ago_is_not_moved_again() -> None:
    report = trace(OWN + SHARED)
    assert moved(report, 1, 1 << 20) == (BLOCKS + 1) * LINE
    assert moved(report, 1, 2 * LINE + 32) == (BLOCKS + 1) * LINE
    assert moved(report, 1, 2 * LINE) == 2 * BLOCKS * LINE


def test_resident_blocks_run_side_by_side() -> None:
    report = trace(OWN + SHARED)
    for resident in (2, 4, BLOCKS):
        assert moved(report, resident, 2 * LINE) == (BLOCKS + BLOCKS // resident) * LINE


def test_what_is_written_goes_back_once() -> None:
    assert moved(trace(OWN + WRITE), 1, 1 << 20) == 2 * BLOCKS * LINE
    assert moved(trace(OWN + WRITE + WRITE), BLOCKS, 1 << 20) == 2 * BLOCKS * LINE
    assert moved(trace(OWN + WRITE + WRITE), BLOCKS, LINE) == 3 * BLOCKS * LINE


def test_reports_have_a_trace_only_if_asked() -> None:
    with emulator.record() as reports:
        emulator.load(kernel(OWN, 1)).launch("k", BLOCKS, 32, [np.zeros(SIZE, np.float32)])
    assert reports[0].trace is None


def test_what_a_block_asks_for_again() -> None:
    once, again = trace(OWN), trace(OWN + OWN + OWN)
    assert once.trace is not None and again.trace is not None
    assert once.trace.asked_again() == 1
    assert again.trace.asked_again() == 3


def test_what_every_block_touches() -> None:
    report = trace(OWN + SHARED)
    assert report.trace is not None
    common = report.trace.common(BLOCKS)
    assert len(common) * 32 == LINE
    assert report.trace.moved(1, 2 * LINE, common) == BLOCKS * LINE
    assert len(trace(OWN).trace.common(BLOCKS)) == 0  # type: ignore[union-attr]


def test_the_first_blocks_of_a_launch() -> None:
    """Four of sixteen; what they have begun to write may be read in whole."""
    memory = emulator.Device("sm_80")
    kernels = memory.load(kernel(OWN + WRITE, 1))
    address = memory.alloc(4 * SIZE)
    memory.write(address, np.zeros(32 * 5, np.float32))  # what four blocks read
    with emulator.record(trace=True, blocks={"k": 4}) as reports:
        kernels.launch("k", BLOCKS, 32, [address])
    (report,) = reports
    assert (report.blocks, report.grid) == (4, (BLOCKS, 1, 1))
    assert report.counters is not None and report.counters.dram_read == 4 * LINE
    kernels.launch("k", BLOCKS, 32, [address])


def test_all_blocks_run_of_kernels_that_are_not_named() -> None:
    with emulator.record(blocks={"other": 4}) as reports:
        emulator.load(kernel(OWN, 1)).launch("k", BLOCKS, 32, [np.zeros(SIZE, np.float32)])
    assert reports[0].blocks == BLOCKS
