"""Sorting: by ranks, of which a GPU's block holds a row's and a part of the comparisons; by merging parts."""

import mlopt
import pytest
import torch
from mlopt.frontends.decomposing import sorting


@pytest.mark.parametrize("shape", [(64, 64), (9, 100), (5, 512)], ids=str)
@pytest.mark.parametrize("name", ["topk", "sort"])
def test_ranks_fit_a_block(name, shape):
    def function(x):
        return x.topk(9, -1) if name == "topk" else x.sort(-1)

    x = torch.randn(shape)
    x[0, 3], x[1, 5] = float("nan"), -float("inf")
    compiled = mlopt.jit(function, x, target="cuda:sm_80", device="emulator")
    for mine, wanted in zip(compiled(x), function(x), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=0, atol=0, equal_nan=True)


def numbers(shape, dtype):
    if not dtype.is_floating_point:
        return torch.randint(0, 100, shape).to(dtype)
    x = (50 * torch.randn(shape)).round().to(dtype)
    for number, value in enumerate((float("nan"), float("inf"), -float("inf"), -0.0, 0.0, float("nan"))):
        x[-1, 7 * number] = value
    return x


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool], ids=str
)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [513, 700, 1024, 2100])
def test_merged_parts_are_in_the_stable_order(dtype, descending, size, monkeypatch):
    monkeypatch.setattr(sorting, "LIMIT", 0)
    x = numbers((3, size), dtype)
    wanted = torch.sort(x, dim=-1, stable=True, descending=descending)
    for most in (9, 50, 300, size):
        values, order = sorting.first(x, most, descending)
        assert order.dtype == torch.int64 and values.dtype == dtype
        torch.testing.assert_close(order, wanted.indices[:, :most], rtol=0, atol=0)
        torch.testing.assert_close(values, wanted.values[:, :most], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_rows_too_long_for_ranks(target):
    def function(x):
        return (*torch.sort(x, dim=0, stable=True, descending=True), *x.topk(9, 0, largest=False))

    x = numbers((2, 1500), torch.float32).t().contiguous()
    device = {} if target == "cpu" else {"device": "emulator"}
    found, wanted = mlopt.jit(function, x, target=target, **device)(x), function(x)
    for number in (0, 1, 2):
        torch.testing.assert_close(found[number], wanted[number], rtol=0, atol=0, equal_nan=True)
    # Where eager's topk says that equal elements were, nobody knows.
    torch.testing.assert_close(x.gather(0, found[3]), wanted[2], rtol=0, atol=0)
