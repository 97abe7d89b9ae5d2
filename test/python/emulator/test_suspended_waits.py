"""mbarrier.try_wait may give up: who does not try again is found, who goes on without waits for nobody."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import each_schedule, kernel, kinds, run

COPY = """
  setp.eq.u32 %p1, %r0, 0;
  shl.b32 %r2, %r0, 2;
  mov.u32 %r1, buffer;
  add.u32 %r3, %r1, %r2;
  @%p1 mbarrier.init.shared::cta.b64 [buffer], 1;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [buffer], 128;
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buffer+16], [%rd0], 128, [buffer];
"""
READ = "  ld.shared.u32 %r5, [%r3+16];\n"

# Warp 0 completes the second phase when warp 1 has freed the first one, behind its look at the second one.
PEEK = """
  setp.ne.u32 %p3, %r0, 0;
  @%p3 bra MADE;
  mbarrier.init.shared::cta.b64 [buffer], 1;
  mbarrier.init.shared::cta.b64 [buffer+8], 32;
MADE:
  bar.sync 0;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra CONSUMER;
  @%p3 bra END;
  mbarrier.arrive.shared::cta.b64 _, [buffer];
FREE:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [buffer+8], 0;
  @!%p2 bra FREE;
  mbarrier.arrive.shared::cta.b64 _, [buffer];
  bra END;
CONSUMER:
FIRST:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [buffer], 0;
  @!%p2 bra FIRST;
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [buffer], 1{hint};
  {freed}mbarrier.arrive.shared::cta.b64 _, [buffer+8];
  @%p4 bra END;
SECOND:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [buffer], 1;
  @!%p2 bra SECOND;
END:
"""


def launch(body: str, threads: int, schedule: str, seed: int) -> emulator.Report:
    options = emulator.Options(schedule=schedule, seed=seed)
    kernels = emulator.load(kernel(body, 1, 256, "sm_90"))
    return kernels.launch("k", 1, threads, [np.arange(64, dtype=np.uint32)], check=False, options=options)


@each_schedule
@pytest.mark.parametrize("wait", ["try_wait", "test_wait"])
def test_a_wait_that_is_not_tried_again(wait: str, schedule: str) -> None:
    wait = f"  mbarrier.{wait}.parity.shared::cta.b64 %p2, [buffer], 0;\n"
    again = f"L:\n{wait}  @!%p2 bra L;\n"
    for seed in range(4 if schedule == "random" else 1):
        assert "async-read" in kinds(launch(COPY + wait + READ, 32, schedule, seed))
        assert launch(COPY + again + READ, 32, schedule, seed).findings == []


@each_schedule
@pytest.mark.parametrize("hint", ["", ", 20"])
def test_a_look_at_the_next_phase_before_this_one_is_freed(schedule: str, hint: str) -> None:
    for seed in range(4 if schedule == "random" else 1):
        assert launch(PEEK.format(hint=hint, freed=""), 64, schedule, seed).findings == []
        # Only who has seen the second phase frees the first one.
        report = launch(PEEK.format(hint=hint, freed="@%p4 "), 64, schedule, seed)
        assert kinds(report) == ["deadlock"]


@each_schedule
def test_a_time_limit_runs_out(schedule: str) -> None:
    body = """
  setp.eq.u32 %p1, %r0, 0;
  @%p1 mbarrier.init.shared::cta.b64 [buffer], 2;
  bar.sync 0;
  @%p1 mbarrier.arrive.shared::cta.b64 _, [buffer];
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [buffer], 0, 20;
  selp.u32 %r1, 1, 0, %p2;
  add.s64 %rd2, %rd0, %rd31;
  st.global.u32 [%rd2], %r1;
"""
    out = np.arange(1, 33, dtype=np.uint32)
    assert run(kernel(body, 1, 64, "sm_90"), [out], schedule=schedule).findings == []
    assert not out.any()
