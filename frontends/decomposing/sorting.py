"""Sorting by ranks: how many elements come before each one.

torch-mlir lowers a sort to scalar loops; ranks are ordinary reductions over comparisons, which
fuse and run over threads. The work is the square of the sorted size: beyond `LIMIT` the loops stay.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours

LIMIT = 1 << 26


def _order(x: Tensor, descending: bool) -> Tensor:
    """The stable order of the last dimension: each element's rank, and the inverse of that."""
    size = x.shape[-1]
    places = torch.arange(size)
    mine, other = x.unsqueeze(-1), x.unsqueeze(-2)
    before = other > mine if descending else other < mine
    same = other == mine
    if x.is_floating_point():  # NaN is the largest
        mine_nan, other_nan = mine != mine, other != other
        before = before | ((other_nan & ~mine_nan) if descending else (mine_nan & ~other_nan))
        same = same | (mine_nan & other_nan)
    before = before | (same & (places < places.unsqueeze(1)))
    rank = before.to(torch.int64).sum(-1)
    found = rank.unsqueeze(-2) == places.unsqueeze(1)
    return torch.where(found, places, 0).sum(-1)


def _sorts(x: Tensor, dim: int) -> bool:
    return (
        x.dim() > 0 and all(isinstance(size, int) for size in x.shape) and x.numel() * x.shape[dim] <= LIMIT
    )


@ours(aten.sort.default, aten.sort.stable)
def _sort(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    stable = kwargs.pop("stable", None)
    if stable is None and len(args) == 3:
        args = args[1:]
    dim = args[0] if args else kwargs.get("dim", -1)
    descending = args[1] if len(args) > 1 else kwargs.get("descending", False)
    if not _sorts(x, dim):
        return NotImplemented
    order = _order(x.movedim(dim, -1), descending).movedim(-1, dim)
    return torch.gather(x, dim, order), order


@ours(aten.topk.default)
def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> Any:
    """Always sorted."""
    if not _sorts(x, dim) or not isinstance(k, int):
        return NotImplemented
    order = _order(x.movedim(dim, -1), largest)[..., :k].movedim(-1, dim)
    return torch.gather(x, dim, order), order
