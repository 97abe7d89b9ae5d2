"""Signs of floats, zeros have one too, and the larger and smaller of what is no NaN."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.signbit.default)
def _signbit(x: Tensor) -> Tensor:
    """Whether ``x`` is negative or -0; that of a NaN counts as plus, whose bits no op here looks at."""
    if not x.is_floating_point():
        return x < 0
    return (x < 0) | ((x == 0) & (torch.reciprocal(x) < 0))


@ours(aten.copysign.Tensor)
def _copysign(x: Tensor, y: Tensor) -> Tensor:
    dtype = torch.result_type(x, y)
    dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
    size = x.to(dtype).abs()
    return torch.where(torch.signbit(y), -size, size)


@ours(aten.copysign.Scalar)
def _copysign_of_number(x: Tensor, y: float) -> Tensor:
    size = (x if x.is_floating_point() else x.to(torch.get_default_dtype())).abs()
    return -size if math.copysign(1, y) < 0 else size


@ours(aten.angle.default)
def _angle(x: Tensor) -> Tensor:
    """Of a real number: 0, pi if it is negative, NaN of a NaN."""
    y = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    turned = torch.where(y < 0, torch.full((), math.pi, dtype=y.dtype), torch.zeros((), dtype=y.dtype))
    return torch.where(y != y, y, turned)


@ours(aten.fmax.default)
def _fmax(x: Tensor, y: Tensor) -> Tensor:
    """NaN only if both are."""
    dtype = torch.result_type(x, y)
    a, b = x.to(dtype), y.to(dtype)
    return torch.where((a >= b) | (b != b), a, b) if dtype.is_floating_point else torch.maximum(a, b)


@ours(aten.fmin.default)
def _fmin(x: Tensor, y: Tensor) -> Tensor:
    dtype = torch.result_type(x, y)
    a, b = x.to(dtype), y.to(dtype)
    return torch.where((a <= b) | (b != b), a, b) if dtype.is_floating_point else torch.minimum(a, b)
