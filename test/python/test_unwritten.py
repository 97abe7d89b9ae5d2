"""Tensors of torch.empty that are written in part, in place: beside eager, in each dtype."""

import mlopt
import pytest
import torch
from torch.export import Dim

pytestmark = pytest.mark.usefixtures("inference")

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)


def columns(x):
    out = torch.empty(x.shape[0], x.shape[1] + 1, dtype=x.dtype)
    out[:, 0] = 1
    out[:, 1:] = x
    return out


def of_a_shape(x):
    out = torch.empty_like(x)
    out[:, 0].fill_(1)
    out[:, 1:].copy_(x[:, 1:])
    return out


def turned(x):
    out = x.new_empty((x.shape[0], x.shape[1] + 1))
    out.select(-1, 0).fill_(1)
    out[:, 1:].copy_(x)
    return torch.flip(out, [-1])


def in_turns(x):
    out = torch.empty(x.shape[0], 2 * x.shape[1], dtype=x.dtype)
    out[:, 0::2] = x
    out[:, 1::2] = x.flip(1)
    return out


def rows(x):
    out = torch.empty(5, x.shape[1], dtype=x.dtype)
    out[torch.arange(5).flip(0)] = x[[0, 2, 1, 3, 0]]
    return out


FUNCTIONS = (columns, of_a_shape, turned, in_turns, rows)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_they_are_as_in_eager(function, dtype):
    x = torch.randint(0, 2, (7, 4)).to(dtype)
    compiled = mlopt.jit(function, x)
    y = torch.randint(0, 2, (7, 4)).to(dtype)
    torch.testing.assert_close(compiled(y), function(y), rtol=0, atol=0)


def test_of_any_size():
    compiled = mlopt.jit(columns, torch.randn(7, 4), dynamic_shapes=({0: Dim("rows")},))
    for size in (1, 3, 40):
        x = torch.randn(size, 4)
        assert compiled(x).equal(columns(x))


def test_for_a_gpu():
    x = torch.randn(7, 4)
    assert mlopt.jit(columns, x, target="cuda:sm_80", device="emulator")(x).equal(columns(x))


def test_by_torch_compile():
    x = torch.randn(7, 4)
    assert torch.compile(columns, backend="mlopt", options={"fallback": False})(x).equal(columns(x))


def test_written_as_a_whole():
    x = torch.randn(7, 4)
    filled, copied = mlopt.jit(lambda x: (torch.empty_like(x).fill_(3), x.new_empty(7, 4).copy_(x)), x)(x)
    assert (filled == 3).all()
    assert copied.equal(x)


def test_what_is_written_first_needs_no_zeros():
    """Two slices make all of it: no kernel fills the buffer before."""
    compiled = mlopt.jit(in_turns, torch.randn(7, 4))
    assert not any("fill" in kernel.ops for kernel in compiled.kernels)
