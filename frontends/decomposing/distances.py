"""Distances between the rows of two matrices, or of one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours

_FEW_ROWS = 25  # up to which eager does not go by a product (aten/src/ATen/native/Distance.cpp)


@ours(aten._cdist_forward.default)
def _cdist(x: Tensor, y: Tensor, p: float, mode: int | None) -> Tensor:
    """Norms of differences; of many rows, as eager does, by ``|x|^2 - 2xy + |y|^2``, a product.

    ``mode`` 1 is always by a product, 2 never.
    """
    many = mode == 1 or (mode != 2 and (x.shape[-2] > _FEW_ROWS or y.shape[-2] > _FEW_ROWS))
    if p == 2 and many:
        return aten._euclidean_dist(x, y)
    return _norms(x.unsqueeze(-2) - y.unsqueeze(-3), p)


@ours(aten._pdist_forward.default)
def _pdist(x: Tensor, p: float = 2) -> Any:
    """Each pair of rows, the first with all behind it, then the second."""
    if not isinstance(x.shape[0], int):
        return NotImplemented
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return _norms(x.index_select(0, first) - x.index_select(0, second), p)


def _norms(difference: Tensor, p: float) -> Tensor:
    """Along the last dim; of rows without elements 0, also for the largest."""
    if any(isinstance(size, int) and size == 0 for size in difference.shape):
        return difference.sum(-1)
    return torch.linalg.vector_norm(difference, p, -1)
