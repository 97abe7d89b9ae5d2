"""Products that are timed on a GPU: large ones, the layers of Llama-8B, and what follows in their kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from .workload import BF16, F16, Size, Source, Timed

# Rows, columns and depth; the last one has no row of whole 16 bytes.
LARGE: tuple[Size, ...] = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (16384, 4096, 4096),
    (4095, 4097, 4093),
)
TOKENS = (1, 16, 128, 4096)
# Columns and depth: queries, keys and values; what attention gives; gate and up; down.
LAYERS = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))
_TINY, _TINY_ODD = (32, 40, 64), (17, 19, 21)


def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def product_relu(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x @ y)


def product_gelu(x: Tensor, y: Tensor) -> Tensor:
    return F.gelu(x @ y)


def product_bias(x: Tensor, y: Tensor, bias: Tensor) -> Tensor:
    return x @ y + bias


def product_residual(x: Tensor, y: Tensor, residual: Tensor) -> Tensor:
    return x @ y + residual


def linear(x: Tensor, w: Tensor) -> Tensor:
    return F.linear(x, w)


def linear_relu(x: Tensor, w: Tensor) -> Tensor:
    return torch.relu(F.linear(x, w))


def linear_gelu(x: Tensor, w: Tensor) -> Tensor:
    return F.gelu(F.linear(x, w))


def linear_bias(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return F.linear(x, w, bias)


def linear_residual(x: Tensor, w: Tensor, residual: Tensor) -> Tensor:
    return F.linear(x, w) + residual


Function = Callable[..., Tensor]
PRODUCTS: tuple[Function, ...] = (product, product_relu, product_gelu, product_bias, product_residual)
LINEARS: tuple[Function, ...] = (linear, linear_relu, linear_gelu, linear_bias, linear_residual)


def rows() -> Iterator[Timed]:
    """All of them: a group has as many as eight minutes are enough for, those without an epilogue first."""
    for dtype, short in ((BF16, "bf16"), (F16, "f16")):
        for function in PRODUCTS:
            yield from (_row(function, size, dtype, f"products-{short}") for size in LARGE)
    for tokens in TOKENS:
        for function in LINEARS:
            yield from (_row(function, (tokens, *layer), BF16, f"linear-{tokens}") for layer in LAYERS)


def flops(size: Size) -> float:
    """Of a product."""
    rows, columns, depth = size
    return 2.0 * rows * columns * depth


def _row(function: Function, size: Size, dtype: torch.dtype, group: str) -> Timed:
    name = function.__name__.replace("_", "-")
    short = "f16" if dtype is F16 else "bf16"
    odd = size[-1] % 2 == 1
    make = partial(_inputs, function in LINEARS, name.partition("-")[2])
    return Timed(
        f"{name}-{'x'.join(map(str, size))}-{short}",
        f"{name.replace('-', ', ')} {'×'.join(map(str, size))} {short}",
        group,
        dtype,
        function,
        make,
        size,
        _TINY_ODD if odd else (min(size[0], _TINY[0]), *_TINY[1:]),
        flops=flops,
    )


def _inputs(turned: bool, epilogue: str, source: Source, size: Size) -> Sequence[Tensor]:
    """Both factors, the second one of columns by depth if it is ``turned``, and what the epilogue reads."""
    high, wide, deep = size
    factors = source.normal(high, deep), source.normal(*((wide, deep) if turned else (deep, wide)))
    if epilogue == "bias":
        return *factors, source.normal(wide)
    return (*factors, source.normal(high, wide)) if epilogue == "residual" else factors
