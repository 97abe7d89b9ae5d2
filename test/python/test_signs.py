"""Signs, and the larger and smaller of two of which one may be NaN, beside eager."""

import pytest
import torch
from mlopt.test.python.beside_eager import assert_as_eager

NAN, INF = float("nan"), float("inf")
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.uint8]


def signs(x, y):
    return x.signbit(), x.copysign(y), x.copysign(-0.0), x.copysign(2), x.angle()


def larger(x, y):
    return torch.fmax(x, y), torch.fmin(x, y), torch.fmax(x, y[0]), torch.fmin(x[0], y), x.fmax(x[0, 0])


def pairs(values, dtype):
    """Each of ``values``, and random ones, with each of ``values``."""
    numbers = torch.tensor(values) if dtype.is_floating_point else torch.arange(-3, 4) * 20
    row, column = torch.cat([numbers, torch.randn(36) * 9]).to(dtype), numbers.to(dtype).unsqueeze(1)
    return row.expand(len(column), -1).contiguous(), column.expand(-1, len(row)).contiguous()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_signs(dtype):
    assert_as_eager(signs, *pairs([0.0, -0.0, 1.5, -2.5, INF, -INF], dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_larger(dtype):
    assert_as_eager(larger, *pairs([0.0, 1.5, -2.5, INF, -INF, NAN], dtype))


def test_of_two_dtypes():
    def function(x, y, z):
        return torch.fmax(x, y), torch.fmin(y, x), z.copysign(x), x.copysign(z), torch.fmax(z, x)

    assert_as_eager(function, torch.randn(9), torch.randn(9, dtype=torch.float64), torch.arange(-4, 5))


def test_angle_of_nan():
    assert_as_eager(lambda x: x.angle(), torch.tensor([NAN, -1.0, -0.0]))
