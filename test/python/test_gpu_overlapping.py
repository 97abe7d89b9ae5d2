"""Windows that overlap along memory: what threads have from the lanes beside is what they would load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mlopt
import pytest
import torch
from mlir import ir
from mlopt.compiled import Compiled
from mlopt.dialects.context import make_context
from mlopt.passes.gpu.layouts.linear import Linear, linear_of
from torch import Tensor
from torch.nn import functional as F

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64]


@dataclass(frozen=True)
class Windows:
    """Windows, and an image whose rows threads share, or not."""

    shape: tuple[int, ...]
    window: int | tuple[int, int]
    step: int | tuple[int, int]
    pad: int | tuple[int, int]


CASES = [
    Windows((2, 3, 64, 64), 3, 2, 1),
    Windows((1, 2, 33, 56), 3, 1, 1),  # lanes without a part of a row
    Windows((1, 3, 57, 8), 3, 1, 1),  # rows of one or two parts
    Windows((1, 1, 14, 272), 3, 2, 1),  # rows of several warps
    Windows((1, 2, 7, 300), 3, 1, 1),
    Windows((3, 1, 28, 112), 4, 2, 1),
    Windows((1, 2, 20, 96), (2, 4), (1, 2), (0, 1)),
    Windows((1, 2, 20, 96), (3, 4), 1, (1, 2)),
    Windows((1, 2, 13, 30), 3, 1, 1),  # rows that begin anywhere: nothing is exchanged
]


def compiled(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, Compiled]:
    """The result of a call on the emulator, and what ran."""
    made = mlopt.jit(function, *inputs, target="cuda:sm_80", device="emulator")
    return made(*inputs), made


def exchanges(made: Compiled) -> bool:
    """Whether lanes have elements from those beside."""
    return "shfl.sync.up" in made.asm["ptx"] or "shfl.sync.down" in made.asm["ptx"]


def numbers(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """With all that a maximum may meet."""
    if not dtype.is_floating_point:
        return torch.randint(-128, 128, shape).to(dtype)
    x = torch.randn(shape).to(dtype)
    x.view(-1)[::97] = float("nan")
    x.view(-1)[1::11] = -0.0
    x.view(-1)[5::13] = float("-inf")
    return x


@pytest.mark.parametrize(
    ("case", "dtype"),
    [(case, dtype) for case in CASES for dtype in (torch.float32, torch.float16)]
    + [(CASES[at], dtype) for at in (0, 6) for dtype in (*FLOATS[::3], *INTEGERS)],
    ids=str,
)
def test_maxima(case: Windows, dtype: torch.dtype) -> None:
    x = numbers(case.shape, dtype)
    want = F.max_pool2d(x, case.window, case.step, case.pad)
    found, made = compiled(lambda x: F.max_pool2d(x, case.window, case.step, case.pad), x)
    torch.testing.assert_close(found, want, rtol=0, atol=0, equal_nan=True)
    assert made.report.gpu is not None
    assert [kernel.spills for kernel in made.report.gpu.kernels] == [0] * len(made.report.gpu.kernels)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", [CASES[0], CASES[6]], ids=str)
def test_means(case: Windows, dtype: torch.dtype) -> None:
    x = torch.randn(case.shape).to(dtype)
    want = F.avg_pool2d(x.double(), case.window, case.step, case.pad)
    found, _ = compiled(lambda x: F.avg_pool2d(x, case.window, case.step, case.pad), x)
    close = {torch.float64: 1e-12, torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(found.double(), want, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_elements_come_from_beside(case: Windows, dtype: torch.dtype) -> None:
    """So that the cases above are what they say."""
    _, made = compiled(
        lambda x: F.max_pool2d(x, case.window, case.step, case.pad), numbers(case.shape, dtype)
    )
    whole = case.shape[-1] * dtype.itemsize % 16 == 0
    assert exchanges(made) == whole


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_buffers_that_are_not_aligned(case: Windows, dtype: torch.dtype) -> None:
    flat = numbers((1 + torch.Size(case.shape).numel(),), dtype)
    x = flat[1:].view(case.shape)
    found, _ = compiled(lambda x: F.max_pool2d(x, case.window, case.step, case.pad), x)
    want = F.max_pool2d(x, case.window, case.step, case.pad)
    torch.testing.assert_close(found, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_threads_beyond_the_tile_load_nothing(dtype: torch.dtype) -> None:
    """At the end of a row that is not there, neither."""
    x = numbers((1, 3, 5, 28), dtype)
    found, _ = compiled(lambda x: F.max_pool2d(x, 2, (2, 1), (1, 0), 2), x)
    torch.testing.assert_close(found, F.max_pool2d(x, 2, (2, 1), (1, 0), 2), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("width", [16, 128, 260])
def test_what_is_fused(width: int) -> None:
    x, w, causal = torch.randn(2, 6, width), torch.randn(6, 1, 3), torch.randn(6, 1, 4)
    for function in (
        lambda x, w: F.conv1d(x, w, padding=1, groups=6),
        lambda x, w: F.conv1d(x.relu(), w, padding=1, groups=6) + x,
        lambda x, w: F.max_pool1d(x, 3, 1, 1) * w[:, 0, :1] - x,
    ):
        found, made = compiled(function, x, w)
        torch.testing.assert_close(found, function(x, w), rtol=1e-5, atol=1e-5)
        assert exchanges(made)
    found, made = compiled(lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=6), x, causal)
    torch.testing.assert_close(found, F.conv1d(F.pad(x, (3, 0)), causal, groups=6), rtol=1e-5, atol=1e-5)
    assert exchanges(made)


def test_numbers_in_places() -> None:
    """Divisions of numbers that are known are numbers; of others they are values of their own."""
    text = """func.func @f(%i: index, %k: index) -> (index, index) {
      %row = affine.apply affine_map<(d0, d1) -> (d0 * 2 + (d1 + 1) floordiv 2 - 1)>(%i, %k)
      %odd = affine.apply affine_map<(d0) -> ((d0 + 1) mod 2)>(%k)
      return %row, %odd : index, index
    }"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        (i, k), (row, odd) = block.arguments, block.operations[2].operands
        assert linear_of(row, {k: 2}) == Linear(0, {i: 2})
        assert linear_of(row, {k: 0, i: 3}) == Linear(5)
        assert [linear_of(odd, {k: at}) for at in range(3)] == [Linear(1), Linear(0), Linear(1)]
        assert linear_of(odd) == Linear(0, {odd: 1})
