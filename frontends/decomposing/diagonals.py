"""Diagonals that are written."""

from __future__ import annotations

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.diagonal_scatter.default)
def _diagonal_scatter(x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A choice for each element: the source's of its row, or that of ``x``."""
    y = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = torch.arange(y.shape[-2]), torch.arange(y.shape[-1])
    is_on = rows.unsqueeze(1) + offset == columns
    length = source.shape[-1]
    if length == 0:
        return x.clone()
    place = (rows if offset >= 0 else rows + offset).clamp(0, length - 1)
    written = torch.where(is_on, source.to(x.dtype).index_select(-1, place).unsqueeze(-1), y)
    return written.movedim((-2, -1), (dim1, dim2))
