"""Tiles on the CPU that are kept while a reduction runs over them, and read again in other places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
from torch import Tensor

from .threads import on_any_number


def twice(x: Tensor) -> Tensor:
    """The reduction has run when the second part is written."""
    y = x.softmax(-1)
    return torch.cat([y, y], -1)


def both_ways(x: Tensor) -> tuple[Tensor, ...]:
    """A row's sum is made with lanes along the row, and with lanes along the sums."""
    e = x.exp()
    sums = e.sum(1)
    return e / sums[:, None], sums, e.square().sum(0)


@pytest.mark.parametrize(
    ("function", "shape"),
    [(twice, (2,)), (twice, (100,)), (twice, (5, 17)), (both_ways, (2, 2)), (both_ways, (3, 3))],
)
def test_same_as_eager(function: Callable[[Tensor], Any], shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    compiled = mlopt.jit(function, x)
    assert [kernel.path for kernel in compiled.kernels] == ["tile"]
    made = on_any_number(lambda: compiled(x))
    torch.testing.assert_close(made, function(x), rtol=1e-5, atol=1e-6)
