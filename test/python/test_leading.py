"""The first few of long rows: those of a stable sort, whatever equals, infinities and NaN there are."""

import mlopt
import pytest
import torch
from mlopt.frontends.decomposing.leading import MOST, leading, should_take_leading
from torch.export import Dim

FLOATS = (torch.float64, torch.float32, torch.bfloat16)


def numbers(shape, dtype):
    """Many equals; rows of nothing but NaN, of infinities, and of both zeros."""
    if not dtype.is_floating_point:
        return torch.randint(-100, 100, shape).to(dtype)
    x = torch.randn(shape).mul(3).round()
    x[0, ::3], x[1], x[2, 1::2] = float("nan"), float("nan"), float("inf")
    x[3], x[4, ::2], x[4, 1::2] = -float("inf"), 0.0, -0.0
    x[5, :-2] = float("nan")
    return x.to(dtype)


def assert_same(found, wanted):
    """Values to the sign of zeros."""
    torch.testing.assert_close(found[1], wanted[1], rtol=0, atol=0)
    torch.testing.assert_close(found[0], wanted[0], rtol=0, atol=0, equal_nan=True)
    if found[0].is_floating_point():
        assert torch.equal(found[0].signbit() & (found[0] == 0), wanted[0].signbit() & (wanted[0] == 0))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [8, 9, 65, 1000])
def test_they_are_those_of_a_stable_sort(dtype, descending, size):
    x = numbers((7, size), dtype)
    wanted = torch.sort(x, dim=-1, stable=True, descending=descending)
    for most in (1, 2, MOST):
        assert_same(leading(x, most, descending), tuple(each[:, :most] for each in wanted))


def test_they_are_taken_where_few_of_many_are_wanted():
    assert should_take_leading(torch.empty(3, 64), 8)
    assert not should_take_leading(torch.empty(3, 63), 8)
    assert not should_take_leading(torch.empty(3, 1000), MOST + 1)
    assert not should_take_leading(torch.empty(3, 1000), 0)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_they_are_compiled(target):
    def function(x):
        return *x.topk(3), *x.kthvalue(2)

    x = numbers((7, 203), torch.float32)
    device = {} if target == "cpu" else {"device": "emulator"}
    found = mlopt.jit(function, x, target=target, **device)(x)
    for descending, (start, end), pair in ((True, (0, 3), found[:2]), (False, (1, 2), found[2:])):
        order = torch.sort(x, stable=True, descending=descending)
        wanted = [each[:, start:end] for each in order]
        assert_same([each.reshape(wanted[0].shape) for each in pair], wanted)


def test_rows_may_have_any_length():
    rows = Dim("rows", min=8, max=4096)
    compiled = mlopt.jit(lambda x: x.topk(2, 0), torch.randn(90, 7), dynamic_shapes=({0: rows},))
    for size in (8, 77, 1001):
        x = numbers((7, size), torch.float32).t()
        order = torch.sort(x, dim=0, stable=True, descending=True)
        assert_same(compiled(x), [each[:2] for each in order])
