"""Products of one left factor as one kernel: gated linear units, and heads that are stored apart."""

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.test.python.kernel_counts import TARGETS, kernels_of
from torch import nn

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 4e-2}


class Gated(nn.Module):
    """SwiGLU: one layer, two halves."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.both = nn.Linear(width, 2 * hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.both(x).chunk(2, -1)
        return F.silu(a) * b


class TwoWeights(nn.Module):
    """The same of two layers."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.gate(x)) * self.up(x)


class Heads(nn.Module):
    """Queries, keys and values of one layer, each with its heads side by side."""

    def __init__(self, heads: int, each: int, *, at_once: bool) -> None:
        super().__init__()
        self.heads, self.each, self.at_once = heads, each, at_once
        self.layer = nn.Linear(heads * each, 3 * heads * each)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        batch, rows, _ = x.shape
        y = self.layer(x)
        if self.at_once:
            parts = y.reshape(batch, rows, 3, self.heads, self.each).permute(2, 0, 3, 1, 4).unbind(0)
        else:
            parts = tuple(t.view(batch, rows, self.heads, self.each).transpose(1, 2) for t in y.chunk(3, -1))
        return tuple(part.contiguous() for part in parts)


class GroupedQueries(nn.Module):
    """Attention of more heads of queries than of keys and values."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.each = width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * self.each, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        layers = self.query, self.key, self.value
        q, k, v = (layer(x).unflatten(-1, (-1, self.each)).transpose(1, 2) for layer in layers)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def gates(x: torch.Tensor, w: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    i, f, g, o = (x @ w).chunk(4, -1)
    return (torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)) * torch.sigmoid(o)


def glu(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.glu(x @ w)


ODD = torch.randn(17, 33)
IMAGE = torch.randn(2, 17, 96)
Row = tuple[int, Callable[..., Any], tuple[torch.Tensor, ...]]

ROWS: dict[str, Row] = {
    "glu of a product": (1, glu, (ODD, torch.randn(33, 54))),
    "halves of a layer": (1, Gated(33, 64), (ODD,)),
    "halves of a layer of rows": (1, Gated(48, 64), (torch.randn(2, 7, 48),)),
    "halves of half floats": (1, Gated(48, 64).bfloat16(), (torch.randn(5, 48).bfloat16(),)),
    "a layer for each": (1, TwoWeights(33, 27), (ODD,)),
    "four gates": (1, gates, (ODD, torch.randn(33, 108), torch.randn(17, 27))),
    "heads of chunks": (1, Heads(3, 32, at_once=False), (IMAGE,)),
    "heads at once": (1, Heads(3, 32, at_once=True), (IMAGE,)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ROWS)
def test_kernels(name: str, target: str) -> None:
    most, module, inputs = ROWS[name]
    assert len(kernels_of(module, inputs, target)) == most


Refused = tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]

REFUSED: dict[str, Refused] = {
    "halves that are not packed": ("of 96 columns, no multiple of 64", Gated(33, 96), (ODD,)),
    "narrow heads": ("in parts of 16 columns", Heads(6, 16, at_once=True), (IMAGE,)),
    "columns in two parts": (
        "overlap",
        lambda x, w: (lambda y: y[:, 1:] - y[:, :-1])(x @ w),
        (ODD, torch.randn(33, 54)),
    ),
    "stored as well": (
        "return reads the product, too, as a whole",
        lambda x, w: (lambda y: (F.glu(y), y))(x @ w),
        (ODD, torch.randn(33, 54)),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_reasons(name: str) -> None:
    reason, module, inputs = REFUSED[name]
    with torch.no_grad():
        compiled = mlopt.jit(module, *inputs)
    assert reason in compiled.asm["kernels"].partition("func.func")[0]
    assert sum(each.calls for each in compiled.kernels if each.function == "main") == 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("sizes", [(1, 7, 5), (33, 70, 65)], ids=str)
def test_values(sizes: tuple[int, int, int], dtype: torch.dtype, target: str) -> None:
    rows, depth, columns = sizes
    x, w = torch.randn(rows, depth).to(dtype), torch.randn(depth, 2 * columns).to(dtype)
    compiled = mlopt.jit(glu, x, w, **TARGETS[target])
    a, b = (x.double() @ w.double()).chunk(2, -1)
    terms = (x.double().abs() @ w.double().abs()).chunk(2, -1)
    bound = CLOSE[dtype] * (terms[0] * b.abs() + terms[1] + 1)
    assert ((compiled(x, w).double() - a * torch.sigmoid(b)).abs() <= bound).all()


@pytest.mark.parametrize("target", TARGETS)
def test_not_numbers(target: str) -> None:
    """What is in one half of the columns, or in one row, stays there."""
    x, w = torch.randn(5, 7), torch.randn(7, 26)
    x[1, 3], x[3, 0], w[2, 4], w[3, 20] = torch.nan, torch.inf, torch.inf, -torch.inf
    compiled = mlopt.jit(glu, x, w, **TARGETS[target])
    torch.testing.assert_close(compiled(x, w), glu(x, w), rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
def test_unknown_rows(target: str) -> None:
    layer = Gated(33, 64).eval()
    rows = ({0: torch.export.Dim("rows", min=2)},)
    with torch.no_grad():
        compiled = mlopt.jit(layer, ODD, dynamic_shapes=rows, **TARGETS[target])
        assert sum(each.calls for each in compiled.kernels if each.function == "main") == 1
        for count in (2, 5, 130):
            x = torch.randn(count, 33)
            torch.testing.assert_close(compiled(x), layer(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("at_once", [False, True])
def test_heads(at_once: bool, target: str) -> None:
    layer = Heads(3, 32, at_once=at_once).eval()
    with torch.no_grad():
        results = mlopt.jit(layer, IMAGE, **TARGETS[target])(IMAGE)
        for result, expected in zip(results, layer(IMAGE), strict=True):
            assert result.stride() == expected.stride()
            torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_queries_are_wider_than_keys_and_values(target: str) -> None:
    names = kernels_of(GroupedQueries(64, 4, 2), (torch.randn(1, 33, 64),), target)
    assert len(names) == 2, names


def test_wide_queries_are_joined_on_cpus_that_would_read_their_weights_in_place() -> None:
    module, x = GroupedQueries(512, 8, 2).eval(), torch.randn(1, 130, 512)
    with torch.no_grad():
        compiled = mlopt.jit(module, x)
        assert sum(each.calls for each in compiled.report.kernels if each.function == "main") == 2
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)
