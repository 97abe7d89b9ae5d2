"""setmaxnreg: warpgroups that give and take registers, and what it needs."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import kernel, kinds, run

SCHEDULES = ("together", "round-robin", "ahead", "random")
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
AT_ENTRY = ".maxntid 384, 1, 1\n.minnctapersm 1"


def launch(body: str, directives: str, schedule: str = "together") -> emulator.Report:
    out = np.zeros(384, np.uint32)
    text = kernel(body, 1, 0, "sm_90a").replace(")\n{", f")\n{directives}\n{{", 1)
    report = run(text, [out], 384, 1, schedule)
    if not report.findings:
        assert out.tolist() == list(range(384))
    return report


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("directives", [AT_ENTRY, ".maxnreg 168"])
def test_a_warpgroup_gives_registers_to_two(directives: str, schedule: str) -> None:
    assert launch(ROLES, directives, schedule).findings == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("change", "directives", "kind", "words"),
    [
        (("u32 232", "u32 232"), "", "setmaxnreg", "at entry"),
        (("u32 232", "u32 236"), AT_ENTRY, "setmaxnreg", "multiple of 8"),
        (("u32 40", "u32 16"), AT_ENTRY, "setmaxnreg", "24…256"),
        (("u32 232", "u32 160"), AT_ENTRY, "setmaxnreg", "fewer"),
        (("u32 40", "u32 176"), AT_ENTRY, "setmaxnreg", "more"),
        (("u32 40", "u32 48"), AT_ENTRY, "deadlock", "registers"),
        (("%r0, 128", "%r0, 96"), AT_ENTRY, "deadlock", "registers"),
        (("%r0, 128", "%r0, 160"), AT_ENTRY, "setmaxnreg", "different numbers"),
        (("%r0, 128", "%r0, 144"), AT_ENTRY, "setmaxnreg", "part of a warp"),
    ],
)
def test_what_it_needs(
    change: tuple[str, str], directives: str, kind: str, words: str, schedule: str
) -> None:
    report = launch(ROLES.replace(*change), directives, schedule)
    assert kind in kinds(report)
    assert any(words in finding.detail for finding in report.findings if finding.kind == kind)
