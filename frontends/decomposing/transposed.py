"""Transposed convolutions with a stride: of each output only the elements of the window that meet an input.

torch-mlir puts zeros between the inputs, and multiplies by them: with a stride of 2 along two dims, four
times the work. But outputs whose places have the same rest by the stride, a phase, all have the same elements
of the window. So a phase is a plain convolution of a part of the window; phases with as many elements are one
convolution, with more channels, and all are put between each other. No zero is added to a window, which an
infinite input would make NaN. The window's parts depend on weights alone (@prepare).

On one thread of an AMD EPYC with AVX2, with ReLU: 64 to 32 channels, 16×16, window 4 and stride 2, batch 4:
7.9 to 0.97 ms (eager 1.4); 28×28, window 3, batch 1: 1.86 to 0.66 (0.86); 56×56, window 2: 2.9 to 1.07 (7.4).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .registry import aten


class _Phases(NamedTuple):
    """Along one dim: neighbouring phases, the first and how many, of ``taps`` elements each."""

    start: int
    width: int
    taps: int


class _Along(NamedTuple):
    """Along one dim: the stride, the output's size, and how many outputs before it are cut off."""

    stride: int
    size: int
    cut: int

    @property
    def first(self) -> int:
        return self.cut // self.stride

    @property
    def places(self) -> int:
        """How many places of each phase are made."""
        return (self.cut + self.size - 1) // self.stride - self.first + 1


def can_take_phases(x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int]) -> bool:
    """Whether sizes are known, and there are phases of which each has neighbours in the window."""
    sizes = (*x.shape[1:], *weight.shape)
    known = all(isinstance(size, int) and size > 0 for size in sizes)
    return known and x.dim() == weight.dim() and max(stride) > 1 and max(dilation) == 1


def transposed_in_phases(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """The transposed convolution, where `can_take_phases` says so."""
    rank, sizes = len(stride), weight.shape[2:]
    dims = zip(x.shape[2:], sizes, stride, padding, output_padding, strict=True)
    along = [_Along(s, (n - 1) * s - 2 * p + k + more, p) for n, k, s, p, more in dims]
    kinds = [_kinds(size, step) for size, step in zip(sizes, stride, strict=True)]
    parts = [_part(x, weight, bias, groups, along, chosen) for chosen in itertools.product(*kinds)]
    for d in reversed(range(rank)):
        width = len(kinds[d])
        parts = [torch.cat(parts[at : at + width], 2 + d) for at in range(0, len(parts), width)]
    # [batch, group, phases …, channels, places …], in whose order outputs are not
    between = [dim for d in range(rank) for dim in (3 + rank + d, 2 + d)]
    places = [each.places * each.stride for each in along]
    y = parts[0].permute(0, 1, 2 + rank, *between).reshape(x.shape[0], groups * weight.shape[1], *places)
    for d, each in enumerate(along, 2):
        y = y.narrow(d, each.cut % each.stride, each.size)
    return y.contiguous()


def _kinds(size: int, stride: int) -> list[_Phases]:
    """Of a window, phases with one element more than the others, and these."""
    whole, rest = divmod(size, stride)
    more = [_Phases(0, rest, whole + 1)] if rest else []
    return [*more, _Phases(rest, stride - rest, whole)]


def _part(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    groups: int,
    along: Sequence[_Along],
    chosen: Sequence[_Phases],
) -> Tensor:
    """The phases ``chosen`` along each dim: [batch, group, phases …, channels, places …]."""
    rank, channels = len(along), weight.shape[1]
    counts = [phases.width for phases in chosen]
    if bias is not None:
        bias = bias.reshape(groups, *[1] * rank, channels).expand(groups, *counts, channels)
    if not all(phases.taps for phases in chosen):
        shape = (x.shape[0], groups, *counts, channels, *(each.places for each in along))
        if bias is None:
            return torch.zeros((), dtype=x.dtype).expand(shape)
        return bias.reshape(*bias.shape, *[1] * rank).expand(shape)
    pads: list[int] = []
    for d, (each, phases) in enumerate(zip(along, chosen, strict=True), 2):
        before = phases.taps - 1 - each.first
        pads = [before, each.first + each.places - x.shape[d], *pads]
    window = _window(weight, groups, along, chosen)
    ones, zeros = [1] * rank, [0] * rank
    bias = None if bias is None else bias.reshape(window.shape[0])
    y: Tensor = aten.convolution(
        aten.constant_pad_nd(x, pads), window, bias, ones, zeros, ones, False, zeros, groups
    )
    return y.reshape(y.shape[0], groups, *counts, channels, *y.shape[2:])


def _window(weight: Tensor, groups: int, along: Sequence[_Along], chosen: Sequence[_Phases]) -> Tensor:
    """Their elements of the window, turned around: [group · phases … · channels, inputs, taps …]."""
    rank = len(along)
    w = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    for d, (each, phases) in enumerate(zip(along, chosen, strict=True)):
        dim = 3 + 2 * d
        size, wanted = w.shape[dim], phases.taps * each.stride
        w = aten.constant_pad_nd(w, [0, 0] * (w.dim() - dim - 1) + [0, wanted - size])
        w = w.reshape(*w.shape[:dim], phases.taps, each.stride, *w.shape[dim + 1 :])
        w = w.narrow(dim + 1, phases.start, phases.width)
    taps = [3 + 2 * d for d in range(rank)]
    w = w.flip(taps).permute(0, *(tap + 1 for tap in taps), 2, 1, *taps)
    return w.reshape(math.prod(w.shape[: rank + 2]), *w.shape[rank + 2 :])


def is_transposed_depthwise(x: Tensor, weight: Tensor, groups: int) -> bool:
    """Whether each channel of the result is made of one channel of ``x``, and each of ``x`` makes one.

    Those torch-mlir has not.
    """
    return groups > 1 and x.shape[1] == groups and weight.shape[1] == 1


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
