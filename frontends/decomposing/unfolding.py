"""The windows of an image as columns (`F.unfold`): copies of whole rows, where torch gathers each element.

One thread of a Zen 3 core, microseconds (torch's decomposition, this, eager): 16 channels of 56x56 by 3x3
936, 63, 703; 8 of 32x32 by 5x5 376, 26, 317; patches of 4x4 of 3x224x224 350, 28, 264.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions

from .indices import static
from .registry import aten, count, ours
from .target import gathers_by_element

# Each place of a window is a copy of its own in the kernel.
MOST_PLACES = 64
_GATHERED = get_decompositions([aten.im2col.default])[aten.im2col.default]


@ours(aten.im2col.default)
def _im2col(
    x: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    """Slices of all first elements, of all second ones, and so on; patches side by side are a transposition.

    A GPU gathers what is no patch, in one kernel with what comes after it.
    """
    if not static(x.shape[-3:], kernel_size, dilation, padding, stride):
        return _GATHERED(x, kernel_size, dilation, padding, stride)
    (height, width), (down, right) = kernel_size, padding
    are_patches = list(kernel_size) == list(stride) and list(dilation) == [1, 1]
    if not are_patches and (not gathers_by_element() or height * width > MOST_PLACES):
        return _GATHERED(x, kernel_size, dilation, padding, stride)
    x = aten.constant_pad_nd(x, [right, right, down, down])
    rows, columns = (
        (size - spread * (window - 1) - 1) // step + 1
        for size, window, spread, step in zip(x.shape[-2:], kernel_size, dilation, stride, strict=True)
    )
    shape = (*x.shape[:-3], x.shape[-3] * height * width, rows * columns)
    if are_patches:
        x = x[..., : rows * height, : columns * width]
        patches = x.reshape(count(x.shape[:-2]), rows, height, columns, width)
        return patches.permute(0, 2, 4, 1, 3).reshape(shape)
    parts = [
        x[..., top : top + (rows - 1) * stride[0] + 1 : stride[0], :][
            ..., left : left + (columns - 1) * stride[1] + 1 : stride[1]
        ]
        for top in range(0, height * dilation[0], dilation[0])
        for left in range(0, width * dilation[1], dilation[1])
    ]
    return torch.stack(parts, -3).reshape(shape)
