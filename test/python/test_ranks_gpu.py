"""Sorting by ranks on a GPU: a block holds a row's ranks and a part of the comparisons, in what it has."""

import mlopt
import pytest
import torch


@pytest.mark.parametrize("shape", [(64, 64), (9, 100), (33, 130)], ids=str)
@pytest.mark.parametrize("name", ["topk", "sort"])
def test_ranks_fit_a_block(name, shape):
    def function(x):
        return x.topk(5, -1) if name == "topk" else x.sort(-1)

    x = torch.randn(shape)
    x[0, 3], x[1, 5] = float("nan"), -float("inf")
    compiled = mlopt.jit(function, x, target="cuda:sm_80", device="emulator")
    for mine, wanted in zip(compiled(x), function(x), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=0, atol=0, equal_nan=True)
