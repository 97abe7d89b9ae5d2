"""Interpolation of images of bytes: weights of 16 bits, a dimension after the other, as eager has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch._decomp.decompositions import upsample_compute_output_size
from torch._prims_common import suggest_memory_format
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .registry import aten, ours

_MOST_BITS = 22  # of the fraction of a weight, of which the largest weight has 15 in all
_SHARPNESS = -0.75  # of the cubic


_OF_FLOATS = get_decompositions([aten.upsample_bicubic2d.default, aten.upsample_bicubic2d.vec])


@ours(aten.upsample_bicubic2d.default)
def _bicubic(x: Tensor, output_size: Sequence[Any], align_corners: bool, *scales: float | None) -> Any:
    if x.dtype != torch.uint8:
        return _OF_FLOATS[aten.upsample_bicubic2d.default](x, output_size, align_corners, *scales)
    return interpolated_bytes(x, output_size, align_corners, scales or (None, None), taps=4)


@ours(aten.upsample_bicubic2d.vec)
def _bicubic_vec(
    x: Tensor, output_size: Sequence[Any] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    if x.dtype != torch.uint8:
        return _OF_FLOATS[aten.upsample_bicubic2d.vec](x, output_size, align_corners, scale_factors)
    outputs = upsample_compute_output_size(x.shape, output_size, scale_factors)
    return interpolated_bytes(x, outputs, align_corners, scale_factors or (None, None), taps=4)


class _Weights(NamedTuple):
    """For each output the place of its first element, the weight of each, and the bits of their fraction."""

    first: Tensor
    of: list[Tensor]
    bits: Tensor


def interpolated_bytes(
    x: Tensor, outputs: Sequence[Any], align_corners: bool, factors: Sequence[float | None], *, taps: int
) -> Tensor:
    """Rows first; what they make is rounded to bytes. ``taps``: 2 for linear, 4 for cubic interpolation."""
    result = x
    for dim in (3, 2):
        size, output = x.shape[dim], outputs[dim - 2]
        if not statically_known_true(size == output):
            weights = _weights(size, output, align_corners, factors[dim - 2], taps)
            result = _along(result, dim, weights)
    return result.contiguous(memory_format=suggest_memory_format(x))


def _along(x: Tensor, dim: int, weights: _Weights) -> Tensor:
    shape = [-1] + [1] * (3 - dim)
    total = (torch.ones_like(weights.bits) << (weights.bits - 1)).reshape(())
    for number, weight in enumerate(weights.of):
        places = (weights.first + number).clamp(max=x.shape[dim] - 1)
        taken = aten._unsafe_index(x, [None] * dim + [places])
        total = total + taken.to(torch.int32) * weight.reshape(shape)
    return (total >> weights.bits).clamp(0, 255).to(torch.uint8)


def _weights(size: Any, output: Any, align_corners: bool, factor: float | None, taps: int) -> _Weights:
    """In f64; of neighbours beyond the first or the last element, that has the weights."""
    source = _places(size, output, align_corners, factor, is_linear=taps == 2)
    left = source.floor().to(torch.int64).clamp(max=size - 1)
    part = (source - left.to(torch.float64)).clamp(0.0, 1.0)
    before = taps // 2 - 1
    start, end = left - before, left - before + taps
    first = start.clamp(min=0)
    last = end.clamp(max=size) - first - 1
    sums = [torch.zeros_like(part) for _ in range(taps)]
    for number in range(taps):
        away = (number - before - part).abs()
        own = 1.0 - away if taps == 2 else _cubic_weight(away)
        place = (start + number - first).clamp(min=0)
        place = torch.minimum(place, last)
        sums = [each + torch.where(place == at, own, 0.0) for at, each in enumerate(sums)]
    largest = sums[0].amax()
    for each in sums[1:]:
        largest = torch.maximum(largest, each.amax())
    steps = (torch.ones((), dtype=torch.int64) << torch.arange(1, _MOST_BITS + 1)).to(torch.float64)
    bits = ((0.5 + largest * steps).to(torch.int64) < 1 << 15).sum().to(torch.int32)
    unit = (torch.ones((), dtype=torch.int64) << bits.to(torch.int64)).to(torch.float64)
    whole = [(each * unit + torch.where(each < 0, -0.5, 0.5)).to(torch.int32) for each in sums]
    return _Weights(first, whole, bits)


def _places(size: Any, output: Any, align_corners: bool, factor: float | None, *, is_linear: bool) -> Tensor:
    number = torch.arange(output).to(torch.float64)
    if align_corners:
        return number * ((size - 1.0) / (output - 1.0) if output > 1 else 0.0)
    step = 1.0 / factor if factor is not None and factor > 0 else size / output
    source = (number + 0.5) * step - 0.5
    return source.clamp(min=0.0) if is_linear else source


def _cubic_weight(distance: Tensor) -> Tensor:
    """The weight of what is so far away, at most 2."""
    a, d = _SHARPNESS, distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = (((d - 5) * d + 8) * d - 4) * a
    return torch.where(d < 1, near, far)
