"""Launches of the products in cuda/wgmma.cu."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from mlopt import emulator
from mlopt.runtime.emulator import formats
from mlopt.test.python.emulator.snippets import Placed

FOLDER = Path(__file__).parent / "cuda"
RNG = np.random.default_rng(128)


class Arrays(Placed):
    """Arrays in the memory of a device, and tensor maps of them, swizzled by 128 bytes."""

    def __init__(self) -> None:
        super().__init__((FOLDER / "wgmma.ptx").read_text())

    def map(self, kind: str, array: np.ndarray, rows: int) -> bytes:
        """The map of an array, for boxes of so many rows of 128 bytes."""
        size = array.dtype.itemsize
        box = (128 // size, rows)
        address, strides = int(self.put(array)), array.strides[:1]
        return emulator.tiled(kind, address, array.shape[::-1], strides, box, swizzle="128B")

    def launch(self, name: str, grid, block: int, arguments: list, schedule: str, **more) -> emulator.Report:
        options = emulator.Options(schedule=schedule, seed=9)
        return self.kernels.launch(name, grid, block, arguments, options=options, **more)


def drawn(kind: str, *shape: int) -> np.ndarray:
    """Random numbers of a format, in its bits."""
    return formats.narrow(RNG.standard_normal(shape), kind)


def product(
    a: np.ndarray, b: np.ndarray, blocks: int, schedule: str = "together"
) -> tuple[np.ndarray, emulator.Report]:
    """``a b^T`` of bf16 by the kernel of tiles of 128 by 256 whose warpgroups share the work."""
    (m, k), n = a.shape, len(b)
    c, arrays = np.zeros((m, n), np.uint16), Arrays()
    maps = [arrays.map("bf16", *pair) for pair in ((a, 128), (b, 256))]
    there = arrays.put(c)
    maps.append(emulator.tiled("bf16", int(there), (n, m), (2 * n,), (64, 64), swizzle="128B"))
    shared = 3 * (128 + 256) * 128 + 128 * 256 * 2 + 48
    arguments = [*maps, n // 256, m // 128 * (n // 256), k // 64]
    report = arrays.launch("gemm", blocks, 384, arguments, schedule, dynamic_smem=shared)
    arrays.device.read(int(there), c)
    return c, report
