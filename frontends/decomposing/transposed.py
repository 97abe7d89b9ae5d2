"""Transposed convolutions of one channel a group, which torch-mlir has not."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from .registry import aten


def is_transposed_depthwise(x: Tensor, weight: Tensor, is_transposed: bool, groups: int) -> bool:
    """Whether each channel of the result is made of one channel of ``x``, and each of ``x`` makes one."""
    return is_transposed and groups > 1 and x.shape[1] == groups and weight.shape[1] == 1


def transposed_depthwise(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
) -> Tensor:
    """The convolution, with its windows turned around, of ``x`` with zeros between its elements."""
    groups, dims = x.shape[1], range(2, weight.dim())
    pads: list[int] = []
    for d, step, pad, spread, extra in zip(dims, stride, padding, dilation, output_padding, strict=True):
        if step > 1:
            x = _spaced(x, d, step)
        around = spread * (weight.shape[d] - 1) - pad
        pads = [around, around + extra, *pads]
    zeros, ones = [0] * len(dims), [1] * len(dims)
    x = aten.constant_pad_nd(x, pads)
    return aten.convolution(x, weight.flip(list(dims)), bias, ones, zeros, dilation, False, zeros, groups)


def _spaced(x: Tensor, d: int, step: int) -> Tensor:
    """``x`` with ``step`` - 1 zeros between its elements along ``d``."""
    size = x.shape[d]
    parts = aten.constant_pad_nd(x.unsqueeze(d + 1), [0, 0] * (x.dim() - d - 1) + [0, step - 1])
    whole = parts.reshape(*x.shape[:d], size * step, *x.shape[d + 1 :])
    return whole.narrow(d, 0, (size - 1) * step + 1)
