"""Large tensors: results past the caches, what is asked for ahead, tasks from last to first; ragged sizes."""

from __future__ import annotations

import mlopt
import numpy as np
import pytest
import torch
from mlopt.passes.cpu.stream_stores import LARGE, LINE

CHAIN = """
func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %zero = arith.constant dense<0.0> : tensor<{rows}x{columns}xf32>
  %y = arith.maximumf %x, %zero : tensor<{rows}x{columns}xf32>
  return %y : tensor<{rows}x{columns}xf32>
}}"""


@pytest.mark.parametrize(("rows", "columns"), [(2048, 2048), (2049, 2051), (1, LARGE // 4 + 7), (4099, 1024)])
def test_arrays(rows: int, columns: int, rng: np.random.Generator) -> None:
    relu = mlopt.compile_mlir(CHAIN.format(rows=rows, columns=columns))
    assert "nontemporal" in relu.asm["loops"]
    x = rng.standard_normal((rows, columns), np.float32)
    result = relu(x)
    assert result.ctypes.data % LINE == 0 and result.flags.c_contiguous
    np.testing.assert_array_equal(result, np.maximum(x, 0))
    odd = np.empty(x.nbytes + 4, np.uint8)[4:].view(np.float32).reshape(x.shape)  # arguments need no line
    odd[...] = x
    np.testing.assert_array_equal(relu(odd), result)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_tensors(threads: int) -> None:
    x = torch.randn(2051, 2080)
    fast = mlopt.jit(lambda x: torch.sigmoid(x), x)
    assert "nontemporal" in fast.asm["loops"]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.testing.assert_close(fast(x), torch.sigmoid(x))
    finally:
        torch.set_num_threads(before)


def test_rows_that_are_asked_for_ahead() -> None:
    x = torch.randn(4099, 1024)
    fast = mlopt.jit(lambda x: torch.softmax(x, -1), x)
    assert "memref.prefetch" in fast.asm["loops"] and "nontemporal" in fast.asm["loops"]
    torch.testing.assert_close(fast(x), torch.softmax(x, -1))


@pytest.mark.parametrize(
    "shape", [(LARGE // 4,), (LARGE // 4 + 7,), (2051, 4096), (2049, 2051), (4, 1 << 20)]
)
def test_chains_that_ask_ahead(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    fast = mlopt.jit(lambda x: torch.relu(x) * 0.5, x)
    assert "memref.prefetch" in fast.asm["loops"] and "nontemporal" in fast.asm["loops"]
    assert torch.equal(fast(x), torch.relu(x) * 0.5)


@pytest.mark.parametrize("shape", [(2048, 2048), (2051, 2080), (257, 16411), (1, LARGE // 4 + 7)])
def test_tasks_from_last_to_first(shape: tuple[int, ...]) -> None:
    """The bits are the same for any number of threads, whose runs of tasks end where they may."""
    x = torch.rand(shape)
    fast = mlopt.jit(lambda x: x / x.abs().max(), x)
    assert fast.asm["loops"].count("arith.ceildivui") == 1  # the runs of the second kernel alone
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            assert torch.equal(fast(x), x / x.abs().max())
    finally:
        torch.set_num_threads(before)
