"""Writes through indices, and sorting, as reductions over comparisons.

torch-mlir lowers these to scalar loops (and writes where an index points without a look);
as ordinary reductions and gathers they fuse, run over threads, and check their indices. The
work grows with the product of both sizes: `_LIMIT` bounds it, beyond it the loops stay, and
get indices that were checked before.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours

_LIMIT = 1 << 26


def _static(*shapes: Any) -> bool:
    return all(isinstance(size, int) for shape in shapes for size in shape)


def _checked(index: Tensor, size: int) -> Tensor:
    """``index`` counted from the front: a gather, so that a wrong index is an IndexError."""
    return torch.arange(size)[index]


def _put_rows(x: Tensor, index: Tensor, values: Tensor, accumulate: bool) -> Any:
    """x[index[k]] = values[k] for a 1-D ``index``; of equal indices the last wins, or all add up."""
    if not _static(x.shape, values.shape):
        return NotImplemented
    rows, count = x.shape[0], index.shape[0]
    if rows * count * (math.prod(x.shape[1:]) if accumulate else 1) > _LIMIT:
        return NotImplemented
    rest = [1] * (x.dim() - 1)
    hit = _checked(index, rows) == torch.arange(rows).unsqueeze(1)
    if accumulate:
        zero = torch.zeros((), dtype=x.dtype)
        added = torch.where(hit.reshape(rows, count, *rest), values.unsqueeze(0), zero)
        return x + added.sum(1, dtype=x.dtype)
    if count == 0 or x.numel() == 0:
        return x.clone()
    source = torch.where(hit, torch.arange(count), -1).amax(1)
    taken = values[source.clamp(min=0)]
    return torch.where((source >= 0).reshape(rows, *rest), taken, x)


@ours(aten.index_put.default)
def _index_put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:
    """As reductions, or else torch-mlir's loops with indices that have been looked at."""
    out = _put(x, indices, values, accumulate)
    if out is not NotImplemented or any(i is not None and i.dtype == torch.bool for i in indices):
        return out
    checked = [i if i is None else _checked(i, x.shape[d]) for d, i in enumerate(indices)]
    return aten._unsafe_index_put(x, checked, values, accumulate)


@ours(aten._unsafe_index_put.default)
def _put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:
    """One index, or several for the leading dimensions; or a mask and one value."""
    used = [d for d, index in enumerate(indices) if index is not None]
    first = indices[used[0]]
    assert first is not None
    if first.dtype == torch.bool:
        if len(used) > 1 or used[0] != 0 or values.numel() != 1:
            return NotImplemented
        mask = first.reshape(*first.shape, *[1] * (x.dim() - first.dim()))
        value = values.reshape(()).to(x.dtype)
        return torch.where(mask, x + value if accumulate else value, x)
    if not _static(x.shape):
        return NotImplemented
    if len(used) == 1:
        dim = used[0]
        shape = (*x.shape[:dim], *first.shape, *x.shape[dim + 1 :])
        after = math.prod(first.shape)
        spread = values.expand(shape).reshape(*x.shape[:dim], after, *x.shape[dim + 1 :])
        out = _put_rows(x.movedim(dim, 0), first.reshape(-1), spread.movedim(dim, 0), accumulate)
        return out if out is NotImplemented else out.movedim(0, dim)
    if used != list(range(len(used))):
        return NotImplemented
    given = torch.broadcast_tensors(*[index for index in indices if index is not None])
    flat = torch.zeros((), dtype=torch.int64)
    for d, index in enumerate(given):
        flat = flat * x.shape[d] + _checked(index, x.shape[d])
    rest = x.shape[len(used) :]
    spread = values.expand(*given[0].shape, *rest).reshape(-1, *rest)
    out = _put_rows(x.reshape(-1, *rest), flat.reshape(-1), spread, accumulate)
    return out if out is NotImplemented else out.reshape(x.shape)


def _scatter(x: Tensor, dim: int, index: Tensor, source: Any, accumulate: bool) -> Any:
    """x[index[k, c], c] = source[k, c], along ``dim``."""
    if x.dim() == 0 or not _static(x.shape, index.shape) or index.numel() == 0:
        return NotImplemented
    dim %= x.dim()
    x0, index0 = x.movedim(dim, 0), index.movedim(dim, 0)
    if x0.shape[1:] != index0.shape[1:] or x0.shape[0] * index.numel() > _LIMIT:
        return NotImplemented
    rows, count = x0.shape[0], index0.shape[0]
    rest = [1] * (x.dim() - 1)
    hit = _checked(index0, rows) == torch.arange(rows).reshape(rows, 1, *rest)
    values = None
    if isinstance(source, Tensor):
        values = source.movedim(dim, 0)[(slice(count), *(slice(s) for s in index0.shape[1:]))]
    if accumulate:
        assert values is not None
        added = torch.where(hit, values.unsqueeze(0), torch.zeros((), dtype=x.dtype)).sum(1, dtype=x.dtype)
        return (x0 + added).movedim(0, dim)
    if values is None:
        return torch.where(hit.any(1), torch.full((), source, dtype=x.dtype), x0).movedim(0, dim)
    place = torch.where(hit, torch.arange(count).reshape(1, count, *rest), -1).amax(1)
    taken = torch.gather(values, 0, place.clamp(min=0))
    return torch.where(place >= 0, taken, x0).movedim(0, dim)


@ours(aten.scatter.src, aten.scatter.value)
def _scatter_write(x: Tensor, dim: int, index: Tensor, source: Any) -> Any:
    return _scatter_or_put(x, dim, index, source, accumulate=False)


@ours(aten.scatter_add.default)
def _scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    return _scatter_or_put(x, dim, index, source, accumulate=True)


def _scatter_or_put(x: Tensor, dim: int, index: Tensor, source: Any, accumulate: bool) -> Any:
    """`_scatter`, or else an index_put, which checks its indices."""
    out = _scatter(x, dim, index, source, accumulate)
    if out is not NotImplemented or x.dim() == 0 or 0 in index.shape:
        return out
    dim %= x.dim()
    places = []
    for d, size in enumerate(index.shape):
        shape = [size if e == d else 1 for e in range(x.dim())]
        places.append(index if d == dim else torch.arange(size).reshape(shape))
    if isinstance(source, Tensor):
        values = source[tuple(slice(size) for size in index.shape)]
    else:
        values = torch.full((), source, dtype=x.dtype)
    return aten.index_put(x, places, values.expand(index.shape), accumulate)


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
    return x.dim() > 0 and _static(x.shape) and x.numel() * x.shape[dim] <= _LIMIT


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
