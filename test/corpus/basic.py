"""Small modules: element-wise chains, norms, reductions, shapes, integers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


class Mlp(nn.Module):
    """Linear layers with an activation between them."""

    def __init__(self, widths: tuple[int, ...], activation: nn.Module, bias: bool = True) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b, bias) for a, b in pairwise(widths))
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


class Recurrent(nn.Module):
    """Some steps of an LSTM cell."""

    def __init__(self, inputs: int, width: int, steps: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(inputs, width)
        self.steps = steps

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        for step in range(self.steps):
            h, c = self.cell(x[:, step], (h, c))
        return h, c


class EmbeddingSum(nn.Module):
    """Token plus position embedding, normalized."""

    def __init__(self, vocabulary: int, length: int, width: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.norm(self.tokens(tokens) + self.positions.weight[: tokens.shape[1]])


class Counter(nn.Module):
    """Changes a buffer in place in each call, and returns a view of its input."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(width))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.total.add_(x.sum(0))
        return x * self.total, x[1:]


def relu_scale(x: Tensor) -> Tensor:
    return torch.relu(x) * 0.5 + 1


def gelu_by_hand(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def sigmoid_layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.sigmoid(torch.relu(x @ w + b))


def normalize_by_sum(x: Tensor) -> Tensor:
    return x / x.sum()


def activations(x: Tensor) -> tuple[Tensor, ...]:
    smooth = (torch.sigmoid(x), torch.tanh(x), F.silu(x), F.gelu(x), F.softplus(x), F.mish(x), F.elu(x))
    return (*smooth, F.leaky_relu(x, 0.1), F.hardswish(x), F.hardtanh(x), F.relu6(x), F.logsigmoid(x))


def transcendental(x: Tensor) -> tuple[Tensor, ...]:
    positive = x.abs() + 0.5
    roots = (positive.sqrt(), positive.rsqrt(), positive.reciprocal(), positive.log(), positive.log1p())
    return (*roots, x.exp(), x.expm1(), x.sin(), x.cos(), x.erf(), positive.pow(1.3), x.floor(), x.round())


def compare_and_select(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    chosen = torch.where(x > y, x, y * 2)
    flags = (x >= 0.1) & ~(y == x) | (y < -0.1)
    return (
        chosen,
        flags,
        torch.maximum(x, y),
        torch.minimum(x, y),
        x.clamp(-0.5, 0.7),
        chosen.masked_fill(flags, 3.0),
    )


def reductions(x: Tensor) -> tuple[Tensor, ...]:
    sums = (x.sum(1), x.mean((0, 2)), x.sum(), x.amax(1), x.amin((1, 2)), x.max(), x.prod(2))
    return (*sums, x.var(2), x.std(0), torch.linalg.vector_norm(x, dim=1), x.logsumexp(1))


def arg_reductions(x: Tensor) -> tuple[Tensor, ...]:
    largest, where = x.max(1)
    return x.argmax(1), x.argmin(0), x.argmax(), largest, where


def log_softmax_loss(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    return x.log_softmax(-1), F.cross_entropy(x, target)


def shapes(x: Tensor) -> tuple[Tensor, ...]:
    moved = x.transpose(0, 1).reshape(x.shape[1], -1)
    return (
        moved,
        x.permute(2, 0, 1).contiguous() + 1,
        x[:, 1:, ::2],
        x.flip(1),
        x.unsqueeze(1).expand(-1, 2, -1, -1),
    )


def concat_and_pad(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    both = torch.cat([x, y * 2, x], 1)
    stacked = torch.stack([x[:, :3], y[:, :3]], -1)
    return (
        both,
        stacked,
        F.pad(x, (1, 2, 0, 1), value=0.5),
        F.pad(y, (2, 1), mode="reflect"),
        torch.roll(x, 1, 1),
    )


def integers(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    exact = (x + y, x - y, x * y, -x, x.abs(), torch.maximum(x, y), x // y, x % y)
    return (
        *exact,
        torch.div(x, y, rounding_mode="trunc"),
        x.fmod(y),
        x.sum(1),
        x.amax(0),
        x.argmax(1),
        x / y,
    )


def bits(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x & y, x | y, x ^ y, ~x, x << (y & 3), x >> (y & 3)


def booleans(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (
        x & y,
        x | y,
        x ^ y,
        ~x,
        x.any(1),
        y.all(0),
        x.sum(),
        torch.where(x, 1.5, y.float()),
        x == y,
        x.int() * 3,
    )


def casts(x: Tensor) -> tuple[Tensor, ...]:
    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64)
    return (*(x.to(kind) for kind in kinds), x.to(torch.bool), x.to(torch.int8))


def cumulative(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.cumsum(1), x.cumsum(0)


def indexing(x: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
    gathered = x.gather(1, rows[:, None] % x.shape[1])
    return (
        x[rows],
        x.index_select(0, rows),
        gathered,
        torch.take_along_dim(x, rows[:1, None].expand(-1, x.shape[1]), 0),
    )


def scatter(x: Tensor, rows: Tensor, values: Tensor) -> tuple[Tensor, ...]:
    return x.index_copy(0, rows, values), torch.index_put(x, (rows,), values, accumulate=True)


def sorting(x: Tensor) -> tuple[Tensor, ...]:
    values, where = x.topk(3, 1)
    return values, where, x.sort(1).values


def triangles(x: Tensor) -> tuple[Tensor, ...]:
    return x.tril(), x.triu(1), torch.eye(x.shape[0], x.shape[1], dtype=x.dtype) + x, torch.ones_like(x) * 2


def einsums(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return torch.einsum("bij,bjk->bik", x, y), torch.einsum("bij,bjk->k", x, y)


def matmuls(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (
        x @ y,
        x.t() @ x,
        x[0] @ y,
        x @ y[:, 0],
        torch.addmm(x[:, :1], x, y, beta=0.5, alpha=2),
        (x @ y).t(),
    )
