"""Attention on tensor cores beside Triton's: the operations of which loops are compared."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from ...test.corpus.basic import Function
from ...test.corpus.cases import Case, randn
from .operations import BF16, Operation

HEADS, ROWS = 13, 2048  # a block of 256 rows on each multiprocessor
WIDTHS = (64, 128)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _operation(name: str, width: int, dtype: torch.dtype) -> Operation:
    function = causal_attention if name.startswith("causal") else attention
    shape = (1, HEADS, ROWS, width)
    case = Case(name, partial(Function, function), randn(shape, shape, shape))
    return Operation(f"{name}_{width} bf16", case, dtype)


ATTENTIONS = {
    each.name: each
    for width in WIDTHS
    for each in (_operation("attention", width, BF16), _operation("causal_attention", width, BF16))
}
