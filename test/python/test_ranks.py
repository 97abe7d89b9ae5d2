"""Ranks of short rows, and the parts of long ones that can have the first few: the order of a stable sort."""

import mlopt
import pytest
import torch
from mlopt.frontends.decomposing.candidates import should_leave_parts
from mlopt.frontends.decomposing.ranks import order_of
from mlopt.frontends.decomposing.sorting import first
from mlopt.frontends.decomposing.target import for_target
from torch.export import Dim

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)


def numbers(rows, size, dtype):
    """Neighbours, limits of the dtype, many equals; of floats NaN, infinities and both zeros."""
    if dtype == torch.bool:
        return torch.rand(rows, size) < 0.5
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        some = torch.tensor([limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max])
        return some[torch.randint(len(some), (rows, size))].to(dtype)
    info = torch.finfo(dtype)
    least = torch.tensor(info.smallest_normal * info.eps, dtype=dtype)  # a denormal
    some = [torch.tensor(each, dtype=dtype) for each in (0.0, 1.0, -3.0, info.max, -info.max, 1e-3)]
    some += [torch.nextafter(each, torch.tensor(to, dtype=dtype)) for each in some for to in (-4.0, 4.0)]
    some += [least, -least, torch.tensor(-0.0, dtype=dtype)]
    some += [torch.tensor(each, dtype=dtype) for each in (float("inf"), -float("inf"), float("nan"))]
    some = torch.stack([*some, -some[-1]])
    x = some[torch.randint(len(some), (rows, size))]
    x[0], x[1] = float("nan"), torch.randn(size).to(dtype)
    return x


def assert_sorted(x, order, most, descending):
    wanted = torch.sort(x, dim=-1, stable=True, descending=descending)[1][..., :most]
    torch.testing.assert_close(order, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 2, 33, 300])
def test_they_are_those_of_a_stable_sort(target, dtype, descending, size):
    x = numbers(5, size, dtype)
    for most in {1, min(size, 40), size}:
        with for_target(target):
            assert_sorted(x, order_of(x, most, descending), most, descending)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    ("size", "most"), [(129, 9), (130, 16), (1000, 1), (1000, 3), (1000, 40), (1001, 125)]
)
def test_candidates_have_all_that_is_wanted(dtype, descending, size, most):
    x = numbers(4, size, dtype)
    assert should_leave_parts(x, most)
    with for_target("cpu"):
        values, order = first(x, most, descending)
    assert values.dtype == dtype
    assert_sorted(x, order, most, descending)
    torch.testing.assert_close(values, torch.gather(x, -1, order), rtol=0, atol=0, equal_nan=True)


def test_parts_are_left_out_where_few_of_many_are_wanted():
    assert not should_leave_parts(torch.empty(3, 128), 1)
    assert not should_leave_parts(torch.empty(3, 1000), 126)
    assert not should_leave_parts(torch.empty(3, 1000), 0)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32], ids=str)
def test_they_are_compiled(target, dtype):
    def function(x):
        return (
            *x.topk(11),
            *x.topk(9, largest=False),
            *x[:, :37].sort(stable=True),
            x[:, :37].argsort(-1, True),
        )

    x = numbers(7, 203, dtype)
    device = {} if target == "cpu" else {"device": "emulator"}
    found = mlopt.jit(function, x, target=target, **device)(x)
    assert_sorted(x, found[1], 11, True)
    assert_sorted(x, found[3], 9, False)
    assert_sorted(x[:, :37], found[5], 37, False)
    assert_sorted(x[:, :37], found[6], 37, True)
    for values, order in zip(found[:6:2], found[1:6:2], strict=True):
        torch.testing.assert_close(values, torch.gather(x, -1, order), rtol=0, atol=0, equal_nan=True)


def test_rows_may_have_any_length():
    size = Dim("size", min=2, max=400)
    compiled = mlopt.jit(lambda x: x.sort(stable=True), torch.randn(3, 90), dynamic_shapes=({1: size},))
    for length in (2, 77, 400):
        x = numbers(3, length, torch.float32)
        assert_sorted(x, compiled(x)[1], length, False)
