"""scaled_dot_product_attention where a gradient is needed: torch's CPU kernel and its backward."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..decomposing.contractions import sum_bmm
from ..decomposing.registry import aten, compute_dtype
from .registry import gradient


@gradient(aten._scaled_dot_product_flash_attention_for_cpu.default)
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    """The result, and for the backward the logarithm of each row's sum."""
    if dropout_p > 0:
        return NotImplemented
    out = aten.scaled_dot_product_attention(
        q, k, v, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )
    scores = _scores(q, k, attn_mask, is_causal, scale)
    top = scores.amax(-1, keepdim=True)
    top = torch.where(top == -math.inf, 0.0, top)
    return out, (top + torch.log(torch.exp(scores - top).sum(-1, keepdim=True))).squeeze(-1)


@gradient(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def _attention_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    """The weights are computed again from the scores; a row with nothing to attend to has none."""
    if dropout_p > 0:
        return NotImplemented
    group = q.shape[1] // k.shape[1]
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = _scores(q, k, attn_mask, is_causal, scale)
    rows = logsumexp.unsqueeze(-1)
    weights = torch.exp(scores - torch.where(rows == -math.inf, math.inf, rows))
    keys, values = _repeated(k, group), _repeated(v, group)
    dtype = compute_dtype(q.dtype)
    for_weights = _product(grad, values.transpose(-2, -1))
    inner = (grad.to(dtype) * out.to(dtype)).sum(-1, keepdim=True)
    for_scores = (weights * (for_weights - inner) * factor).to(q.dtype)
    for_v = _product(weights.to(q.dtype).transpose(-2, -1), grad)
    for_k = _product(for_scores.transpose(-2, -1), q)
    return (
        _by_positions(_product(for_scores, keys).to(q.dtype)),
        _by_positions(_summed(for_k, group).to(k.dtype)),
        _by_positions(_summed(for_v, group).to(v.dtype)),
    )


def _by_positions(x: Tensor) -> Tensor:
    """``x`` in the memory order of eager's gradients: for each position all heads."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _scores(q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None) -> Tensor:
    scores = _product(q, _repeated(k, q.shape[1] // k.shape[1]).transpose(-2, -1))
    scores = scores * (1.0 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        rows = torch.arange(q.shape[-2], dtype=torch.int32).unsqueeze(1)
        scores = torch.where(rows >= torch.arange(k.shape[-2], dtype=torch.int32), scores, -math.inf)
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf) if mask.dtype == torch.bool else scores + mask
    return scores


def _product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` for each head, in the dtype that it is summed in."""
    batch, heads = a.shape[:2]
    result = sum_bmm(a.reshape(-1, *a.shape[2:]), b.reshape(-1, *b.shape[2:]))
    return result.reshape(batch, heads, *result.shape[1:])


def _repeated(x: Tensor, group: int) -> Tensor:
    """Each head ``group`` times: query heads that share a key head."""
    if group == 1:
        return x
    batch, heads, *rest = x.shape
    return x.unsqueeze(2).expand(batch, heads, group, *rest).reshape(batch, heads * group, *rest)


def _summed(x: Tensor, group: int) -> Tensor:
    """The sum over the query heads that share a key head."""
    if group == 1:
        return x
    batch, heads, *rest = x.shape
    return x.reshape(batch, heads // group, group, *rest).sum(2)
