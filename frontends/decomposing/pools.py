"""Pooling: images and volumes without a batch, bytes, windows of uneven sizes, sums of volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, count, ours


@ours(aten.max_pool2d_with_indices.default)
def _max_pool2d(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _max_pool(aten.max_pool2d_with_indices, 2, x, *args, **kwargs)


@ours(aten.max_pool3d_with_indices.default)
def _max_pool3d(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _max_pool(aten.max_pool3d_with_indices, 3, x, *args, **kwargs)


def _max_pool(pool: Any, dims: int, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Images without a batch get one, as torch-mlir wants it; it would take bytes for signed."""
    if x.dim() == dims + 1:
        return _of_one(pool, x, *args, **kwargs)
    if x.dtype != torch.uint8:
        return NotImplemented
    values, places = pool(x.to(torch.int32), *args, **kwargs)
    return values.to(x.dtype), places


def _of_one(pool: Any, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    values, places = pool(x.unsqueeze(0), *args, **kwargs)
    return values.squeeze(0), places.squeeze(0)


@ours(aten.avg_pool1d.default)
def _avg_pool1d(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Channels without a batch: torch-mlir wants the batch."""
    return _mean_of_one(aten.avg_pool1d, x, *args, **kwargs) if x.dim() == 2 else NotImplemented


@ours(aten.avg_pool2d.default)
def _avg_pool2d(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """One image without a batch."""
    return _mean_of_one(aten.avg_pool2d, x, *args, **kwargs) if x.dim() == 3 else NotImplemented


def _mean_of_one(pool: Any, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    means: Tensor = pool(x.unsqueeze(0), *args, **kwargs)
    return means.squeeze(0)


@ours(aten.avg_pool3d.default)
def _avg_pool3d(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Each channel as a volume of its own: torch-mlir puts the channels last, and back."""
    if x.dim() == 5 and isinstance(x.shape[1], int) and x.shape[1] == 1:
        return NotImplemented
    volumes = x.reshape(count(x.shape[:-3]), 1, *x.shape[-3:])
    y = aten.avg_pool3d(volumes, *args, **kwargs)
    return y.reshape(*x.shape[:-3], *y.shape[-3:])


@ours(aten.as_strided.default)
def _as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> Any:
    """The tensor itself, if dims of one element alone get other strides: a global mean of channels-last."""
    same = list(size) == list(x.shape) and offset in (None, x.storage_offset())
    kept = same and all(n == 1 or a == b for n, a, b in zip(size, stride, x.stride(), strict=True))
    return x.view(x.shape) if kept else NotImplemented


@ours(aten._adaptive_avg_pool2d.default)
def _adaptive_avg_pool2d(x: Tensor, output_size: Sequence[int]) -> Any:
    return _adaptive_avg_pool(x, output_size, 2, aten.avg_pool2d)


@ours(aten._adaptive_avg_pool3d.default)
def _adaptive_avg_pool3d(x: Tensor, output_size: Sequence[int]) -> Any:
    return _adaptive_avg_pool(x, output_size, 3, aten.avg_pool3d)


def _adaptive_avg_pool(x: Tensor, output_size: Sequence[int], dims: int, pool: Any) -> Any:
    """Equal windows are those of ``pool``; of uneven ones the shorter have zeros behind their elements.

    One sum for all windows: torch's own has an addition for each element of a window.
    """
    sizes, outputs = x.shape[-dims:], list(output_size)
    if not _are_static(sizes, outputs):
        return NotImplemented
    if x.dim() == dims + 1:
        return _adaptive_avg_pool(x.unsqueeze(0), outputs, dims, pool).squeeze(0)
    if all(size % out == 0 for size, out in zip(sizes, outputs, strict=True)):
        return pool(x, [size // out for size, out in zip(sizes, outputs, strict=True)])
    places, inside, counts = torch.zeros((), dtype=torch.long), torch.ones((), dtype=torch.bool), []
    for dim, (size, out) in enumerate(zip(sizes, outputs, strict=True)):
        inner = dims - 1 - dim
        first, end = _bounds(size, out)
        windows = _windows(size, out)
        has = first.unsqueeze(1) + torch.arange(windows.shape[1]) < end.unsqueeze(1)
        places = places * size + windows.reshape(*windows.shape, *[1] * (2 * inner))
        inside = inside & has.reshape(*has.shape, *[1] * (2 * inner))
        counts.append((end - first).reshape(-1, *[1] * inner))
    flat = x.to(compute_dtype(x.dtype)).flatten(-dims)
    elements = flat.index_select(-1, places.reshape(-1)).unflatten(-1, places.shape)
    total = torch.where(inside, elements, 0.0).sum(list(range(1 - 2 * dims, 0, 2)))
    for count_along in counts:  # one after the other, as eager divides
        total = total / count_along
    return total.to(x.dtype)


@ours(aten.adaptive_max_pool2d.default)
def _adaptive_max_pool2d(x: Tensor, output_size: Sequence[int]) -> Any:
    return _adaptive_max_pool(x, output_size, 2, aten.max_pool2d_with_indices)


@ours(aten.adaptive_max_pool3d.default)
def _adaptive_max_pool3d(x: Tensor, output_size: Sequence[int]) -> Any:
    """torch-mlir's own loses NaN and reads what nobody wrote."""
    return _adaptive_max_pool(x, output_size, 3, aten.max_pool3d_with_indices)


def _adaptive_max_pool(x: Tensor, output_size: Sequence[int], dims: int, pool: Any) -> Any:
    """Equal windows are those of ``pool``; of uneven ones the shorter have an element twice."""
    sizes, outputs = (
        x.shape[-dims:],
        list(output_size) if len(output_size) == dims else [output_size[0]] * dims,
    )
    if not _are_static(sizes, outputs):
        return NotImplemented
    if all(size % out == 0 for size, out in zip(sizes, outputs, strict=True)):
        window = [size // out for size, out in zip(sizes, outputs, strict=True)]
        return pool(x, window, window)
    best, place = x, torch.arange(math.prod(sizes)).reshape(sizes).expand(x.shape)
    for dim in range(-1, -dims - 1, -1):
        windows = _windows(sizes[dim], outputs[dim])
        values, places = (
            y.index_select(dim, windows.reshape(-1)).unflatten(dim, windows.shape) for y in (best, place)
        )
        best = values.amax(dim, keepdim=True)
        at = _eagers_place(values, best, dim)
        best, place = best.squeeze(dim), places.gather(dim, at).squeeze(dim)
    return best, place


def _are_static(sizes: Sequence[Any], outputs: Sequence[int]) -> bool:
    return all(
        isinstance(size, int) and size > 0 and out > 0 for size, out in zip(sizes, outputs, strict=True)
    )


def _eagers_place(x: Tensor, best: Tensor, dim: int) -> Tensor:
    """Where ``best`` is along ``dim``: the last NaN, or else the first that equals it."""
    number = torch.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(-x.dim(), 0)])
    rank = torch.where(x.isnan(), number, torch.where(x == best, ~number, -x.shape[dim] - 1))
    highest = rank.amax(dim, keepdim=True)
    return torch.where(highest < 0, ~highest, highest)


def _windows(size: int, outputs: int) -> Tensor:
    """For each window along a dimension the elements that it has, the last again where it is shorter."""
    first, end = _bounds(size, outputs)
    longest = max(-(-(at + 1) * size // outputs) - at * size // outputs for at in range(outputs))
    return (first.unsqueeze(1) + torch.arange(longest)).minimum(end.unsqueeze(1) - 1)


def _bounds(size: int, outputs: int) -> tuple[Tensor, Tensor]:
    """Where each window along a dimension begins and ends."""
    number = torch.arange(outputs)
    return (number * size) // outputs, ((number + 1) * size + outputs - 1) // outputs
