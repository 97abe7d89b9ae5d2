"""Products whose factors TMA copies, as they are called: dynamic sizes, alignment, which maps are made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import mlopt
import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.cuda import emulated

sys.path.insert(0, str(Path(__file__).parent))
from gpu_dynamic_products import COLUMNS, PRODUCT


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, ...]]]:
    """The sizes of which the driver's part makes maps, from the innermost on."""
    sizes: list[tuple[int, ...]] = []

    def tiled(kind: str, address: int, dims: list[int], *others: list[int], **modes: str) -> bytes:
        sizes.append(tuple(dims))
        return emulator.tiled(kind, address, dims, *others, **modes)

    monkeypatch.setattr(emulated, "tiled", tiled)
    yield sizes


def test_maps_are_of_what_the_call_gives(made: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    call = mlopt.compile_mlir(PRODUCT, target="cuda:sm_90a", device="emulator")
    assert "cp.async.bulk.tensor.2d" in call.asm["ptx"]

    def check(a: np.ndarray, b: np.ndarray) -> None:
        one, other = a.astype(np.float64), b.astype(np.float64).T
        bound = (a.shape[1] + 2) * np.finfo(np.float32).eps * (np.abs(one) @ np.abs(other))
        assert (np.abs(call(a, b) - one @ other) <= bound).all()

    def drawn(rows: int, depth: int) -> np.ndarray:
        return rng.standard_normal((rows, depth)).astype(np.float16)

    for rows, depth, times in ((70, 40, 1), (1, 64, 3)):
        a, b = drawn(rows, depth), drawn(COLUMNS, depth)
        for _ in range(times):
            check(a, b)
        assert sorted(made) == [(depth, rows), (depth, COLUMNS)]  # once, however often they are used
        made.clear()
    # Rows that are no multiple of 16 bytes, buffers that begin elsewhere, no elements: the kernel's twin.
    check(drawn(2, 33), drawn(COLUMNS, 33))
    check(drawn(1, 33)[:, 1:], drawn(COLUMNS, 32))
    check(drawn(3, 0), drawn(COLUMNS, 0))
    assert not made
