"""Division with a rounding mode, remainders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, ours


def _tensor(value: Any, dtype: torch.dtype) -> Tensor:
    return value.to(dtype) if isinstance(value, Tensor) else torch.full((), value, dtype=dtype)


def _by_32_bits(operation: Callable[[Tensor, Tensor], Tensor], x: Any, y: Any) -> Any:
    """8-bit integers, on which torch-mlir crashes, or which it refuses."""
    dtype = torch.result_type(x, y)
    if dtype not in (torch.int8, torch.uint8):
        return NotImplemented
    wide = torch.int32
    return operation(_tensor(_tensor(x, dtype), wide), _tensor(_tensor(y, dtype), wide)).to(dtype)


@ours(aten.div.Tensor_mode, aten.div.Scalar_mode)
def _div_mode(x: Tensor, y: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return _floor_divide(x, y)
    if rounding_mode is None:
        return NotImplemented
    return _by_32_bits(lambda a, b: torch.div(a, b, rounding_mode=rounding_mode), x, y)


@ours(aten.fmod.Tensor, aten.fmod.Scalar)
def _fmod(x: Tensor, y: Any) -> Any:
    """Of floats: as a remainder, which is exact; torch-mlir's own is x - trunc(x / y) * y."""
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return _rest(torch.fmod, x, y)
    wide = compute_dtype(dtype)
    a, b = _tensor(x, wide), _tensor(_tensor(y, dtype), wide)
    rest = torch.remainder(a.abs(), b.abs())
    rest = torch.where(a < 0, -rest, rest)
    return torch.where((a == 0) & (rest == 0), a, rest).to(dtype)


@ours(aten.remainder.Tensor, aten.remainder.Scalar)
def _remainder(x: Tensor, y: Any) -> Any:
    return _rest(torch.remainder, x, y)


def _rest(operation: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Any) -> Any:
    """Unlike products, eager rounds a number to the result's dtype first: 0.7 to bf16."""
    done = _by_32_bits(operation, x, y)
    if done is not NotImplemented or isinstance(y, Tensor):
        return done
    return operation(x, torch.full((), y, dtype=torch.result_type(x, y)))


@ours(aten.floor_divide.default, aten.floor_divide.Scalar)
def _floor_divide(x: Tensor, y: Any) -> Any:
    """Of floats: exact where the quotient's rounding would reach the next integer; inf // 2 is NaN."""
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return _by_32_bits(torch.floor_divide, x, y)
    wide = compute_dtype(dtype)
    a, b = _tensor(x, wide), _tensor(y, wide)  # a number is not rounded to f16 first, unlike in _rest
    rest = torch.fmod(a, b)
    quotient = (a - rest) / b
    quotient = torch.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    floor = torch.floor(quotient)
    floor = torch.where(quotient - floor > 0.5, floor + 1, floor)
    plain = a / b
    floor = torch.where(quotient != 0, floor, plain * 0)
    return torch.where(b != 0, floor, plain).to(dtype)
