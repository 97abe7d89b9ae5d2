"""Linear interpolation of images: the weights that eager computes, 1 - t and t, each times its element."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._decomp.decompositions import upsample_compute_output_size
from torch._prims_common import suggest_memory_format
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .fixed_point import interpolated_bytes
from .registry import aten, compute_dtype, ours


@ours(aten.upsample_linear1d.default, aten.upsample_bilinear2d.default, aten.upsample_trilinear3d.default)
def _upsample(x: Tensor, output_size: Sequence[Any], align_corners: bool, *scales: float | None) -> Tensor:
    factors = scales or (None,) * len(output_size)
    return _interpolated(x, output_size, align_corners, factors)


@ours(aten.upsample_linear1d.vec, aten.upsample_bilinear2d.vec, aten.upsample_trilinear3d.vec)
def _upsample_vec(
    x: Tensor, output_size: Sequence[Any] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    outputs = upsample_compute_output_size(x.shape, output_size, scale_factors)
    return _interpolated(x, outputs, align_corners, scale_factors or (None,) * len(outputs))


class _Places(NamedTuple):
    """Two neighbours for each output along a dimension, and the weights of both."""

    left: Tensor
    right: Tensor
    of_left: Tensor
    of_right: Tensor


def _interpolated(
    x: Tensor, outputs: Sequence[Any], align_corners: bool, factors: Sequence[float | None]
) -> Tensor:
    """Torch's own takes a + t (b - a), whose difference is infinite where neither a nor b is."""
    if x.dtype == torch.uint8 and len(outputs) == 2:
        return interpolated_bytes(x, outputs, align_corners, factors, taps=2)
    dtype = compute_dtype(x.dtype) if x.is_floating_point() else torch.float32
    dims = len(outputs)
    along = []
    for dim, (size, output, factor) in enumerate(zip(x.shape[2:], outputs, factors, strict=True)):
        places = _places(size, output, align_corners, factor, dtype)
        along.append(_Places(*(each.reshape([-1] + [1] * (dims - 1 - dim)) for each in places)))
    corners = [
        aten._unsafe_index(x, [None, None, *(each[side] for each, side in zip(along, sides, strict=True))])
        for sides in product((0, 1), repeat=dims)
    ]
    values = [corner.to(dtype) for corner in corners]
    for each in reversed(along):  # the last dimension first, as eager has it
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [left * each.of_left + right * each.of_right for left, right in pairs]
    (result,) = values
    result = result if x.is_floating_point() else result.round()
    return result.to(x.dtype).contiguous(memory_format=suggest_memory_format(x))


def _places(size: Any, output: Any, align_corners: bool, factor: float | None, dtype: torch.dtype) -> _Places:
    """Where ``output`` elements lie among ``size``; as many as there are, are those, whatever ``factor``."""
    at = torch.arange(output)
    if statically_known_true(size == output):
        return _Places(at, at, torch.ones_like(at, dtype=dtype), torch.zeros_like(at, dtype=dtype))
    number = at.to(dtype)
    if align_corners:
        source = number * ((size - 1.0) / (output - 1.0) if output > 1 else 0.0)
    else:
        step = 1.0 / factor if factor is not None and factor > 0 else size / output
        source = ((number + 0.5) * step - 0.5).clamp(min=0.0)
    left = source.to(torch.int64).clamp(max=size - 1)
    of_right = (source - left.to(dtype)).clamp(max=1.0)
    return _Places(left, (left + 1).clamp(max=size - 1), 1.0 - of_right, of_right)
