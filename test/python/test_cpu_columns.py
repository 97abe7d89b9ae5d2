"""Columns that are summed on the CPU, around the edges of blocks and strips, on one thread and on several."""

from __future__ import annotations

from collections.abc import Callable

import mlopt
import pytest
import torch
from torch import Tensor

from .threads import on_any_number

Function = Callable[[Tensor], Tensor]
FUNCTIONS: dict[str, Function] = {
    "sum": lambda x: x.sum(0),
    "amax": lambda x: x.amax(0),
    "mean_of_squares": lambda x: (x * x).mean(0) + 1,
    "middle": lambda x: x.view(2, -1, x.shape[1]).sum(1),
    "leading_two": lambda x: x.view(2, -1, x.shape[1]).sum((0, 1)),
    "softmax": lambda x: x.softmax(0),
    "minus_mean": lambda x: x - x.mean(0),
    "normed": lambda x: (x - x.mean(0)) / (x.var(0, correction=0) + 1).sqrt(),
    "by_largest": lambda x: x - x.amax(0),
}


def check(function: Function, x: Tensor, tolerance: float) -> None:
    """Against float64, and the same bits on 1, 2 and 5 threads and again."""
    compiled = mlopt.jit(function, x)
    made = on_any_number(lambda: compiled(x))
    wanted = function(x.double() if x.is_floating_point() else x)
    assert made.dtype == function(x).dtype
    wide = made.to(wanted.dtype)
    torch.testing.assert_close(wide, wanted, rtol=tolerance, atol=tolerance * x.shape[0], equal_nan=True)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(62, 300), (64, 256), (66, 1025), (130, 65)], ids=str)
def test_edges(name: str, shape: tuple[int, int]) -> None:
    check(FUNCTIONS[name], torch.randn(shape), 1e-6)


@pytest.mark.parametrize("shape", [(31, 300), (32, 257), (33, 4100), (0, 300), (40, 0), (1, 300)], ids=str)
def test_few_rows_and_many_columns(shape: tuple[int, int]) -> None:
    check(FUNCTIONS["sum"], torch.randn(shape), 1e-6)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-14), (torch.float16, 2e-3), (torch.bfloat16, 2e-2), (torch.int32, 0.0)],
    ids=str,
)
def test_dtypes(dtype: torch.dtype, tolerance: float) -> None:
    x = torch.randint(-9, 9, (77, 650)).to(dtype)
    check(FUNCTIONS["sum"], x, tolerance)
    check(FUNCTIONS["amax"], x, tolerance)


def test_not_finite() -> None:
    x = torch.randn(50, 333)
    x[7, 0], x[48, 64], x[49, 332], x[0, 5], x[1, 5] = torch.nan, torch.inf, -torch.inf, torch.inf, -torch.inf
    check(FUNCTIONS["sum"], x, 1e-6)
    check(FUNCTIONS["amax"], x, 1e-6)


def test_long_columns_are_summed_as_exactly_as_by_eager() -> None:
    """Blocks of rows: the error does not grow with each row."""
    x = torch.rand(8000, 512)
    wanted = x.double().sum(0)
    error = (mlopt.jit(FUNCTIONS["sum"], x)(x) - wanted).abs().max() / wanted.max()
    assert error < 2e-6


def test_a_column_reaches_no_other() -> None:
    x = torch.randn(48, 777)
    y = x.clone()
    y[:, 500] = torch.nan
    compiled = mlopt.jit(FUNCTIONS["sum"], x)
    one, other = compiled(x), compiled(y)
    assert other[500].isnan()
    others = torch.arange(777) != 500
    assert torch.equal(one[others], other[others])
