"""Copies in bulk and by tensor maps compute what numpy computes, in each schedule, without findings."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.snippets import Placed, each_schedule

FOLDER = Path(__file__).parent / "cuda"
RNG = np.random.default_rng(90)
NAMES = {np.dtype(np.float16): "f16", np.dtype(np.float32): "f32", np.dtype(np.int32): "s32"}


@cache
def text() -> str:
    return (FOLDER / "tma.ptx").read_text()


class Arrays(Placed):
    """Arrays in the memory of a device, and tensor maps of them."""

    def __init__(self) -> None:
        super().__init__(text())

    def map(self, array: np.ndarray, address: np.uint64, box: tuple[int, ...], **more) -> bytes:
        """The map of a whole array; dimensions and the box are given from the outermost inwards."""
        strides = array.strides[:-1][::-1]
        return tensor_maps.tiled(
            NAMES[array.dtype], int(address), array.shape[::-1], strides, box[::-1], **more
        )

    def launch(self, name: str, grid, block: int, arguments, schedule: str, **more) -> emulator.Report:
        options = emulator.Options(schedule=schedule, seed=5)
        return self.kernels.launch(name, grid, block, arguments, options=options, **more)


@each_schedule
@pytest.mark.parametrize(("rows", "columns"), [(64, 64), (100, 136)])
def test_a_swizzled_tile_there_and_back(rows: int, columns: int, schedule: str) -> None:
    x, arrays = RNG.standard_normal((rows, columns)).astype(np.float16), Arrays()
    y = np.zeros_like(x)
    here, there = arrays.put(x), arrays.put(y)
    maps = [arrays.map(x, at, (64, 64), swizzle="128B") for at in (here, there)]
    with emulator.record(trace=True) as reports:
        report = arrays.launch("twice", (-(-columns // 64), -(-rows // 64)), 128, maps, schedule)
    arrays.get(there, y)
    np.testing.assert_array_equal(y, x + x)
    counters = report.counters
    assert counters.dram_read == counters.dram_written == x.nbytes
    assert reports[0].trace.asked_again() == 1


@each_schedule
def test_a_pipeline_of_tiles(schedule: str) -> None:
    x, arrays = RNG.standard_normal((128, 7 * 32)).astype(np.float32), Arrays()
    y = np.zeros(128, np.float32)
    there = arrays.put(y)
    box = arrays.map(x, arrays.put(x), (64, 32), swizzle="128B")
    arguments = [box, np.uint64(there), 7]
    report = arrays.launch("rows", 2, 96, arguments, schedule, dynamic_smem=3 * 64 * 128 + 64)
    arrays.get(there, y)
    np.testing.assert_allclose(y, x.sum(1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    reads = [line for line in report.counters.lines if line.text.startswith("ld.shared.v4")]
    assert reads and all(line.conflicts == 0 for line in reads)


@each_schedule
def test_a_multicast(schedule: str) -> None:
    x, arrays = RNG.standard_normal((64, 32)).astype(np.float32), Arrays()
    y = np.zeros((4, 32, 32), np.float32)
    there = arrays.put(y)
    box = arrays.map(x, arrays.put(x), (16, 32))
    arrays.launch("shared_by_two", 4, 256, [box, np.uint64(there)], schedule)
    arrays.get(there, y)
    np.testing.assert_array_equal(y, np.stack([x[:32], x[:32], x[32:], x[32:]]))


@each_schedule
def test_copies_without_a_map(schedule: str) -> None:
    x = RNG.integers(-99, 99, (5, 256)).astype(np.float32)
    y = RNG.integers(-99, 99, 256).astype(np.float32)
    expected = y + 2 * x.sum(0)
    Arrays().launch("plain", 5, 256, [x, y], schedule)
    np.testing.assert_array_equal(y, expected)


@each_schedule
def test_from_block_to_block(schedule: str) -> None:
    y = np.zeros((8, 64), np.int32)
    Arrays().launch("passes_on", 8, 64, [y], schedule)
    for block in range(8):
        np.testing.assert_array_equal(y[block], (block - 1) % 4 * 100 + np.arange(64))


def test_pixels_of_a_filter() -> None:
    # A filter of 3 by 3 over a padded image: N, H, W, C are 3, 5, 7, 16. 32 pixels from (w, h, n) on.
    x, arrays = RNG.standard_normal((3, 5, 7, 16)).astype(np.float16), Arrays()
    y = np.zeros((9, 32, 16), np.float16)
    address, there = arrays.put(x), arrays.put(y)
    strides = x.strides[:-1][::-1]
    box = tensor_maps.im2col("f16", address, x.shape[::-1], strides, (-1, -1), (-1, -1), 16, 32)
    w, h, n = 2, 1, 0
    arrays.launch("filter", 9, 64, [box, np.uint64(there), w, h, n], "together")
    arrays.get(there, y)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    pixels = list(itertools.product(range(3), range(-1, 4), range(-1, 6)))
    start = pixels.index((n, h, w))
    for r, s in itertools.product(range(3), range(3)):
        expected = [padded[b, v + r + 1, u + s + 1] for b, v, u in pixels[start : start + 32]]
        np.testing.assert_array_equal(y[3 * r + s], expected)
