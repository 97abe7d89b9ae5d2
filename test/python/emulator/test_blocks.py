"""Races between the blocks of a grid, in kernels that nvcc has compiled: found in every order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import kinds

KERNELS = emulator.load((Path(__file__).parent / "cuda" / "blocks.ptx").read_text())
BLOCKS, THREADS = 8, 64
COUNT = BLOCKS * THREADS

pytestmark = [
    pytest.mark.parametrize("schedule", ["together", "round-robin", "ahead", "random"]),
    pytest.mark.parametrize("lanes", [16384, 128]),  # of all blocks at once, or of two
]


def launch(schedule: str, lanes: int, name: str, *arguments: object) -> emulator.Report:
    """Run a kernel; findings do not raise."""
    options = emulator.Options(schedule=schedule, lanes=lanes, seed=3)
    report = KERNELS.launch(name, BLOCKS, THREADS, arguments, check=False, options=options)
    for finding in report.findings:
        assert finding.line and finding.block is not None and finding.lane is not None
        assert finding.space == "global" and finding.address is not None
        assert finding.location is not None and finding.location.file == "blocks.cu"
    return report


@pytest.mark.parametrize("kind", ["fixed", "without_fence", "without_atomic"])
def test_partial_sums_are_handed_over(schedule: str, lanes: int, kind: str) -> None:
    x = np.arange(COUNT, dtype=np.float32)
    out = np.zeros(1, np.float32)
    more = np.zeros(BLOCKS, np.float32), np.zeros(1, np.uint32)
    report = launch(schedule, lanes, f"handover_{kind}", out, x, *more)
    assert kinds(report) == ([] if kind == "fixed" else ["race"])
    if kind != "without_atomic":
        assert out[0] == x.sum()


@pytest.mark.parametrize("kind", ["fixed", "without_fence"])
def test_a_lock(schedule: str, lanes: int, kind: str) -> None:
    total = np.zeros(1, np.float32)
    report = launch(schedule, lanes, f"lock_{kind}", np.zeros(1, np.int32), total)
    assert kinds(report) == ([] if kind == "fixed" else ["race"])
    assert total[0] == BLOCKS * (BLOCKS + 1) / 2


@pytest.mark.parametrize("in_place", [False, True])
def test_neighbours_that_still_read(schedule: str, lanes: int, in_place: bool) -> None:
    x = np.arange(COUNT, dtype=np.float32)
    y = x if in_place else np.zeros_like(x)
    assert kinds(launch(schedule, lanes, "stencil", y, x, COUNT)) == (["race"] if in_place else [])


@pytest.mark.parametrize("stride", [THREADS, THREADS - 1])
def test_blocks_that_overlap(schedule: str, lanes: int, stride: int) -> None:
    report = launch(schedule, lanes, "fill", np.zeros(COUNT, np.float32), COUNT, stride)
    assert kinds(report) == ([] if stride == THREADS else ["race"])
