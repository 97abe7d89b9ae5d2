"""Places in sorted rows, by a binary search with eager's steps: so of what is not sorted, or NaN, too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.searchsorted.Tensor)
def _searchsorted(
    rows: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Any:
    """As many gathers as the size of a row has bits, in one kernel."""
    size = rows.shape[-1] if rows.dim() > 0 else None
    if not isinstance(size, int):
        return NotImplemented
    dtype = torch.int32 if out_int32 else torch.int64
    if size == 0 or 0 in x.shape:
        return torch.zeros(x.shape, dtype=dtype)
    rows = rows if sorter is None else torch.gather(rows, -1, sorter)
    values = x.reshape(-1) if rows.dim() == 1 else x
    start = torch.zeros_like(values, dtype=torch.int64)
    end = torch.full_like(start, size)
    for _ in range(size.bit_length()):
        middle = (start + end) // 2
        found = torch.gather(rows, -1, middle.clamp(max=size - 1))
        before = ~(found > values if right or side == "right" else found >= values)
        is_open = start < end
        start = torch.where(is_open & before, middle + 1, start)
        end = torch.where(is_open & ~before, middle, end)
    return start.reshape(x.shape).to(dtype)
