"""The gradients of pooling: each element of the image looks at the windows that cover it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..decomposing.registry import aten, compute_dtype
from .registry import each, gradient, is_static, pad, spread

_MOST_SLICES = 64


@gradient(aten.max_pool2d_with_indices_backward.default)
def _max_pool2d_backward(
    grad: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,  # noqa: ARG001 (the shape of grad says it)
    indices: Tensor,
) -> Any:
    """Where a window's index is this element's place its gradient counts: a sum over the few windows
    that an element lies in, as element-wise ops.
    """
    if x.dim() != 4 or not is_static([*x.shape[2:], *grad.shape[2:]]) or 0 in grad.shape:
        return NotImplemented
    window, pads, spacing = each(kernel_size, 2), each(padding, 2), each(dilation, 2)
    steps = each(stride, 2) if stride else window
    covers = [math.ceil((spacing[d] * (window[d] - 1) + 1) / steps[d]) for d in range(2)]
    if covers[0] * covers[1] > _MOST_SLICES:
        return NotImplemented
    height, width = x.shape[2:]
    place = torch.arange(height).unsqueeze(1) * width + torch.arange(width)
    wide = grad.to(compute_dtype(grad.dtype))
    total: Any = 0
    for back in range(covers[0]):
        for left in range(covers[1]):
            chosen, value = indices, wide
            for d, shift in ((2, back), (3, left)):
                chosen = _stretch(chosen, d, shift, steps[d - 2], pads[d - 2], x.shape[d], -1)
                value = _stretch(value, d, shift, steps[d - 2], pads[d - 2], x.shape[d], 0)
            total = total + torch.where(chosen == place, value, torch.zeros((), dtype=wide.dtype))
    return total.to(grad.dtype)


def _stretch(x: Tensor, dim: int, shift: int, step: int, padding: int, size: int, fill: int) -> Tensor:
    """For each of ``size`` elements, what ``x`` has for the window ``shift`` before the last that starts
    at or before it; ``fill`` where there is none.
    """
    count = math.ceil((size + padding) / step)
    x = pad(x, dim, shift, count - shift - x.shape[dim], fill)
    shape = list(x.shape)
    repeated = x.unsqueeze(dim + 1).expand(*shape[: dim + 1], step, *shape[dim + 1 :])
    shape[dim] = count * step
    return repeated.reshape(shape).narrow(dim, padding, size)


@gradient(aten.avg_pool2d_backward.default)
def _avg_pool2d_backward(
    grad: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,  # noqa: ARG001
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Each output's share, spread by the stride, summed under the window."""
    if x.dim() != 4 or not is_static([*x.shape[2:], *grad.shape[2:]]) or 0 in grad.shape:
        return NotImplemented
    window, pads = each(kernel_size, 2), each(padding, 2)
    steps = each(stride, 2) if stride else window
    if window[0] + window[1] > _MOST_SLICES:
        return NotImplemented
    y = grad.to(compute_dtype(grad.dtype))
    if divisor_override:
        y = y / divisor_override
    else:
        for d in (2, 3):
            starts = range(-pads[d - 2], grad.shape[d] * steps[d - 2] - pads[d - 2], steps[d - 2])
            counts = [_count(s, window[d - 2], x.shape[d], pads[d - 2], count_include_pad) for s in starts]
            if len(set(counts)) == 1:
                y = y / counts[0]
                continue
            first = torch.arange(starts.start, starts.stop, starts.step, device=y.device)
            count = _count_tensor(first, window[d - 2], x.shape[d], pads[d - 2], count_include_pad)
            y = y / count.to(y.dtype).reshape([-1 if i == d else 1 for i in range(4)])
    for d, (size, step, before) in enumerate(zip(window, steps, pads, strict=True), 2):
        y = spread(y, d, step)
        left = size - 1 - before
        y = pad(y, d, left, x.shape[d] + size - 1 - y.shape[d] - left, 0)
        y = sum((y.narrow(d, i, x.shape[d]) for i in range(1, size)), start=y.narrow(d, 0, x.shape[d]))
    return y.to(grad.dtype)


def _count(start: int, window: int, size: int, padding: int, with_padding: bool) -> int:
    """How many elements the window at ``start`` counts along one dimension."""
    end = min(start + window, size + padding)
    return end - start if with_padding else min(end, size) - max(start, 0)


def _count_tensor(start: Tensor, window: int, size: int, padding: int, with_padding: bool) -> Tensor:
    """`_count` of each element: AOTAutograd takes no constants in its graphs."""
    end = (start + window).clamp(max=size + padding)
    return end - start if with_padding else end.clamp(max=size) - start.clamp(min=0)


@gradient(aten._adaptive_avg_pool2d_backward.default)
def _adaptive_avg_pool2d_backward(grad: Tensor, x: Tensor) -> Any:
    """Where all windows are equal: each element gets its window's share."""
    if not is_static([*x.shape[-2:], *grad.shape[-2:]]) or 0 in grad.shape:
        return NotImplemented
    steps = [size // outputs for size, outputs in zip(x.shape[-2:], grad.shape[-2:], strict=True)]
    if any(
        step * outputs != size
        for step, outputs, size in zip(steps, grad.shape[-2:], x.shape[-2:], strict=True)
    ):
        return NotImplemented
    *outer, height, width = grad.shape
    share = grad.to(compute_dtype(grad.dtype)) / (steps[0] * steps[1])
    spread_out = share.reshape(*outer, height, 1, width, 1).expand(*outer, height, steps[0], width, steps[1])
    return spread_out.reshape(x.shape).to(grad.dtype)
