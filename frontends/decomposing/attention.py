"""scaled_dot_product_attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .contractions import sum_bmm
from .registry import aten, count, ours


@ours(aten.scaled_dot_product_attention.default)
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """exp(s - max) @ v / sum: scores in f32, a row with nothing to attend to is zero.

    Query heads that share a key head (``enable_gqa``) become more rows of the one product,
    so keys and values are never repeated.
    """
    length, width = q.shape[-2:]
    span = k.shape[-2]
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        heads, group = k.shape[-3], q.shape[-3] // k.shape[-3]
    else:
        heads, group = None, 1
    q_batch = q.shape[:-2] if heads is None else (*q.shape[:-3], heads)
    batch = torch.broadcast_shapes(q_batch, k.shape[:-2], v.shape[:-2])
    outer = batch if heads is None else (*batch[:-1], heads * group)
    if span == 0 or count((*outer, length, v.shape[-1])) == 0:
        return q.new_zeros((*outer, length, v.shape[-1]))
    matrices = count(batch)
    q_rows = q if heads is None else q.reshape(*q.shape[:-3], heads, group * length, width)
    q3 = _across(q_rows, batch).reshape(matrices, group * length, width)
    k3 = _across(k, batch).reshape(matrices, span, width)
    v3 = _across(v, batch).reshape(matrices, span, v.shape[-1])

    # Reshapes with two lengths that are not known cannot be seen through: only where a mask needs the dims.
    flat = group == 1 and (attn_mask is None or attn_mask.dim() <= 2)
    scores = sum_bmm(q3, k3.transpose(1, 2))
    scores = scores if flat else scores.reshape(*outer, length, span)
    scores = scores * (1.0 / math.sqrt(max(width, 1)) if scale is None else scale)
    if is_causal:
        rows = torch.arange(length, dtype=torch.int32).unsqueeze(1)
        scores = torch.where(rows >= torch.arange(span, dtype=torch.int32), scores, -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = torch.where(attn_mask, scores, -math.inf)
        else:
            scores = scores + attn_mask
    top = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - torch.where(top == -math.inf, 0.0, top))
    total = weights.sum(-1, keepdim=True)
    total = torch.where(total == 0, 1.0, total)
    if dropout_p > 0:
        weights = torch.dropout(weights, dropout_p, True)
    weights = weights.to(v.dtype)
    out = sum_bmm(weights if flat else weights.reshape(matrices, group * length, span), v3)
    if flat:
        return (out / total).to(q.dtype).reshape(*outer, length, v.shape[-1])
    return (out.reshape(*outer, length, v.shape[-1]) / total).to(q.dtype)


def _across(x: Tensor, batch: Sequence[Any]) -> Tensor:
    """``x`` for each matrix of a batch; as it is if it has them all, known sizes or not."""
    known = len(batch) == x.dim() - 2 and all(
        statically_known_true(have == want) for have, want in zip(x.shape, batch, strict=False)
    )
    return x if known else x.expand(*batch, *x.shape[-2:])
