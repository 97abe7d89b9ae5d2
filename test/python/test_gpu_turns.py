"""Blocks that run several tasks, one after the other: what they keep is read once, and nothing races."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt.passes.gpu.take_turns import FEWEST_TURNS, blocks_along

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

RNG = np.random.default_rng(2026)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("rows", "columns", "blocks"), [(7, 77, 3), (8, 1024, 2), (3, 200, 3), (5, 96, 1)])
def test_norms(rows: int, columns: int, blocks: int) -> None:
    x, gain, bias = numbers(1, rows, columns), numbers(columns), numbers(columns)
    schedule = (
        f"tile = array<i64: 0, 1, 0, 0, 0, 0, 0, 0>, warps = array<i64: 4>, turns = array<i64: 0, {blocks}>"
    )
    text = kernels.layer_norm(1, rows, columns)
    kernel = gpu.compile_kernel(text, schedule=schedule)
    (result,) = gpu.run_kernel(kernel, [x, gain, bias, np.zeros_like(x)])
    assert kernel.launches[0][1] == blocks
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
    np.testing.assert_allclose(result, expected, 2e-5, 2e-5)


@pytest.mark.parametrize("shape", [(17, 100), (2, 64), (33, 36)])
@pytest.mark.parametrize("loop", [0, 1])
def test_sizes_that_are_not_known(shape: tuple[int, int], loop: int) -> None:
    x, bias = numbers(*shape), numbers(shape[1])
    body = "%x: f32, %b: f32, %o: f32 { %r = arith.addf %x, %b : f32\n linalg.yield %r : f32 }"
    kind, row = "tensor<?x?xf32>", "tensor<?xf32>"
    text = kernels.generic_kernel("bias", [kind, row, kind], "a,b -> a,b | b | a,b", "pp", body)
    schedule = f"tile = array<i64: 4, 32>, warps = array<i64: 2>, turns = array<i64: {loop}, 3>"
    kernel = gpu.compile_kernel(text, schedule=schedule)
    (result,) = gpu.run_kernel(kernel, [x, bias, np.zeros_like(x)])
    np.testing.assert_array_equal(result, x + bias)


@pytest.mark.parametrize("rows", [7, 2])
def test_totals_of_what_is_shared(rows: int) -> None:
    """Of rows that nobody knows; parts of a sum that are added up once for all of a block's."""
    x, parts = numbers(rows, 96), numbers(200)
    kernel = kernels.Kernel("share")
    whole, shared, out = (
        kernel.argument(kind) for kind in ("tensor<?x96xf32>", "tensor<200xf32>", "tensor<?x96xf32>")
    )
    add = "%x: f32, %s: f32 { %r = arith.addf %s, %x : f32\n linalg.yield %r : f32 }"
    total = kernel.generic("a -> a | ", "r", [shared], [kernel.fill("0.0", "tensor<f32>")], add)
    scale = "%x: f32, %t: f32, %o: f32 { %r = arith.mulf %x, %t : f32\n linalg.yield %r : f32 }"
    text = kernel.text(kernel.generic("a,b -> a,b | | a,b", "pp", [whole, total], [out], scale))
    schedule = "tile = array<i64: 1, 0, 0>, warps = array<i64: 4>, turns = array<i64: 0, 3>"
    built = gpu.compile_kernel(text, schedule=schedule)
    (result,) = gpu.run_kernel(built, [x, parts, np.zeros_like(x)])
    assert "nvvm.shfl" in built.threads
    assert "nvvm.shfl" not in built.threads.rpartition("scf.for")[2]
    np.testing.assert_allclose(result, x * parts.sum(dtype=np.float64), 1e-5, 1e-5)


@pytest.mark.parametrize("columns", [64, 100, 33])
@pytest.mark.parametrize(("kind", "dtype"), [("f16", np.float16), ("i8", np.int8)])
def test_small_elements_wait_in_words(kind: str, dtype: type, columns: int) -> None:
    """Elements of 2 bytes and of 1; of rows of 100 and 33 a thread has a part of a word, too."""
    x, bias = (RNG.integers(-100, 100, shape).astype(dtype) for shape in ((9, columns), (columns,)))
    op = "arith.addi" if dtype is np.int8 else "arith.addf"
    body = f"%x: {kind}, %b: {kind}, %o: {kind} {{ %r = {op} %x, %b : {kind}\n linalg.yield %r : {kind} }}"
    whole, row = f"tensor<9x{columns}x{kind}>", f"tensor<{columns}x{kind}>"
    text = kernels.generic_kernel("bias", [whole, row, whole], "a,b -> a,b | b | a,b", "pp", body)
    schedule = "tile = array<i64: 1, 0>, warps = array<i64: 1>, turns = array<i64: 0, 2>"
    kernel = gpu.compile_kernel(text, schedule=schedule)
    (result,) = gpu.run_kernel(kernel, [x, bias, np.zeros_like(x)])
    assert kernel.launches[0][1] == 2
    np.testing.assert_array_equal(result, x + bias)


def test_blocks_have_about_the_same_number_of_turns() -> None:
    assert blocks_along(16384, 1, 864) == 863  # of 19 turns
    assert blocks_along(1 << 20, 16, 864) == 54  # with 16 beside each
    assert blocks_along(None, 7, 864) == 123
    assert blocks_along(2000, 1, 864) is None  # two turns and a third: many would idle in the last
    for tasks, others in ((256, 220), (5000, 3), (100, 2000), (4001, 1)):
        blocks = blocks_along(tasks, others, 216)
        assert blocks is not None
        assert -(-tasks // blocks) >= FEWEST_TURNS
        waves = -(-blocks * others // 216)
        assert waves * -(-tasks // blocks) * 216 <= 1.25 * tasks * others
