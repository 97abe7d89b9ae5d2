"""searchsorted, cummax and cummin, and medians: values and places as eager's."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.errors import UnsupportedOpError
from mlopt.test.python.beside_eager import assert_as_eager
from torch.export import Dim

pytestmark = pytest.mark.usefixtures("inference")

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def numbers(shape, dtype, share=0.03):
    """Many equals; of floats NaN and infinities, too."""
    x = torch.randint(-9 if dtype != torch.uint8 else 0, 10, shape)
    if not dtype.is_floating_point:
        return (x > 0 if dtype == torch.bool else x).to(dtype)
    x = x.to(dtype)
    for special in (float("nan"), float("inf"), -float("inf")):
        x[torch.rand(shape) < share] = special
    return x


SHAPES = (((7, 33), -1), ((3, 130, 2), 1), ((1,), 0), ((0, 3), 0), ((), 0))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8, torch.bool], ids=str)
def test_running_extremes(dtype):
    def function(*inputs):
        each = zip(inputs, SHAPES, strict=True)
        return [(*torch.cummax(x, dim), *torch.cummin(x, dim)) for x, (_, dim) in each]

    assert_as_eager(function, *(numbers(shape, dtype) for shape, _ in SHAPES))


def test_running_extremes_with_more_rows():
    compiled = mlopt.jit(
        lambda x: x.cummax(1), numbers((3, 65), torch.float32), dynamic_shapes=({0: Dim("n")},)
    )
    for rows in (1, 8, 50):
        x = numbers((rows, 65), torch.float32)
        torch.testing.assert_close(tuple(compiled(x)), tuple(x.cummax(1)), rtol=0, atol=0, equal_nan=True)


def test_running_extremes_of_any_number_are_refused():
    with pytest.raises(UnsupportedOpError, match=r"aten\.cummax"):
        mlopt.jit(lambda x: x.cummax(1), torch.randn(3, 65), dynamic_shapes=({1: Dim("n")},))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_searches(dtype):
    def function(several, x, *rows):
        found = [torch.searchsorted(each, x) for each in rows]
        found += [torch.searchsorted(each, x, right=True) for each in rows]
        return *found, torch.searchsorted(several, x[:3, :, None], side="right", out_int32=True)

    rows = [numbers((size,), dtype, 0.0).sort()[0] for size in (0, 1, 2, 7, 301)]
    assert_as_eager(function, numbers((3, 13, 19), dtype).sort(-1)[0], numbers((5, 13), dtype), *rows)


def test_searches_by_a_sorter():
    rows, x = torch.randn(4, 33), torch.randn(4, 7)
    assert_as_eager(lambda rows, x: torch.searchsorted(rows, x, sorter=rows.argsort(-1)), rows, x)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8], ids=str)
def test_medians(dtype):
    shapes = [(shape, dim) for shape, dim in SHAPES if 0 not in shape]

    def function(*inputs):
        each = zip(inputs, shapes, strict=True)
        return [(*x.median(dim, keepdim=True), x.median()) for x, (_, dim) in each]

    inputs = [numbers(shape, dtype, 0.005) for shape, _ in shapes]
    found = zip(mlopt.jit(function, *inputs)(*inputs), function(*inputs), inputs, shapes, strict=True)
    for (values, places, median), eager, x, (shape, dim) in found:
        torch.testing.assert_close((values, median), eager[::2], rtol=0, atol=0, equal_nan=True)
        taken = x.gather(dim, places) if shape else x
        torch.testing.assert_close(taken, values, rtol=0, atol=0, equal_nan=True)
        unknown = values != values
        assert places[unknown].equal(eager[1][unknown])


def test_for_a_gpu():
    def function(x, rows):
        return (*x.cummax(1), *x.cummin(0), torch.searchsorted(rows, x), x.median(1)[0])

    x, rows = numbers((5, 70), torch.float32), torch.randn(33).sort()[0]
    ours = mlopt.jit(function, x, rows, target="cuda:sm_80", device="emulator")(x, rows)
    torch.testing.assert_close(ours, function(x, rows), rtol=0, atol=0, equal_nan=True)
