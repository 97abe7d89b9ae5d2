"""Kernels over rows (softmax, layer norm), in registers, steps and shared memory, compute what numpy computes."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels
from gpu_numbers import TOLERANCE, check, numbers, wide


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(wide(x) - wide(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("columns", [1, 7, 32, 77, 100, 1000, 1024, 5003])
def test_softmax(columns: int) -> None:
    x = numbers((5, columns)) * 3
    for schedule in (
        None,
        "tile = array<i64: 1, 0, 0, 0, 0>, warps = array<i64: 8>",
        "tile = array<i64: 4, 0, 0, 0, 0>, warps = array<i64: 4>",
    ):
        if columns > 1 and not (schedule and columns > 4000):
            check(kernels.softmax(5, columns), [x, np.zeros_like(x)], [softmax(x)], schedule=schedule)


@pytest.mark.parametrize("columns", [1000, 1024, 5003])
@pytest.mark.parametrize("elements", [1, 2])
def test_rows_in_steps(columns: int, elements: int) -> None:
    x, gain, bias = numbers((3, columns)), numbers((columns,)), numbers((columns,))
    kernel = gpu.compile_kernel(kernels.softmax(3, columns), elements=elements)
    assert "scf.for" in kernel.threads
    (result,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)])
    np.testing.assert_allclose(result, softmax(x), 4e-6, 4e-6)
    kernel = gpu.compile_kernel(kernels.layer_norm(1, 3, columns), elements=elements)
    (result,) = gpu.run_kernel(kernel, [x[None], gain, bias, np.zeros_like(x[None])])
    centred = wide(x) - wide(x).mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
    np.testing.assert_allclose(result[0], expected, 2e-5, 2e-5)


@pytest.mark.parametrize("columns", [1000, 1024])
def test_rows_in_steps_that_are_not_finite(columns: int) -> None:
    x = numbers((5, columns)) * 9
    x[0], x[1, -1], x[2, 5], x[3, :-1] = -np.inf, np.inf, np.nan, -np.inf
    kernel = gpu.compile_kernel(kernels.softmax(5, columns), elements=1)
    (result,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(result, softmax(x), 4e-6, 4e-6)


@pytest.mark.parametrize("element", ["bf16", "f16", "f64"])
@pytest.mark.parametrize("shift", [0, 2])
def test_rows_that_stay_in_shared_memory(element: str, shift: int) -> None:
    x = numbers((2, 1501), element)
    shift *= x.itemsize
    kernel = gpu.compile_kernel(kernels.softmax(2, 1501, element), elements=2)
    (result,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)], shift=shift)
    assert kernel.launches[0][3] >= 1501 * x.itemsize
    np.testing.assert_allclose(wide(result), softmax(x), TOLERANCE[element], TOLERANCE[element])


def test_rows_that_no_block_can_hold() -> None:
    x = numbers((2, 128256))
    kernel = check(kernels.softmax(2, 128256), [x, np.zeros_like(x)], [softmax(x)])
    assert "1x32768xf32" not in kernel.tile
    assert kernel.threads.count("scf.for") >= 3


def test_softmax_of_half_floats_and_of_any_number_of_rows() -> None:
    x = numbers((9, 100), "bf16")
    check(
        kernels.softmax(9, 100, "bf16"),
        [x, np.zeros_like(x)],
        [softmax(x)],
        TOLERANCE["bf16"],
    )
    x = numbers((9, 100))
    for rows in (1, 9):
        check(kernels.softmax("?", 100), [x[:rows], np.zeros_like(x[:rows])], [softmax(x[:rows])])


@pytest.mark.parametrize("columns", [48, 77, 1536, 3000])
def test_layer_norm(columns: int) -> None:
    x, gain, bias = numbers((2, 3, columns)), numbers((columns,)), numbers((columns,))
    centred = wide(x) - wide(x).mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
    check(kernels.layer_norm(2, 3, columns), [x, gain, bias, np.zeros_like(x)], [expected], 2e-5)
