"""Products of 8-bit floats that are timed on a GPU, beside torch._scaled_mm: large ones and layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from .product_rows import LAYERS, TOKENS, flops
from .workload import BF16, Size, Source, Timed

FACTORS = torch.float8_e4m3fn
_LARGE: tuple[Size, ...] = ((4096, 4096, 4096), (8192, 8192, 8192))  # the first is a layer, too
SIZES = tuple(dict.fromkeys((*_LARGE, *((tokens, *layer) for tokens in TOKENS for layer in LAYERS))))
_TINY = (32, 48, 64)  # torch takes columns and depths by 16


def scaled_linear(x: Tensor, w: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """In bf16: ``x`` of rows by depth, ``w`` of columns by depth, 8-bit floats both, and their f32 scales."""
    return torch._scaled_mm(x, w.t(), left, right, out_dtype=BF16)


def exact_linear(x: Tensor, w: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The same in any dtype: torch._scaled_mm takes no others than 8-bit floats."""
    return (x @ w.t()) * left * right


def rows() -> Iterator[Timed]:
    """All sizes with a scale of each factor, then with one of each row and column."""
    for each, words in ((False, "scaled"), (True, "rows scaled")):
        for size in SIZES:
            yield _row(size, words, partial(_inputs, each))


def _row(size: Size, words: str, make: Callable[[Source, Size], Sequence[Tensor]]) -> Timed:
    group = f"{words.replace(' ', '-')}-f8"
    return Timed(
        f"{group}-{'x'.join(map(str, size))}",
        f"linear, {words} {'×'.join(map(str, size))} f8",
        group,
        BF16,
        scaled_linear,
        make,
        size,
        (min(size[0], _TINY[0]), *_TINY[1:]),
        flops=flops,
        reference=exact_linear,
    )


def _inputs(each: bool, source: Source, size: Size) -> Sequence[Tensor]:
    """Both factors and their scales: one of a factor, or of ``each`` row and column of the result."""
    high, wide, deep = size
    factors = [source.normal(count, deep).to(FACTORS) for count in (high, wide)]
    shapes = ((high, 1), (1, wide)) if each else ((), ())
    return *factors, *(source.uniform(*shape).float() + 0.5 for shape in shapes)
