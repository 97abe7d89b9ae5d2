"""torch.roll: what falls off at one end comes back at the other; torch-mlir takes shifts below the size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.roll.default)
def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Dim by dim; without ``dims`` the tensor is rolled as one row."""
    if x.dim() == 0:
        return x.clone()
    if not dims:
        return _rolled(x.reshape(-1), shifts[0], 0).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(x, shift, dim)
    return x


def _rolled(x: Tensor, shift: int, dim: int) -> Tensor:
    size: Any = x.shape[dim]  # or symbolic
    if not isinstance(size, int):  # by how much it is rolled, nobody knows before the call
        places = torch.remainder(torch.arange(size, device=x.device) - shift, size)
        return torch.index_select(x, dim, places)
    start = -shift % size if size else 0
    if start == 0:
        return x.clone()
    return torch.cat([x.narrow(dim, start, size - start), x.narrow(dim, 0, start)], dim)
