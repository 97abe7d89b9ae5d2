"""Scatters as reductions over comparisons: which index points to a place. See indices.py."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .expanded import row_index
from .indices import assert_async, not_negative, should_compare, static
from .registry import aten, compute_dtype, ours
from .sorted_writes import reduce_sorted
from .target import runs_loops


def _can_compare(x: Tensor, dim: int, index: Tensor) -> bool:
    """Whether all sizes are known, and the work is bounded."""
    if not static(x.shape, index.shape):
        return False
    given = index.shape[dim]
    return should_compare(x.shape[dim], given, index.numel() // given)


def _hits(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """hit[r, k, …]: whether index[k, …] is r, with ``dim`` at the front; nothing beyond the index hits."""
    rows = x.shape[dim]
    checked = not_negative(index, rows).movedim(dim, 0)
    checked = _padded(checked, x.movedim(dim, 0).shape[1:], -1)
    return checked == torch.arange(rows).reshape(rows, *[1] * x.dim())


def _values(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """What is written, in the shape of a row of `_hits`."""
    return _padded(_given(index, source).movedim(dim, 0), x.movedim(dim, 0).shape[1:], 0)


def _given(index: Tensor, source: Tensor) -> Tensor:
    """What there is an index for."""
    return source[tuple(slice(size) for size in index.shape)]


def _padded(t: Tensor, sizes: Any, value: int) -> Tensor:
    after = [size - own for size, own in zip(sizes, t.shape[1:], strict=True)]
    if not any(after):
        return t
    return aten.constant_pad_nd(t, [amount for size in reversed(after) for amount in (0, size)], value)


def _scatter(x: Tensor, dim: int, index: Tensor, source: Any) -> Tensor:
    """x[index[k, c], c] = source[k, c], along ``dim``; of equal indices the last wins."""
    hit, x0 = _hits(x, dim, index), x.movedim(dim, 0)
    if not isinstance(source, Tensor):
        return torch.where(hit.any(1), torch.full((), source, dtype=x.dtype), x0).movedim(0, dim)
    given = hit.shape[1]
    place = torch.where(hit, torch.arange(given).reshape(1, given, *[1] * (x.dim() - 1)), -1).amax(1)
    taken = torch.gather(_values(x, dim, index, source), 0, place.clamp(min=0))
    return torch.where(place >= 0, taken, x0).movedim(0, dim)


@ours(aten.scatter.src, aten.scatter.value)
def _scatter_write(x: Tensor, dim: int, index: Tensor, source: Any) -> Any:
    if x.dim() == 0:
        source = source.reshape(1) if isinstance(source, Tensor) else source
        return aten.scatter(x.reshape(1), 0, index.reshape(1), source).reshape(())
    if 0 in index.shape:
        return x.clone()
    dim %= x.dim()
    if _can_compare(x, dim, index):
        return _scatter(x, dim, index, source)
    return _put(x, dim, index, source, accumulate=False)


@ours(aten.scatter_add.default)
def _scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    if x.dim() == 0:
        return aten.scatter_add(x.reshape(1), 0, index.reshape(1), source.reshape(1)).reshape(())
    if 0 in index.shape:
        return x.clone()
    dim %= x.dim()
    if _can_compare(x, dim, index):
        return _reduce(x, dim, index, source, "sum", include_self=True)
    return _put(x, dim, index, source, accumulate=True)


def _put(x: Tensor, dim: int, index: Tensor, source: Any, accumulate: bool) -> Tensor:
    """As an index_put, whose indices are checked, too."""
    if isinstance(source, Tensor):
        values = _given(index, source)
    else:
        values = torch.full((), source, dtype=x.dtype).expand(index.shape)
    rows = row_index(x, dim, index) if accumulate else None
    if rows is not None:
        return aten.index_add(x, dim, rows, values)
    if not runs_loops() or not static(x.shape, index.shape):
        return aten.index_put(x, _places(x, dim, index), values, accumulate)
    # Loops, of indices that have been looked at: one for each element, where all dims' would be stored.
    wide = compute_dtype(x.dtype) if accumulate else x.dtype
    into, flat, given = _elements(x.to(wide), dim, index, values.to(wide))
    return aten._unsafe_index_put(into, [flat], given, accumulate).to(x.dtype).reshape(x.shape)


def _places(x: Tensor, dim: int, index: Tensor) -> list[Tensor]:
    """Along each dim where the elements of ``index`` point to: in a shape that broadcasts to its own."""
    places = []
    for d, size in enumerate(index.shape):
        shape = [size if e == d else 1 for e in range(x.dim())]
        places.append(not_negative(index, x.shape[d]) if d == dim else torch.arange(size).reshape(shape))
    return places


@ours(aten.scatter_reduce.two, aten.scatter.reduce, aten.scatter.value_reduce)
def _scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Where pairs are not compared torch-mlir's loops, with indices that were looked at."""
    if x.dtype == torch.bool:
        return NotImplemented
    reduce = {"add": "sum", "multiply": "prod"}.get(reduce, reduce)
    source = source if isinstance(source, Tensor) else torch.full(index.shape, source, dtype=x.dtype)
    if x.dim() == 0:
        row = _reduce(x.reshape(1), 0, index.reshape(1), source.reshape(1), reduce, include_self)
        return row.reshape(())
    if 0 in index.shape:
        return x.clone()
    dim %= x.dim()
    if _can_compare(x, dim, index):
        return _reduce(x, dim, index, source, reduce, include_self)
    if reduce == "sum" and include_self:
        return _put(x, dim, index, source, accumulate=True)
    if reduce == "mean":
        return _mean(x, dim, index, source, include_self)
    # The loops round each step, and compare the bytes of uint8 as signed.
    wide = torch.int32 if x.dtype == torch.uint8 else compute_dtype(x.dtype)
    if wide != x.dtype:
        x0, source = x.to(wide), source.to(wide)
        return aten.scatter_reduce(x0, dim, index, source, reduce, include_self=include_self).to(x.dtype)
    if not runs_loops() and static(x.shape, index.shape):
        return _sorted(x, dim, index, source, reduce, include_self)
    if static(x.shape, index.shape) and x.dim() > 1:
        # One index for each element: with all dims' the maxima of 20,000 rows of 64 take 8.7 ms, not 5.0.
        own, flat, given = _elements(x, dim, index, _given(index, source))
        return aten.scatter_reduce(own, 0, flat, given, reduce, include_self=include_self).reshape(x.shape)
    assert_async(((index >= 0) & (index < x.shape[dim])).all(), "index out of range in self")
    return NotImplemented


def _sorted(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    own, flat, given = _elements(x, dim, index, _given(index, source))
    neutral = _neutral(reduce, x.dtype)
    return reduce_sorted(own, flat, given, reduce, neutral, include_self=include_self).reshape(x.shape)


def _elements(x: Tensor, dim: int, index: Tensor, given: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One element at a time: all of x, the place there of each that is given, and these."""
    flat = torch.zeros((), dtype=torch.int64)
    for size, place in zip(x.shape, _places(x, dim, index), strict=True):
        flat = flat * size + place
    return x.reshape(x.numel()), flat.reshape(index.numel()), given.reshape(index.numel())


def _mean(x: Tensor, dim: int, index: Tensor, source: Tensor, include_self: bool) -> Tensor:
    """By a sum and a count; the loops' quotient of integers is not rounded down."""
    wide = compute_dtype(x.dtype)
    total = aten.scatter_reduce(x.to(wide), dim, index, source.to(wide), "sum", include_self=include_self)
    own = torch.full(x.shape, 1 if include_self else 0)
    times = aten.scatter_add(own, dim, index, torch.ones(index.shape, dtype=torch.int64))
    rounding = None if wide.is_floating_point else "floor"
    return torch.div(total, times.clamp(min=1).to(wide), rounding_mode=rounding).to(x.dtype)


def _reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    """Places that nothing hits keep their value."""
    hit, x0 = _hits(x, dim, index), x.movedim(dim, 0)
    wide = compute_dtype(x.dtype)
    mine, values = x0.to(wide), _values(x, dim, index, source).to(wide).unsqueeze(0)
    taken = torch.where(hit, values, torch.full((), _neutral(reduce, wide), dtype=wide))
    if reduce == "prod":
        total = taken.prod(1, dtype=wide)
        total = total * mine if include_self else total
    elif reduce in ("amax", "amin"):
        total = taken.amax(1) if reduce == "amax" else taken.amin(1)
        both = torch.maximum if reduce == "amax" else torch.minimum
        total = both(mine, total) if include_self else total
    else:
        total = taken.sum(1, dtype=wide)
        total = mine + total if include_self else total
    if reduce == "mean":
        count = (hit.sum(1) + (1 if include_self else 0)).clamp(min=1).to(wide)
        total = torch.div(total, count, rounding_mode=None if wide.is_floating_point else "floor")
    if include_self and reduce == "sum":
        return total.to(x.dtype).movedim(0, dim)
    return torch.where(hit.any(1), total.to(x.dtype), x0).movedim(0, dim)


def _neutral(reduce: str, dtype: torch.dtype) -> float:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.is_floating_point:
        return -math.inf if reduce == "amax" else math.inf
    ends = torch.iinfo(dtype)
    return ends.min if reduce == "amax" else ends.max
