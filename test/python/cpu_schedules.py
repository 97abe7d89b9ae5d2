"""A module for each schedule of a CPU, and inputs: sizes that no tile divides, work for several threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .api_modules import Call


@dataclass(frozen=True)
class Schedule:
    """``make`` builds a module of inputs of these ``shapes``, float32; a number: indices below it.

    ``linear``: results are as small as the first input, if that is small.
    """

    make: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    limit: int = 0
    linear: bool = True

    def inputs(self) -> tuple[Tensor, ...]:
        """Random numbers, and indices after them."""
        floats = [torch.randn(shape) for shape in self.shapes]
        return (*floats, torch.randint(self.limit, (702,))) if self.limit else tuple(floats)


def _function(function: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> Schedule:
    return Schedule(lambda: Call(function), shapes, **options)


def _layer(make: Callable[[], nn.Module], *shapes: tuple[int, ...], **options: Any) -> Schedule:
    return Schedule(make, shapes, **options)


def _attention(**options: Any) -> Callable[..., Tensor]:
    return lambda v, q, k, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **options)


def _conv(inner: int, outer: int, size: int, **options: Any) -> Callable[[], nn.Module]:
    return lambda: nn.Conv2d(inner, outer, size, bias=False, **options)


class Mlp(nn.Module):
    """Layer norm, a product with an epilogue, and one with what it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(65), nn.Linear(65, 192), nn.Linear(192, 65)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(F.gelu(self.up(self.norm(x))))
        return y


_HEADS = (1, 3, 131, 40), (1, 3, 97, 40), (1, 3, 131, 40)  # values, queries, keys

SCHEDULES = {
    # Element by element, and moves.
    "chain": _function(lambda x: torch.relu(x) * 0.5, (303, 1027)),
    "functions": _function(lambda x: torch.sigmoid(x).exp() + torch.tanh(x), (303, 1027), linear=False),
    "transpose": _function(lambda x: x.t().contiguous(), (517, 1031)),
    "concat": _function(lambda x, y: torch.cat([x, y * 2], 1), (303, 517), (303, 130), linear=False),
    "gather": _function(lambda x, i: x[i] * 0.5, (1001, 257), limit=1001),
    # Rows, columns, all.
    "rows": _function(lambda x: x.sum(-1), (515, 1027)),
    "maxima": _function(lambda x: x.amax(-1), (515, 1027)),
    "softmax": _function(lambda x: x.softmax(-1), (515, 1027), linear=False),
    "long rows": _function(lambda x: x.log_softmax(-1), (5, 70001), linear=False),
    "norm": _layer(lambda: nn.LayerNorm(1027), (303, 1027), linear=False),
    "columns": _function(lambda x: x.sum(0), (1025, 515)),
    "outer dims": _function(lambda x: x.sum((0, 2)), (33, 65, 517)),
    "total": _function(lambda x: x / x.abs().sum(), (1031, 517), linear=False),
    "pool": _layer(lambda: nn.MaxPool2d(3, 2, 1), (2, 16, 131, 67)),
    "means": _layer(lambda: nn.AvgPool2d(3, 2, 1), (2, 16, 131, 67)),
    # Products.
    "product": _function(lambda x, y: x @ y, (131, 259), (259, 195)),
    "long product": _function(lambda x, y: x @ y, (67, 4099), (4099, 67)),
    "product of rows": _function(lambda x, y: x @ y.t(), (131, 259), (195, 259)),
    "batches": _function(lambda x, y: x @ y, (6, 65, 130), (6, 130, 67)),
    "matrix by vector": _function(lambda x, y: x @ y, (1003, 1501), (1501,)),
    "vector by matrix": _function(lambda x, y: x @ y, (1501,), (1501, 1003)),
    "few columns": _function(lambda x, y: x @ y, (3001, 165), (165, 5)),
    "few rows": _function(lambda x, y: x @ y, (3, 1501), (1501, 1003)),
    "one row of a layer": _layer(lambda: nn.Linear(1501, 704, bias=False), (1, 1501)),
    "layer": _layer(lambda: nn.Linear(259, 192, bias=False), (131, 259)),
    "layer of odd width": _layer(lambda: nn.Linear(259, 195, bias=False), (131, 259)),
    "epilogue": _function(lambda x, y: torch.relu(x @ y) * 0.5, (131, 259), (259, 195)),
    "mlp": _layer(Mlp, (131, 65), linear=False),
    # Windows.
    "convolution": _layer(_conv(16, 70, 3, padding=1), (1, 16, 29, 31)),
    "stride": _layer(_conv(8, 64, 3, padding=1, stride=2), (1, 8, 57, 55)),
    "dilation": _layer(_conv(8, 65, 3, padding=3, dilation=3), (1, 8, 29, 31)),
    "groups": _layer(_conv(12, 66, 3, padding=1, groups=3), (1, 12, 29, 31)),
    "1x1": _layer(_conv(67, 65, 1), (1, 67, 29, 31)),
    "depthwise": _layer(_conv(24, 24, 3, padding=1, groups=24), (1, 24, 57, 59)),
    "blocks of a window": _layer(_conv(260, 64, 3, padding=1), (1, 260, 14, 15)),
    # Attention.
    "attention": _function(_attention(), *_HEADS),
    "causal attention": _function(_attention(is_causal=True), *_HEADS),
    "masked attention": _function(_attention(), *_HEADS, (97, 131)),
    "attention of one row": _function(_attention(), (1, 9, 531, 64), (1, 9, 1, 64), (1, 9, 531, 64)),
}  # fmt: skip
