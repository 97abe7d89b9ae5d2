"""setmaxnreg: warpgroups that give and take registers, and what it needs."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import each_schedule, kernel, kinds, run

ROLES = """
  setp.lt.u32 %p1, %r0, 128;
  @%p1 bra P;
  setmaxnreg.inc.sync.aligned.u32 232;
  bra E;
P:
  setmaxnreg.dec.sync.aligned.u32 40;
E:
  griddepcontrol.wait;
  griddepcontrol.launch_dependents;
  add.s64 %rd2, %rd0, %rd31;
  st.global.u32 [%rd2], %r0;
"""
LESS = "setmaxnreg.inc.sync.aligned.u32 160;"
AT_ENTRY = ".maxntid 384, 1, 1\n.minnctapersm 1"


def launch(
    body: str, directives: str, schedule: str = "together", threads: int = 384, shared: int = 0
) -> emulator.Report:
    out = np.zeros(threads, np.uint32)
    text = kernel(body, 1, shared, "sm_90a").replace(")\n{", f")\n{directives}\n{{", 1)
    report = run(text, [out], threads, 1, schedule)
    if not report.findings:
        assert out.tolist() == list(range(threads))
    return report


@each_schedule
@pytest.mark.parametrize("directives", [AT_ENTRY, ".maxnreg 168"])
def test_a_warpgroup_gives_registers_to_two(directives: str, schedule: str) -> None:
    assert launch(ROLES, directives, schedule).findings == []


@each_schedule
@pytest.mark.parametrize(
    ("change", "directives", "kind", "words"),
    [
        (("u32 232", "u32 232"), "", "setmaxnreg", "at entry"),
        (("u32 232", "u32 236"), AT_ENTRY, "setmaxnreg", "multiple of 8"),
        (("u32 40", "u32 16"), AT_ENTRY, "setmaxnreg", "24…256"),
        (("u32 232;", f"u32 232;\n  bar.sync 1, 256;\n  {LESS}"), AT_ENTRY, "setmaxnreg", "fewer"),
        (("u32 40", "u32 176"), AT_ENTRY, "setmaxnreg", "more"),
        (("u32 40", "u32 48"), AT_ENTRY, "setmaxnreg", "registers"),
        (("%r0, 128", "%r0, 96"), AT_ENTRY, "setmaxnreg", "different ones"),
        (("%r0, 128", "%r0, 160"), AT_ENTRY, "setmaxnreg", "different ones"),
        (("%r0, 128", "%r0, 144"), AT_ENTRY, "setmaxnreg", "other lanes of the warp"),
    ],
)
def test_what_it_needs(
    change: tuple[str, str], directives: str, kind: str, words: str, schedule: str
) -> None:
    report = launch(ROLES.replace(*change), directives, schedule)
    assert kind in kinds(report)
    assert any(words in finding.detail for finding in report.findings if finding.kind == kind)


@pytest.mark.parametrize(
    ("directives", "threads", "asked", "registers"),
    [
        (".maxntid 256, 1, 1\n.minnctapersm 1", 256, 232, 232),
        (".maxntid 256, 1, 1\n.minnctapersm 1", 256, 248, 248),
        (".maxntid 256, 1, 1\n.minnctapersm 1", 256, 256, 256),
        (".maxntid 384, 1, 1\n.minnctapersm 1", 384, 232, 168),
        (".maxntid 384, 1, 1\n.minnctapersm 1", 384, 160, 160),
        (".maxntid 288, 1, 1\n.minnctapersm 2", 128, 232, 96),
        (".reqntid 256, 1, 1\n.minnctapersm 2", 256, 232, 128),
        (".maxnreg 166", 128, 232, 168),
        (".maxnreg 240", 128, 200, 200),
        (".maxnreg 240\n.maxntid 384, 1, 1\n.minnctapersm 1", 384, 232, 168),
    ],
)
def test_registers_at_entry_are_those_of_ptxas(
    directives: str, threads: int, asked: int, registers: int
) -> None:
    """What ptxas 13.0 says that kernels use which ask for more: nobody does so here."""
    body = f"""
  setp.lt.u32 %p1, %r0, 1024;
  @%p1 bra D;
  setmaxnreg.inc.sync.aligned.u32 {asked};
D:
  setmaxnreg.dec.sync.aligned.u32 COUNT;
{STORE}"""
    assert launch(body.replace("COUNT", str(registers)), directives, threads=threads).findings == []
    (finding,) = launch(body.replace("COUNT", str(registers + 8)), directives, threads=threads).findings
    assert finding.kind == "setmaxnreg"
    assert ("24…256" if registers == 256 else f"more than the {registers} ") in finding.detail


def test_more_registers_than_there_are() -> None:
    # .maxnreg says at most, but with a setmaxnreg the kernel has them.
    assert launch(STORE, ".maxnreg 240").findings == []
    (finding,) = launch(ROLES, ".maxnreg 240").findings
    assert finding.kind == "launch" and "384 threads of 232 registers" in finding.detail


STORE = "  add.s64 %rd2, %rd0, %rd31;\n  st.global.u32 [%rd2], %r0;\n"
TWICE = """
  setmaxnreg.dec.sync.aligned.u32 152;
  {between}
  setmaxnreg.inc.sync.aligned.u32 160;
"""


@each_schedule
@pytest.mark.parametrize(
    ("between", "words"),
    [
        ("bar.sync 0;", ""),
        ("shr.u32 %r1, %r0, 7;\n  bar.sync %r1, 128;", ""),
        ("setmaxnreg.dec.sync.aligned.u32 152;\n  bar.sync 0;", ""),
        ("bar.sync 0;\n  setmaxnreg.dec.sync.aligned.u32 152;", "not synchronised"),
        ("", "not synchronised"),
        ("shr.u32 %r1, %r0, 6;\n  bar.sync %r1, 64;", "not synchronised"),
        ("shr.u32 %r1, %r0, 5;\n  setp.ne.u32 %p1, %r1, 2;\n  @!%p1 exit;\n  bar.sync 0;", "others of"),
    ],
)
def test_two_of_them_with_a_barrier_between(between: str, words: str, schedule: str) -> None:
    report = launch(TWICE.format(between=between) + STORE, ".maxnreg 168", schedule, 256)
    assert kinds(report) == (["setmaxnreg"] if words else [])
    assert all(words in finding.detail for finding in report.findings)


@each_schedule
def test_warps_that_are_no_warpgroup(schedule: str) -> None:
    body = "  setmaxnreg.dec.sync.aligned.u32 152;\n" + STORE
    assert launch(body, ".maxnreg 168", schedule, 256).findings == []
    (finding,) = launch(body, ".maxnreg 168", schedule, 192).findings
    assert finding.kind == "setmaxnreg" and "no warpgroup" in finding.detail and finding.warp in (4, 5)


@each_schedule
def test_a_lane_that_waits_before(schedule: str) -> None:
    # The rest of its warp is there first, and waits for it.
    body = f"""
  setp.eq.u32 %p1, %r0, 0;
  setp.eq.u32 %p2, %r0, 32;
  @%p1 mbarrier.init.shared::cta.b64 [buffer], 1;
  bar.sync 0;
  @%p2 mbarrier.arrive.shared::cta.b64 _, [buffer];
  @!%p1 bra E;
L:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [buffer], 0;
  @!%p3 bra L;
E:
  setmaxnreg.dec.sync.aligned.u32 152;
{STORE}"""
    assert launch(body, ".maxnreg 168", schedule, 128, 8).findings == []


SMALL = """
  setp.ge.u32 %p1, %r0, 128;
  @%p1 bra W;
  setmaxnreg.inc.sync.aligned.u32 176;
W:
  bar.sync 0;
"""


@each_schedule
def test_a_pool_that_is_too_small(schedule: str) -> None:
    (finding,) = launch(SMALL + STORE, ".maxnreg 168", schedule, 256).findings
    assert finding.kind == "setmaxnreg" and "0 are free" in finding.detail and "setmaxnreg" in finding.text
    enough = SMALL.replace("W:\n", "  bra E;\nW:\n  setmaxnreg.dec.sync.aligned.u32 160;\nE:\n")
    assert launch(enough + STORE, ".maxnreg 168", schedule, 256).findings == []


@each_schedule
def test_a_pool_that_is_enough_for_two_warps(schedule: str) -> None:
    # These wait for the other two, to multiply.
    body = """
  setp.ge.u32 %p1, %r0, 128;
  @%p1 bra W;
  setmaxnreg.inc.sync.aligned.u32 184;
  mov.b64 %rd2, 0;
  mov.b32 %f0, 0f00000000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f0, %f0, %f0}, %rd2, %rd2, 1, 1, 1, 0, 0;
W:
  setmaxnreg.dec.sync.aligned.u32 160;
"""
    (finding,) = launch(body, ".maxnreg 168", schedule, 256).findings
    assert finding.kind == "setmaxnreg" and "0 are free" in finding.detail
