"""The gradients of a convolution are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..decomposing.registry import aten, compute_dtype
from ..decomposing.transposed import can_take_phases, transposed_in_phases
from .registry import each, gradient, is_static, pad, spread


class _Window(NamedTuple):
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int


@gradient(aten.convolution_backward.default)
def _convolution_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],  # noqa: ARG001 (seen in the sizes)
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """In terms of plain convolutions; f16 and bf16 in f32, rounded once.

    A transposed convolution is what a plain one's gradient for its input is, so ``x`` and ``grad`` change
    places.
    """
    count = weight.dim() - 2
    if x.dim() != count + 2 or not is_static([*weight.shape, *x.shape[2:], *grad.shape[2:]]):
        return NotImplemented
    if 0 in x.shape or 0 in grad.shape:
        return NotImplemented
    window = _Window(each(stride, count), each(padding, count), each(dilation, count), groups)
    bias = grad.to(compute_dtype(grad.dtype)).sum([0, *range(2, 2 + count)]).to(grad.dtype)
    if transposed:
        for_input, for_weight = _through(grad, x, weight, window), _for_weight(x, grad, weight, window)
    else:
        for_input, for_weight = _for_input(grad, x, weight, window), _for_weight(grad, x, weight, window)
    return (
        for_input if output_mask[0] else None,
        for_weight if output_mask[1] else None,
        bias if output_mask[2] and bias_sizes is not None else None,
    )


def _through(grad: Tensor, x: Tensor, weight: Tensor, window: _Window) -> Tensor:
    """The convolution whose gradient a transposed one is, without places to spare (of an output padding)."""
    zeros = [0] * len(window.stride)
    whole = aten.convolution(grad, weight, None, *window[:3], False, zeros, window.groups)
    for d in range(2, weight.dim()):
        whole = whole.narrow(d, 0, x.shape[d])
    return whole


def _for_input(grad: Tensor, x: Tensor, weight: Tensor, window: _Window) -> Tensor:
    """A transposed convolution; or the outputs' gradients, spread by the stride, under the window turned."""
    if can_take_phases(grad, weight, window.stride, window.dilation):
        made = zip(grad.shape[2:], weight.shape[2:], window.stride, window.padding, strict=True)
        sizes = [(size - 1) * step + reach - 2 * before for size, reach, step, before in made]
        more = [size - made for size, made in zip(x.shape[2:], sizes, strict=True)]
        return transposed_in_phases(grad, weight, None, window.stride, window.padding, more, window.groups)
    for d, (step, before, spacing) in enumerate(zip(*window[:3], strict=True), 2):
        grad = spread(grad, d, step)
        reach = spacing * (weight.shape[d] - 1)
        left = reach - before
        grad = pad(grad, d, left, x.shape[d] + reach - grad.shape[d] - left, 0)
    (outputs, inputs, *sizes), groups = weight.shape, window.groups
    split = weight.reshape(groups, outputs // groups, inputs, *sizes).transpose(1, 2)
    turned = split.reshape(groups * inputs, outputs // groups, *sizes).flip(list(range(2, weight.dim())))
    zeros, ones = [0] * len(sizes), [1] * len(sizes)
    return aten.convolution(grad, turned, None, ones, zeros, window.dilation, False, zeros, groups)


def _for_weight(grad: Tensor, x: Tensor, weight: Tensor, window: _Window) -> Tensor:
    """The images, with channels for batch, under the outputs' gradients as windows."""
    (batch, channels), (stride, padding, dilation, groups) = x.shape[:2], window
    if groups > 1:
        split = x.reshape(batch, groups, channels // groups, *x.shape[2:])
        images = split.permute(2, 1, 0, *range(3, split.dim()))
        images = images.reshape(channels // groups, groups * batch, *x.shape[2:])
    else:
        images = x.transpose(0, 1)
    zeros = [0] * len(stride)
    whole = aten.convolution(
        images, grad.transpose(0, 1), None, dilation, padding, stride, False, zeros, groups
    )
    for d in range(2, weight.dim()):  # a stride that does not divide leaves places to spare
        whole = whole.narrow(d, 0, weight.shape[d])
    turned: Tensor = whole.transpose(0, 1)
    return torch.clone(turned, memory_format=torch.contiguous_format)
