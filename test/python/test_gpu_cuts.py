"""Rows that are compared with themselves change hands before they are stretched; values are eager's."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt import emulator
from torch import Tensor


def ranks(x: Tensor) -> tuple[Tensor, Tensor]:
    """How many of its row come before each element; two comparisons share what is stretched."""
    row, column = x[:, None, :], x[:, :, None]
    number = torch.arange(x.shape[1])
    before = torch.where(number[:, None] > number, row <= column, ~(column <= row))
    after = torch.where(number[:, None] > number, row >= column, ~(column >= row))
    return before.sum(-1), after.sum(-1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
@pytest.mark.parametrize("columns", [64, 37])
def test_ranks_in_rows(columns: int, dtype: torch.dtype) -> None:
    x = torch.randint(-9, 9, (5, columns)).to(dtype)
    x[1, 3] = float("nan")
    with emulator.record() as launches:
        found = mlopt.jit(ranks, x, target="cuda:sm_80", device="emulator")(x)
    torch.testing.assert_close(found, ranks(x), rtol=0, atol=0)
    counters = [launch.counters for launch in launches if launch.counters is not None]
    assert columns != 64 or all(each.bank_conflicts == 0 for each in counters)
    assert max(each.shared_memory for each in counters) < columns * columns * x.element_size()
