"""Products on tensor cores, on the emulator: types, transposes, sizes around each edge of an instruction."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import compile_kernel
from gpu_products import check, product


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8"])
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (64, 64, 64),
        (130, 72, 40),
        (16, 8, 16),
        (17, 9, 33),
        (1, 70, 33),
        (7, 1, 19),
        (5, 9, 1),
        (100, 36, 100),
    ],
)
def test_edges(kind: str, m: int, n: int, k: int, rng: np.random.Generator) -> None:
    check(m, n, k, kind, left=False, right=False, rng=rng)


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("size", [(64, 96, 32), (37, 43, 21)])
def test_transposes(
    kind: str, left: bool, right: bool, size: tuple[int, int, int], rng: np.random.Generator
) -> None:
    check(*size, kind, left, right, rng)


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8"])
def test_instruction(kind: str) -> None:
    """The PTX has the instruction, and no multiply-add of scalars."""
    kernel = compile_kernel(product(64, 64, 64, kind))
    assert "mma.sync.aligned.m16n8k" in kernel.ptx
    assert "fma.rn" not in kernel.ptx
