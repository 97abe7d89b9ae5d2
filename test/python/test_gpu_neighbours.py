"""Threads of neighbouring tasks: wide accesses, backwards and of every other element, change no value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from mlopt.passes.gpu.layouts.linear import Linear
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels


def interleave(x: Tensor, y: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * y - odd, odd * y + even], -1).flatten(-2)


def run(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, str]:
    compiled = mlopt.jit(function, *inputs, target="cuda:sm_80", device="emulator")
    return compiled(*inputs), compiled.asm["ptx"]


def numbers(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape).to(dtype)
    x = torch.randn(shape).to(dtype)
    x.view(-1)[::7] = float("nan")
    x.view(-1)[1::11] = -0.0
    return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.bool])
@pytest.mark.parametrize("shape", [(64, 64), (7, 33), (32, 66), (1, 1), (0, 8)])
def test_flips(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = torch.rand(shape) < 0.5 if dtype == torch.bool else numbers(shape, dtype)
    found, _ = run(lambda x: x.flip(-1), x)
    torch.testing.assert_close(found, x.flip(-1), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("dtype", "access"), [(torch.float32, "v4.b32"), (torch.bfloat16, "v4.b32"), (torch.float64, "v2.b64")]
)
def test_flips_are_wide(dtype: torch.dtype, access: str) -> None:
    found, ptx = run(lambda x: x.flip(-1), x := numbers((64, 64), dtype))
    torch.testing.assert_close(found, x.flip(-1), rtol=0, atol=0, equal_nan=True)
    aligned = next(part for part in ptx.split(".entry ")[1:] if "_unaligned(" not in part)
    assert access in aligned


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("shape", [(4, 16, 64), (3, 5, 14), (2, 8, 32), (1, 1, 2)])
def test_pairs(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    x, y = numbers(shape, dtype), numbers((shape[1], shape[2] // 2), dtype)
    found, _ = run(interleave, x, y)
    close = {torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float64: 1e-12}[dtype]
    torch.testing.assert_close(found, interleave(x, y), rtol=close, atol=close, equal_nan=True)


@pytest.mark.parametrize("shift", [0, 4, 8])
def test_buffers_that_are_not_aligned(shift: int) -> None:
    body = """%o: f32 {
      %last = arith.constant 63 : index
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %at = arith.subi %last, %j : index
      %x = tensor.extract %a0[%i, %at] : tensor<16x64xf32>
      linalg.yield %x : f32 }"""
    made = kernels.Kernel("flip")
    made.argument("tensor<16x64xf32>")
    out = made.argument("tensor<16x64xf32>")
    text = made.text(made.generic("d0,d1 -> d0,d1", "pp", [], [out], body))
    kernel = gpu.compile_kernel(text)
    x = np.random.default_rng(5).standard_normal((16, 64)).astype(np.float32)
    (found,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)], shift=shift)
    np.testing.assert_array_equal(found, x[:, ::-1])


def _row(x: Tensor, rows: Tensor) -> Tensor:
    return torch.take_along_dim(x, rows[:1, None].expand(-1, x.shape[1]) % 8, 0)


@pytest.mark.parametrize(("dtype", "access"), [(torch.float64, "v2.b64"), (torch.bfloat16, "v4.b32")])
@pytest.mark.parametrize("columns", [1024, 33])
def test_a_row_that_one_index_says(columns: int, dtype: torch.dtype, access: str) -> None:
    """All of a thread's tasks have the one index: they read neighbours."""
    x, rows = numbers((8, columns), dtype), torch.tensor([13, 2])
    found, ptx = run(_row, x, rows)
    torch.testing.assert_close(found, _row(x, rows), rtol=0, atol=0, equal_nan=True)
    assert (f"ld.global.nc.{access}" in ptx) == (columns == 1024)


def test_a_row_that_there_is_not() -> None:
    x = numbers((8, 256), torch.float32)
    function = mlopt.jit(lambda x, i: x.gather(0, i.expand(1, 256)), x, torch.tensor([[3]]),
                         target="cuda:sm_80", device="emulator")  # fmt: skip
    torch.testing.assert_close(function(x, torch.tensor([[3]])), x[3:4], rtol=0, atol=0, equal_nan=True)
    with pytest.raises(IndexError):
        function(x, torch.tensor([[8]]))


def test_sums_of_places() -> None:
    one, none = Linear(3, {}), Linear()
    assert one.plus(one, -1) == none
    assert none.plus(one, 4) == Linear(12)
