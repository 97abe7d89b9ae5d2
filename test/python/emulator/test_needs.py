"""The .target and .version that instructions need: a text with less is refused, one with as much is not."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import kernel

# A line, and the least target and version with which ptxas takes it.
LINES = [
    ("wgmma.fence.sync.aligned", "sm_90a", "8.0"),
    ("wgmma.commit_group.sync.aligned", "sm_90a", "8.0"),
    ("setmaxnreg.dec.sync.aligned.u32 40", "sm_90a", "8.0"),
    ("tensormap.replace.tile.rank.global.b1024.b32 [%rd0], 1", "sm_90a", "8.3"),
    ("fence.proxy.tensormap::generic.release.gpu", "sm_90", "8.3"),
    ("cp.async.bulk.global.shared::cta.bulk_group [%rd0], [buffer], 16", "sm_90", "8.0"),
    ("cp.async.bulk.commit_group", "sm_90", "8.0"),
    ("cp.async.bulk.prefetch.L2.global [%rd0], 16", "sm_90", "8.0"),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [buffer], 16", "sm_90", "8.0"),
    (
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buffer], [%rd0], 16, [buffer]",
        "sm_90",
        "8.6",
    ),
    ("mbarrier.arrive.expect_tx.shared.b64 %rd1, [buffer], 16", "sm_90", "8.0"),
    ("mbarrier.arrive.shared.b64 %rd1, [buffer], 2", "sm_90", "7.8"),
    ("mbarrier.try_wait.shared.b64 %p1, [buffer], %rd0", "sm_90", "7.8"),
    ("mbarrier.test_wait.relaxed.cta.shared.b64 %p1, [buffer], %rd0", "sm_90", "8.6"),
    ("mbarrier.test_wait.acquire.cta.shared.b64 %p1, [buffer], %rd0", "sm_80", "8.0"),
    ("mapa.u64 %rd1, %rd0, 0", "sm_90", "7.8"),
    ("barrier.cluster.arrive", "sm_90", "7.8"),
    ("barrier.cluster.arrive.release", "sm_90", "8.0"),
    ("ld.shared::cluster.u32 %r1, [buffer]", "sm_90", "7.8"),
    ("atom.relaxed.cluster.global.add.u32 %r1, [%rd0], 1", "sm_90", "7.8"),
    ("fence.acq_rel.cluster", "sm_90", "7.8"),
    ("fence.proxy.async", "sm_90", "8.0"),
    ("fence.mbarrier_init.release.cluster", "sm_90", "8.0"),
    ("fence.acquire.sync_restrict::shared::cluster.cluster", "sm_90", "8.6"),
    ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [buffer], %r0, [buffer]", "sm_90", "8.1"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [buffer], {%r0}", "sm_90", "7.8"),
    ("elect.sync %r1|%p1, -1", "sm_90", "8.0"),
    ("griddepcontrol.wait", "sm_90", "7.8"),
    ("prefetch.tensormap [%rd0]", "sm_90", "8.0"),
    ("mov.u32 %r1, %cluster_ctarank", "sm_90", "7.8"),
    ("mov.u32 %r1, %aggr_smem_size", "sm_90", "8.1"),
    ("add.bf16 %h1, %h1, %h1", "sm_90", "7.8"),
    ("cvt.rn.bf16.s32 %h1, %r0", "sm_90", "7.8"),
    ("cvt.rn.tf32.f32 %r1, %f1", "sm_90", "7.8"),
    ("red.global.v2.f32.add [%rd0], {%f1, %f1}", "sm_90", "8.1"),
    ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1", "sm_89", "7.8"),
    ("cvt.rn.bf16.f32 %h1, %f1", "sm_80", "7.8"),
    ("cvt.f32.bf16 %f1, %h1", "sm_80", "7.8"),
    ("fma.rn.bf16 %h1, %h1, %h1, %h1", "sm_80", "7.8"),
]
TARGETS = ("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a")
VERSIONS = ("7.8", "8.0", "8.1", "8.3", "8.6", "9.0")


def refused(line: str, target: str, version: str) -> str:
    """Why the line cannot be run in a text for a target, of a version; empty if it can."""
    text = kernel(f"  {line};\n", 1, 64, target).replace(".version 9.0", f".version {version}")
    kernels = emulator.load(text)
    try:
        kernels.loaded.program("k")
    except emulator.EmulatorError as error:
        assert "PTX line" in str(error) and "remedy" in str(error)
        return str(error)
    return ""


@pytest.mark.parametrize(("line", "least", "oldest"), LINES, ids=[line.split()[0] for line, *_ in LINES])
def test_what_a_line_needs(line: str, least: str, oldest: str) -> None:
    for target in TARGETS:
        found = refused(line, target, "9.0")
        enough = TARGETS.index(target) >= TARGETS.index(least) and (
            target != "sm_100a" or "wgmma" not in line
        )
        assert not found if enough else f"needs .target {least}" in found and target in found, target
    for version in VERSIONS:
        found = refused(line, "sm_90a", version)
        assert not found if version >= oldest else f"needs .version {oldest}" in found and version in found


def test_a_launch_says_so() -> None:
    with pytest.raises(emulator.EmulatorError, match=r"needs \.target sm_90a"):
        emulator.load(kernel("  wgmma.fence.sync.aligned;\n", 1, 0, "sm_90")).launch(
            "k", 1, 128, [np.zeros(1, np.uint32)]
        )
