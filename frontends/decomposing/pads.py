"""Padding: negative amounts are slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import guard_or_false

from .registry import aten, ours


@ours(aten.constant_pad_nd.default)
def _constant_pad(x: Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """Cut what is negative, then pad with the rest."""
    negative = [_is_negative(amount) for amount in pad]
    if not any(negative):
        return NotImplemented
    cuts = [-amount if cut else 0 for amount, cut in zip(pad, negative, strict=True)]
    for place in range(len(pad) // 2):
        dim = x.dim() - 1 - place
        before, after = cuts[2 * place : 2 * place + 2]
        x = x.narrow(dim, before, x.shape[dim] - before - after)
    left = [0 if cut else amount for amount, cut in zip(pad, negative, strict=True)]
    return aten.constant_pad_nd(x, left, value) if any(map(_is_some, left)) else x.clone()


def _is_negative(amount: Any) -> bool:
    """Of a symbolic amount, as it is in this call: a guard compiles anew for the other sign.

    Where no guard can be added any more, the program checks the sign when it runs (mlopt-check-sizes).
    """
    return amount < 0 if isinstance(amount, int) else bool(guard_or_false(amount < 0))


def _is_some(amount: Any) -> bool:
    return not isinstance(amount, int) or amount != 0


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
