"""The most kernels that a call of well-known modules runs, and what they move; not counting @prepare's."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from mlopt.report import Report
from mlopt.test.corpus import DEMO
from mlopt.test.corpus.transformers import Gpt2Block
from mlopt.test.python.kernel_counts import TARGETS, calls_of, kernels_in
from torch import nn

X = torch.randn(64, 64)
W = torch.randn(64, 64)
B = torch.randn(64)
HEADS = torch.randn(2, 4, 32, 16)


class LinearGeluResidual(nn.Module):
    """gelu(linear(x)) + x"""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x)) + x


class BasicBlock(nn.Module):
    """ResNet's, without a change of size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(16, 16, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(16), nn.BatchNorm2d(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x))))) + x)


class Preactivated(nn.Module):
    """relu and a batch norm before their convolution, as in a DenseNet."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(6), nn.Conv2d(6, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(torch.relu(self.norm(x)))


def two_outputs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.relu(x) * 0.5
    return y + 1, y.tanh() * 2


def gelu_by_hand(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def reused(x: torch.Tensor) -> torch.Tensor:
    y = torch.exp(-x * x)
    return (y + x) * y - y / (1 + x.abs())


def negative_log_likelihood(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.nll_loss(F.log_softmax(x, -1), target, reduction="none")


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class Projections(nn.Module):
    """Attention among the rows of one tensor, with a weight each for queries, keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(64, 64) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = (each(x).view(2, 32, 4, 16).transpose(1, 2) for each in (self.query, self.key, self.value))
        return F.scaled_dot_product_attention(*parts)


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def repeated(x: torch.Tensor, times: int) -> torch.Tensor:
    batch, heads, rows, width = x.shape
    return x[:, :, None].expand(batch, heads, times, rows, width).reshape(batch, -1, rows, width)


def few_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, repeated(k, 2), repeated(v, 2))


Row = tuple[int, Callable[..., Any], tuple[torch.Tensor, ...]]

ROWS: dict[str, Row] = {
    "relu chain": (1, lambda x: torch.relu(x) * 0.5 + 1, (X,)),
    "sigmoid of affine": (1, lambda x, w, b: torch.sigmoid(torch.relu(x * w + b)), (X, W, B)),
    "tanh-gelu by hand": (1, gelu_by_hand, (X,)),
    "chain with reuse": (1, reused, (X,)),
    "two outputs": (1, two_outputs, (X,)),
    "softmax": (1, lambda x: x.softmax(-1), (X,)),
    "softmax of one element": (1, lambda x: x.softmax(-1), (torch.randn(64, 1),)),
    "layer_norm": (1, nn.LayerNorm(64), (X,)),
    "rms_norm": (1, nn.RMSNorm(64), (X,)),
    "divided by sums of rows": (1, lambda x: x / x.sum(-1, keepdim=True), (X,)),
    "divided by the sum": (2, lambda x: x / x.sum(), (torch.randn(512, 512),)),
    "of a transposed view": (1, lambda x: torch.relu(x.t()) + 1, (torch.randn(48, 32),)),
    "transposed and stored": (1, lambda x: (torch.relu(x) + 1).t().contiguous(), (torch.randn(48, 32),)),
    "merged heads and residual": (
        1,
        lambda x, r: x.transpose(1, 2).reshape(2, 32, 64) + r,
        (HEADS, torch.randn(2, 32, 64)),
    ),
    "merged heads of products": (
        1,
        lambda p, v: (p @ v).transpose(1, 2).reshape(2, 32, 64),
        (torch.randn(2, 4, 32, 32), HEADS),
    ),
    "transposed product": (1, lambda x, w: (x @ w).t().contiguous() + 1, (X, W)),
    "relu of affine": (1, lambda x, w, b: torch.relu(x @ w + b), (X, W, B)),
    "a weight that is an argument": (1, lambda x, w, b: F.gelu(F.linear(x, w, b)), (X, W, B)),
    "a gradient of a weight": (1, lambda x, y: x.t() @ y, (X, W)),
    "batches of rows with rows": (1, lambda q, k: q @ k.transpose(-1, -2), (HEADS, HEADS)),
    "heads of a product": (
        1,
        lambda x, w: F.gelu(x @ w).view(2, 7, 3, 32).transpose(1, 2).contiguous(),
        (torch.randn(14, 64), torch.randn(64, 96)),
    ),
    "a maximum with each batch's row": (
        1,
        lambda x, w, y: torch.maximum(x @ w, y),
        (torch.randn(2, 7, 64), torch.randn(64, 96), torch.randn(2, 1, 96)),
    ),
    "linear, gelu, residual": (1, LinearGeluResidual(), (X,)),
    "norm, linear, gelu, dropout": (
        2,
        nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 128), nn.GELU(), nn.Dropout()),
        (X,),
    ),
    "log_softmax and nll": (
        1,
        negative_log_likelihood,
        (torch.randn(4, 128_000), torch.randint(0, 128_000, (4,))),
    ),
    "cross_entropy": (2, F.cross_entropy, (torch.randn(8, 1000), torch.randint(0, 1000, (8,)))),
    "softmax of channels": (1, lambda x: x.softmax(1), (torch.randn(2, 64, 28, 28),)),
    "batch norm in training": (
        1,
        lambda x: F.batch_norm(x, None, None, training=True),
        (torch.randn(4, 64, 14, 14),),
    ),
    "variance of columns": (2, lambda x: x.var(0), (torch.randn(20000, 512),)),
    "mean and variance of all": (2, lambda x: (x.mean(), x.var()), (torch.randn(512, 512),)),
    "normalized by all": (3, lambda x: (x - x.mean()) / x.std(), (torch.randn(512, 512),)),
    "norm of all": (2, lambda x: x.norm(), (torch.randn(1 << 20),)),
    "argmax of all": (2, lambda x: x.argmax(), (torch.randn(512, 512),)),
    "largest number and its place": (2, lambda x: x.max(0), (torch.randn(1 << 18),)),
    "softmax of one long row": (3, lambda x: x.softmax(0), (torch.randn(1 << 20),)),
    "sum of a prime number": (2, lambda x: x.relu().sum(), (torch.randn(100003),)),
    "loss": (2, F.mse_loss, (torch.randn(512, 512), torch.randn(512, 512))),
    "masked attention": (1, attention, (HEADS, HEADS, HEADS, torch.randn(32, 32))),
    "projections and attention": (2, Projections(), (torch.randn(2, 32, 64),)),
    "rotary embedding": (1, rotary, (HEADS, torch.randn(32, 16), torch.randn(32, 16))),
    "rotary embedding of heads": (
        1,
        lambda x, cos, sin: rotary(x.view(2, 32, 4, 16).transpose(1, 2), cos, sin),
        (torch.randn(2, 32, 64), torch.randn(32, 16), torch.randn(32, 16)),
    ),
    "rotary embeddings of half floats": (
        1,
        lambda q, k, cos, sin: (rotary(q, cos, sin), rotary(k, cos, sin)),
        tuple(x.bfloat16() for x in (HEADS, HEADS[:, :2], *torch.randn(2, 32, 16))),
    ),
    "keys and values for two heads each": (1, few_keys, (HEADS, HEADS[:, :2], HEADS[:, 2:])),
    "a norm of a concat": (
        2,
        lambda x, y: F.layer_norm(torch.cat((x.relu(), y)), (64,)),
        (X, torch.randn(33, 64)),
    ),
    "concat and gelu": (1, lambda x, y: F.gelu(torch.cat((x.exp(), y * 2), -1)), (X, torch.randn(64, 33))),
    "pad": (1, lambda x: F.pad(x, (1, 2, 0, 3)), (X,)),
    "pad of exp, less one": (1, lambda x: F.pad(x.exp(), (1, 2)) - 1, (X,)),
    "softmax of a pad": (1, lambda x: F.pad(x * 2, (1, 2)).softmax(-1), (X,)),
    "written over in part": (1, lambda x, y: x.slice_scatter(y, 1, 3, 36) * 2, (X, torch.randn(64, 33))),
    "gelu of eight parts": (1, lambda x: F.gelu(torch.cat([x * i for i in range(8)], -1)), (X,)),
    "outputs side by side": (1, lambda x: (torch.relu(x), x * 2, x.sum(-1), x.amax(-1)), (X,)),
    "a scaled factor of few columns": (1, lambda x, w: (x * 0.5) @ w, (X, torch.randn(64, 8))),
    "GPT-2 block": (7, DEMO["gpt2_block"].module(), DEMO["gpt2_block"].inputs()),
    "GPT-2 block in bf16": (7, Gpt2Block(64, 4).bfloat16(), (torch.randn(1, 33, 64).bfloat16(),)),
    "relu and a pooling": (1, lambda x: F.max_pool2d(torch.relu(x), 3, 1, 1), (torch.randn(2, 6, 13, 17),)),
    "norm, relu and a convolution": (1, Preactivated(), (torch.randn(2, 6, 13, 17),)),
    "norm of groups of channels": (1, nn.GroupNorm(2, 6), (torch.randn(2, 6, 5, 7),)),
    "norm of groups of one image": (1, nn.GroupNorm(2, 6), (torch.randn(1, 6, 5, 7),)),
    "norm of groups of half floats": (
        1,
        nn.GroupNorm(2, 6).bfloat16(),
        (torch.randn(2, 6, 5, 7).bfloat16(),),
    ),
    "norm of groups, activated": (
        1,
        lambda x, w, b: F.silu(F.group_norm(x, 2, w, b)),
        (torch.randn(2, 6, 5, 7), torch.randn(6), torch.randn(6)),
    ),
    "norm of each image's channels": (1, nn.InstanceNorm2d(6, affine=True), (torch.randn(2, 6, 5, 7),)),
    "a convolution of what is cut off": (
        2,  # its weights, which are no parameter here, are packed
        lambda x, w: F.conv2d(torch.relu(x)[:, 1:, 1:-1, 2:-2], w),
        (torch.randn(2, 7, 13, 17), torch.randn(8, 6, 3, 3)),
    ),
    "ResNet basic block": (2, BasicBlock(), (torch.randn(1, 16, 14, 14),)),
}


MOVED = {
    row["module"]: row["mlopt"]
    for row in json.loads((Path(__file__).parents[2] / "bench/results/bytes_moved.json").read_text())["rows"]
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ROWS)
def test_kernels(name: str, target: str) -> None:
    most, module, inputs = ROWS[name]
    apart = tuple(each.clone() for each in inputs)  # one that is passed twice would be read once
    report = Report(kernels_in(module, apart, target))
    names = calls_of(report.kernels)
    assert len(names) <= most, names
    if target == "cpu" and name in MOVED:
        counted = {"kernels": len(names), "bytes": report.bytes}
        assert counted == MOVED[name], "python bench/bytes_moved.py --save"


def test_the_table_of_bytes_moved_has_all_rows() -> None:
    assert {*ROWS} - {*MOVED} == {"GPT-2 block"}  # there it is a larger one


def test_kernels_do_not_grow_with_layers() -> None:
    def calls(layers: int) -> Counter[str]:
        stack = nn.Sequential(*[Gpt2Block(16, 2) for _ in range(layers)])
        kernels = kernels_in(stack, (torch.randn(1, 5, 16),), "cpu")
        return Counter({each.name: each.calls for each in kernels})

    few, many = calls(2), calls(6)
    assert few.keys() == many.keys()
    assert many.total() > 2 * few.total()
