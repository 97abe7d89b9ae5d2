"""Padding: negative amounts are slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.constant_pad_nd.default)
def _constant_pad(x: Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """Cut what is negative, then pad with the rest."""
    if not all(isinstance(amount, int) for amount in pad) or all(amount >= 0 for amount in pad):
        return NotImplemented
    for place in range(len(pad) // 2):
        dim = x.dim() - 1 - place
        before, after = (max(-amount, 0) for amount in pad[2 * place : 2 * place + 2])
        x = x.narrow(dim, before, x.shape[dim] - before - after)
    left = [max(amount, 0) for amount in pad]
    return aten.constant_pad_nd(x, left, value) if any(left) else x.clone()


@ours(aten._pad_circular.default)
def _circular_pad(x: Tensor, pad: Sequence[int]) -> Any:
    """What comes before is the end of what is left of ``x``, and the other way round."""
    if not all(isinstance(amount, int) for amount in pad):
        return NotImplemented
    for place in range(len(pad) // 2):
        dim = x.dim() - 1 - place
        before, after = pad[2 * place : 2 * place + 2]
        size = x.shape[dim] + min(before, 0) + min(after, 0)
        x = x.narrow(dim, max(-before, 0), size)
        start = [x.narrow(dim, size - before, before)] if before > 0 else []
        end = [x.narrow(dim, 0, after)] if after > 0 else []
        x = torch.cat([*start, x, *end], dim)
    return x
