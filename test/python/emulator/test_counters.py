"""Counters against what the patterns of accesses must give."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.test.python.emulator.snippets import kernel, run


@pytest.mark.parametrize(
    ("step", "offset", "sectors"),
    [(4, 0, 4), (4, 4, 5), (8, 0, 8), (32, 0, 32), (128, 0, 32), (0, 0, 1), (-4, 124, 4)],
)
def test_sectors(step: int, offset: int, sectors: int) -> None:
    body = (
        f"  cvt.s64.s32 %rd3, %r0;\n  mul.lo.s64 %rd3, %rd3, {step};\n  add.s64 %rd3, %rd3, %rd0;\n"
        f"  ld.global.f32 %f1, [%rd3+{offset}];\n"
    )
    counters = run(kernel(body, 1), [np.zeros(2000, np.float32)], 32).counters
    assert (counters.global_requests, counters.global_sectors) == (1, sectors)
    assert counters.dram_read == 32 * sectors
    assert counters.bytes == {"global": 128}


@pytest.mark.parametrize(("kind", "sectors"), [("v2.f32 {%f1, %f2}", 8), ("v4.f32 {%f1, %f2, %f3, %f4}", 16)])
def test_sectors_of_vectors(kind: str, sectors: int) -> None:
    size = 4 * int(kind[1])
    body = f"  mul.wide.u32 %rd3, %r0, {size};\n  add.s64 %rd3, %rd3, %rd0;\n  ld.global.{kind}, [%rd3];\n"
    counters = run(kernel(body, 1), [np.zeros(256, np.float32)], 64).counters
    assert (counters.global_requests, counters.global_sectors) == (2, 2 * sectors)


@pytest.mark.parametrize(
    ("size", "step", "passes", "least"),
    [
        (4, 4, 1, 1),
        (4, 8, 2, 1),
        (4, 12, 1, 1),
        (4, 128, 32, 1),
        (4, 132, 1, 1),
        (4, 0, 1, 1),
        (2, 2, 1, 1),
        (8, 8, 2, 2),
        (8, 16, 4, 2),
        (16, 16, 4, 4),
        (16, 144, 4, 4),
        (16, 128, 32, 4),
    ],
)
def test_bank_conflicts(size: int, step: int, passes: int, least: int) -> None:
    kinds = {2: "u16 %h1", 4: "u32 %r1", 8: "v2.u32 {%r1, %r2}", 16: "v4.u32 {%r1, %r2, %r3, %r4}"}
    body = f"  mov.u32 %r5, buffer;\n  mad.lo.u32 %r6, %r0, {step}, %r5;\n  ld.shared.{kinds[size]}, [%r6];\n"
    counters = run(kernel(body, 1, 5000), [np.zeros(1, np.float32)], 32).counters
    assert counters.shared_wavefronts == passes
    assert counters.bank_conflicts == passes - least


def test_instructions_and_operations() -> None:
    body = (
        "  mov.f32 %f1, 0f3F800000;\n  fma.rn.f32 %f2, %f1, %f1, %f1;\n  setp.lt.u32 %p1, %r0, 10;\n"
        "  @%p1 add.f32 %f2, %f2, %f1;\n  mov.b32 %r1, 0;\n  mul.f16x2 %r2, %r1, %r1;\n"
    )
    counters = run(kernel(body, 1), [np.zeros(1, np.float32)], 64, 3).counters
    assert counters.flops == {"f32": 3 * (64 * 2 + 10), "f16": 3 * 64 * 2}
    assert counters.instructions["compare"] == 3 * 2
    line = next(line for line in counters.lines if "add.f32" in line.text)
    assert (line.warps, line.threads) == (6, 30)


@pytest.mark.parametrize(
    ("block", "shared", "registers", "blocks", "by"),
    [
        (32, 0, 0, 32, "blocks"),
        (256, 0, 0, 8, "warps"),
        (256, 40000, 0, 4, "shared memory"),
        (256, 0, 64, 4, "registers"),
        (128, 0, 168, 3, "registers"),
        (128, 80_000, 32, 2, "shared memory"),
        (1024, 0, 0, 2, "warps"),
    ],
)
def test_occupancy(block: int, shared: int, registers: int, blocks: int, by: str) -> None:
    options = emulator.Options(registers=registers)
    kernels = emulator.load(kernel("  bar.sync 0;\n", 1, target="sm_80"))
    report = kernels.launch("k", 1, block, [np.zeros(1, np.float32)], shared, options=options)
    assert (report.counters.blocks_per_processor, report.counters.limited_by) == (blocks, by)
    assert report.counters.occupancy == blocks * block / 2048


def test_roofline() -> None:
    body = "  add.s64 %rd3, %rd0, %rd31;\n  ld.global.f32 %f1, [%rd3];\n"
    counters = run(kernel(body, 1, target="sm_80"), [np.zeros(1024, np.float32)], 1024).counters
    assert counters.roofline == {"memory": pytest.approx(4096 / 2.039e12)}
    assert counters.time == counters.roofline["memory"]
