"""The convolutions of ResNet-50 that are timed on a GPU, each once, as inference has them: bias and relu."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from .workload import BF16, Size, Source, Timed

GROUP = "convolutions"
BATCH = 32
# Channels read and written, the side of what is read, of a window, and the stride; the dearest first.
LAYERS: tuple[Size, ...] = (
    (64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (256, 256, 14, 3, 1), (512, 512, 7, 3, 1), (3, 64, 224, 7, 2),
    (64, 256, 56, 1, 1), (256, 64, 56, 1, 1), (128, 512, 28, 1, 1), (512, 128, 28, 1, 1),
    (256, 1024, 14, 1, 1), (1024, 256, 14, 1, 1), (512, 2048, 7, 1, 1), (2048, 512, 7, 1, 1),
    (128, 128, 56, 3, 2), (256, 256, 28, 3, 2), (512, 512, 14, 3, 2), (256, 512, 56, 1, 2),
    (512, 1024, 28, 1, 2), (1024, 2048, 14, 1, 2), (64, 64, 56, 1, 1), (256, 128, 56, 1, 1),
    (512, 256, 28, 1, 1), (1024, 512, 14, 1, 1),
)  # fmt: skip


@cache
def convolution(window: int, stride: int) -> Callable[..., Tensor]:
    """relu(conv(x, w) + b), padded to keep the sides, or the half of them."""

    def convolved(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.relu(F.conv2d(x, w, b, stride, window // 2))

    return convolved


def rows() -> Iterator[Timed]:
    """All of them, on the GPU in torch's own order of dims."""
    for read, written, side, window, stride in LAYERS:
        shape = f"{window}²/{stride}" if stride > 1 else f"{window}²"
        yield Timed(
            f"conv-{read}-{written}-{side}-{window}-{stride}-bf16",
            f"conv {shape}, relu, {BATCH}×{read}×{side}² to {written} bf16",
            GROUP,
            BF16,
            convolution(window, stride),
            _inputs,
            (BATCH, read, written, side, window, stride),
            (2, min(read, 16), 24, 2 * window + 1, window, stride),
            flops=flops,
        )


def flops(size: Size) -> float:
    """Of a convolution."""
    batch, read, written, side, window, stride = size
    return 2.0 * batch * written * (-(-side // stride)) ** 2 * read * window**2


def _inputs(source: Source, size: Size) -> Sequence[Tensor]:
    batch, read, written, side, window, _ = size
    weights = source.normal(written, read, window, window)
    return source.normal(batch, read, side, side), weights, source.normal(written)
