"""Max pooling: images without a batch, windows of uneven sizes, volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.max_pool2d_with_indices.default)
def _max_pool2d(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """One image without a batch: torch-mlir wants the batch."""
    if x.dim() != 3:
        return NotImplemented
    values, places = aten.max_pool2d_with_indices(x.unsqueeze(0), *args, **kwargs)
    return values.squeeze(0), places.squeeze(0)


@ours(aten.adaptive_max_pool2d.default)
def _adaptive_max_pool2d(x: Tensor, output_size: Sequence[int]) -> Any:
    """Equal windows are those of `max_pool2d`; of uneven ones the shorter have an element twice."""
    sizes, outputs = x.shape[-2:], _both(output_size)
    if not all(
        isinstance(size, int) and size > 0 and out > 0 for size, out in zip(sizes, outputs, strict=True)
    ):
        return NotImplemented
    if all(size % out == 0 for size, out in zip(sizes, outputs, strict=True)):
        window = [size // out for size, out in zip(sizes, outputs, strict=True)]
        return aten.max_pool2d_with_indices(x, window, window)
    best, place = x, torch.arange(sizes[0] * sizes[1]).reshape(sizes).expand(x.shape)
    for dim in (-1, -2):
        windows = _windows(sizes[dim], outputs[dim])
        values, places = (
            y.index_select(dim, windows.reshape(-1)).unflatten(dim, windows.shape) for y in (best, place)
        )
        best, at = values.max(dim, keepdim=True)
        best, place = best.squeeze(dim), places.gather(dim, at).squeeze(dim)
    return best, place


@ours(aten.adaptive_max_pool3d.default)
def _adaptive_max_pool3d(x: Tensor, output_size: Sequence[int]) -> Any:
    """The windows side by side, each as a row; torch-mlir's own loses NaN and reads what nobody wrote."""
    sizes, outputs = x.shape[-3:], list(output_size) if len(output_size) == 3 else [output_size[0]] * 3
    if not all(
        isinstance(size, int) and size > 0 and out > 0 for size, out in zip(sizes, outputs, strict=True)
    ):
        return NotImplemented
    lead = x.dim() - 3
    rows = _rows_of_windows(x, outputs)
    places = _rows_of_windows(torch.arange(math.prod(sizes)).reshape(sizes), outputs).expand(rows.shape)
    best, first = rows.max(lead + 3)
    last = torch.where(rows.isnan(), torch.arange(rows.shape[-1]), -1).amax(lead + 3)  # eager's choice of NaN
    at = torch.where(last < 0, first, last)
    return best, places.gather(lead + 3, at.unsqueeze(-1)).squeeze(-1)


def _rows_of_windows(x: Tensor, outputs: Sequence[int]) -> Tensor:
    """[..., d, h, w] as [..., out d, out h, out w, elements of a window]."""
    lead = x.dim() - 3
    for dim in (lead + 2, lead + 1, lead):
        size, out = x.shape[dim], outputs[dim - lead]
        if size % out == 0:
            x = x.unflatten(dim, (out, size // out))
        else:
            windows = _windows(size, out)
            x = x.index_select(dim, windows.reshape(-1)).unflatten(dim, windows.shape)
    order = [*range(lead), *(lead + i for i in (0, 2, 4, 1, 3, 5))]
    return x.permute(order).flatten(lead + 3)


def _windows(size: int, outputs: int) -> Tensor:
    """For each window along a dimension the elements that it has, the last again where it is shorter."""
    number = torch.arange(outputs)
    first, end = (number * size) // outputs, ((number + 1) * size + outputs - 1) // outputs
    longest = max(-(-(at + 1) * size // outputs) - at * size // outputs for at in range(outputs))
    return (first.unsqueeze(1) + torch.arange(longest)).minimum(end.unsqueeze(1) - 1)


def _both(size: Sequence[int]) -> list[int]:
    """A size for each of the two dimensions of an image."""
    return list(size) if len(size) == 2 else [size[0]] * 2
