"""Element-wise ops."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, ours


@ours(aten.reciprocal.default)
def _reciprocal(x: Tensor) -> Tensor:
    """torch-mlir's own asserts that no element is zero; here 1 / 0 is inf."""
    dtype = x.dtype if x.is_floating_point() else torch.float32
    return torch.full((), 1.0, dtype=dtype) / x


@ours(aten.pow.Tensor_Scalar)
def _pow(x: Tensor, exponent: float) -> Any:
    """The exponents that eager has a short way for; else powf, or multiplications of integers."""
    if exponent == 1:
        return x.clone()
    if exponent == 2:
        return x * x
    if exponent == 3:
        return x * x * x
    if x.is_floating_point():
        if exponent == 0.5:
            return torch.sqrt(x)
        if exponent == -0.5:
            return torch.rsqrt(x)
        if exponent in (-1, -2):
            return torch.reciprocal(x if exponent == -1 else x * x)
        return NotImplemented if isinstance(exponent, float) else aten.pow(x, float(exponent))
    if isinstance(exponent, int) and 0 < exponent < 64:
        half = aten.pow(x, exponent // 2)
        return half * half * x if exponent % 2 else half * half
    return NotImplemented


@ours(aten.bitwise_left_shift.Tensor, aten.__lshift__.Tensor, aten.__lshift__.Scalar)
def _shift_left(x: Tensor, count: Any) -> Tensor:
    """A shift by the width or more, or by a negative number, gives 0."""
    count = torch.full((), count, dtype=x.dtype) if isinstance(count, int) else count
    inside = (count >= 0) & (count < torch.iinfo(x.dtype).bits)
    return torch.where(inside, torch.ops.prims.shift_left(x, torch.where(inside, count, 0)), 0)


@ours(aten.bitwise_right_shift.Tensor, aten.__rshift__.Tensor, aten.__rshift__.Scalar)
def _shift_right(x: Tensor, count: Any) -> Tensor:
    """A shift by the width or more, or by a negative number, leaves copies of the sign."""
    count = torch.full((), count, dtype=x.dtype) if isinstance(count, int) else count
    bits = torch.iinfo(x.dtype).bits
    inside = (count >= 0) & (count < bits)
    shifted = torch.ops.prims.shift_right_arithmetic(x, torch.where(inside, count, bits - 1))
    return torch.where(inside, shifted, 0) if x.dtype == torch.uint8 else shifted


@ours(aten.div.Tensor_mode)
def _div_mode(x: Tensor, y: Tensor, *, rounding_mode: str | None = None) -> Any:
    """8-bit integers, which torch-mlir refuses, by way of 32 bits."""
    if x.dtype not in (torch.int8, torch.uint8) or y.dtype != x.dtype:
        return NotImplemented
    return aten.div(x.to(torch.int32), y.to(torch.int32), rounding_mode=rounding_mode).to(x.dtype)


@ours(aten.gelu.default)
def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    y = x.to(compute_dtype(x.dtype))
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (y + 0.044715 * (y * y * y))
        return (0.5 * y * (1 + torch.tanh(inner))).to(x.dtype)
    return (0.5 * y * (1 + torch.erf(y * math.sqrt(0.5)))).to(x.dtype)
