"""mlopt.jit: strides, aliases, overlaps, small and empty tensors, slices."""

import mlopt
import pytest
import torch
from mlopt.errors import InputError
from mlopt.test.python.api_modules import Call, close
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x.t(),
        lambda x: x.view(2, 12),
        lambda x: x[1:, ::2],
        lambda x: x[:, :1].expand(4, 9),
        lambda x: (x, x, x + 1, x[0]),
        lambda x: (x + 1).t(),
        lambda x: x.unfold(1, 3, 1),
        lambda x: torch.empty_like(x.t()).fill_(2),
    ],
)
def test_outputs_are_fresh_and_have_eagers_strides(function):
    x = torch.randn(4, 6)
    compiled = mlopt.jit(Call(function), x)
    kept = x.clone()
    ours, eager = compiled(x), function(x)
    torch.testing.assert_close(ours, eager, check_stride=True)
    for out in ours if isinstance(ours, tuple) else (ours,):
        assert out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        if out.dim() < 3 and 0 not in out.stride():
            out.fill_(7)
    assert torch.equal(x, kept)
    torch.testing.assert_close(compiled(x), eager)


def test_memory_formats():
    module = nn.Conv2d(3, 8, 3, padding=1).eval()
    x = torch.randn(2, 3, 8, 8)
    compiled = mlopt.jit(module, x)
    close(compiled(x), module(x))
    channels_last = x.to(memory_format=torch.channels_last)
    close(compiled(channels_last), module(x))
    compiled = mlopt.jit(module, channels_last)
    assert compiled(channels_last).stride() == module(channels_last).stride()
    close(compiled(channels_last), module(x))


def test_inputs_that_overlap():
    compiled = mlopt.jit(Call(lambda x, y: x * y + x), torch.randn(8), torch.randn(8))
    base = torch.randn(9)
    for x, y in (
        (base[1:], base[:-1]),
        (base[1:], base[1:]),
        (base[:1].expand(8), base[1:]),
        (base[:8], base[:8]),
    ):
        close(compiled(x, y), x * y + x)
    strided = torch.randn(16)[::2]
    close(compiled(strided, strided), strided * strided + strided)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (1,), (1, 1, 1)])
def test_small_and_empty(shape):
    x = torch.randn(shape)
    compiled = mlopt.jit(Call(lambda x: x * 2 + 1), x)
    out = compiled(x)
    assert torch.equal(out, x * 2 + 1)
    assert out.stride() == (x * 2 + 1).stride()


def test_inputs_that_are_mutated():
    def step(state, x):
        state.add_(x)
        return state * 2

    compiled = mlopt.jit(Call(step), torch.zeros(4), torch.randn(4))
    state, x = torch.randn(4), torch.randn(4)
    expected = state + x
    close(compiled(state, x), expected * 2)
    close(state, expected)
    backing = torch.randn(8)
    expected = backing[::2] + x
    compiled(backing[::2], x)
    close(backing[::2], expected)
    with pytest.raises(InputError, match="shares memory"):
        compiled(state, state)


# Slices


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:6, :5] * 2,
        lambda x: x[:6, :5].reshape(-1) * 2,
        lambda x: x[:6, :8] + x[:6, 1:9],
        lambda x: x[1:, :4][:3, 2:].t() - 1,
        lambda x: torch.cat([x[:3, :5], x[4:6, :5]]).relu(),
        lambda x: x[:6, :5] @ x[:5, :4],
        lambda x: x[:6, :5].softmax(-1) + x[2:8, 3:8].sum(-1, keepdim=True),
        lambda x: x.t()[:5, :6].t()[:4, :3].exp(),
        lambda x: x[:, ::2].sum(-1),
        lambda x: x[1::3, ::2].softmax(-1),
    ],
)
def test_slices_of_several_dimensions(function):
    x = torch.randn(8, 9)
    close(mlopt.jit(Call(function), x)(x), function(x))


def test_diagonals_take_the_slow_path():
    x = torch.randn(5, 5)
    compiled = mlopt.jit(lambda x: (x.diagonal().sum(), x.diag(), torch.einsum("ii->i", x) * 2), x)
    close(compiled(x), (x.trace(), x.diag(), x.diag() * 2))
    assert "a diagonal is read" in str(compiled.report)
