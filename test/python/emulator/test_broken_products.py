"""A product by wgmma that nvcc compiled, with one thing changed: each is found. As it is, it is clean."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import formats
from mlopt.test.python.emulator.hopper import Arrays, drawn
from mlopt.test.python.emulator.snippets import kinds

M, N, K, STEPS = 128, 256, 320, 5
SHARED = 3 * (128 + 256) * 128 + 128 * 256 * 2 + 48


@cache
def text() -> str:
    """The PTX of the kernel alone: one warpgroup loads stages, two multiply."""
    whole = (Path(__file__).parent / "cuda" / "wgmma.ptx").read_text()
    start, end = whole.index(".visible .entry gemm("), whole.index(".visible .entry gemm_of_two(")
    return whole[: whole.index(".visible .entry")] + whole[start:end]


def launch(changed: str, swizzle: str = "128B") -> list[str]:
    """The kinds of what is found."""
    device = emulator.Device()
    maps = []
    for rows, columns, box in ((M, K, 128), (N, K, 256), (M, N, 64)):
        address = device.alloc(2 * rows * columns, "array")
        device.write(address, np.ones(rows * columns, np.float16))
        mode = swizzle if box != 64 else "128B"
        maps.append(emulator.tiled("bf16", address, (columns, rows), (2 * columns,), (64, box), swizzle=mode))
    return kinds(
        device.load(changed).launch("gemm", 1, 384, [*maps, 1, 1, STEPS], dynamic_smem=SHARED, check=False)
    )


WAIT = "mbarrier.try_wait.parity.shared::cta.b64 p, [%r130], %r381;"
CHANGES = {
    "the first of two warpgroups frees a stage": (
        "mov.u32 \t%r70, 2;",
        "mov.u32 \t%r70, 1;",
        "mbarrier-phase",
    ),
    "stages are freed a step early": (
        "wait_group.sync.aligned 1;",
        "wait_group.sync.aligned 2;",
        "async-write",
    ),
    "a stage is not waited for": (WAIT, "setp.eq.u32 p, %r130, %r130;", "async-read"),
    "nothing is committed": ("wgmma.commit_group.sync.aligned;", "", "wgmma-register"),
    "the last is not waited for": ("wgmma.wait_group.sync.aligned 0;", "", "wgmma-register"),
    "registers without a fence": ("wgmma.fence.sync.aligned;", "", "wgmma-fence"),
    "a tile that is stored without a fence": ("fence.proxy.async.shared::cta;", "", "proxy-fence"),
    "another swizzle in the descriptors": ("4611686293305360384", "9223372311732748288", "swizzle"),
    "a descriptor of a row further": ("4611686293305360384", "4611686293305360392", "descriptor"),
    "warps that go by themselves": ("shr.s32 \t%r55, %r54, 7;", "shr.s32 \t%r55, %r1, 6;", "warpgroup"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found(name: str) -> None:
    before, after, kind = CHANGES[name]
    assert before in text()
    assert kind in launch(text().replace(before, after, 1))


def test_maps_without_a_swizzle() -> None:
    """Their boxes have 64 of 320 columns."""
    assert launch(text(), "none") == ["swizzle"]


def test_what_was_swizzled_in_global_memory_already() -> None:
    """Boxes that lie together there are copied as they are: nothing says in which order that is."""
    a, b, c = drawn("bf16", M, 64), drawn("bf16", N, 64), np.zeros((M, N), np.uint16)
    row, unit = np.ix_(np.arange(N) % 8, np.arange(8))
    arrays, maps = Arrays(), []
    for x in (a, b):
        units = x.reshape(len(x), 8, 8)
        moved = np.take_along_axis(units, (unit ^ row)[: len(x), :, None], 1).reshape(x.shape)
        maps.append(emulator.tiled("bf16", int(arrays.put(moved)), (64, len(x)), (128,), (64, len(x))))
    there = int(arrays.put(c))
    maps.append(emulator.tiled("bf16", there, (N, M), (2 * N,), (64, 64), swizzle="128B"))
    report = arrays.launch("gemm", 1, 384, [*maps, 1, 1, 1], "together", dynamic_smem=SHARED)
    assert report.findings == []
    arrays.device.read(there, c)
    wide = [formats.widen(each, "bf16") for each in (a, b, c)]
    np.testing.assert_allclose(wide[2], wide[0] @ wide[1].T, rtol=2.0**-8, atol=1e-3)


def test_it_is_clean() -> None:
    assert launch(text()) == []
