"""Integer arithmetic: what torch-mlir gets wrong, or crashes on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours


@ours(aten.neg.default)
def _neg(x: Tensor) -> Any:
    """Integers: torch-mlir's own goes through f32."""
    return NotImplemented if x.is_floating_point() else torch.zeros((), dtype=x.dtype) - x


@ours(aten.abs.default)
def _abs(x: Tensor) -> Any:
    """torch-mlir's own takes uint8 for int8."""
    return x.clone() if x.dtype == torch.uint8 else NotImplemented


@ours(aten.full_like.default)
def _full_like(x: Tensor, number: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    """torch-mlir has none of uint8, and takes a constant for one of int8, unless it cannot see it is one."""
    if (dtype or x.dtype) != torch.uint8:
        return NotImplemented
    return (torch.arange(1) + number).to(torch.uint8).reshape(()).expand(x.shape).clone()


@ours(aten.mul.Tensor)
def _mul(x: Tensor, y: Any) -> Any:
    """An 8-bit integer by a number or a bool: torch-mlir crashes."""
    if isinstance(y, Tensor):
        dtype = torch.result_type(x, y)
        if x.dtype == y.dtype or dtype.is_floating_point or dtype.is_complex:
            return NotImplemented
        return x.to(dtype) * y.to(dtype)
    if x.dtype not in (torch.int8, torch.uint8) or not isinstance(y, int):
        return NotImplemented
    return x * torch.full((), y, dtype=x.dtype)


@ours(aten.sub.Tensor)
def _sub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """A number from an 8-bit integer: torch-mlir crashes."""
    if not isinstance(x, Tensor) or x.dtype not in (torch.int8, torch.uint8) or not isinstance(y, int):
        return NotImplemented
    return x - torch.full((), y * alpha).to(x.dtype)


@ours(aten.bitwise_and.Scalar)
def _bitwise_and(x: Tensor, number: int) -> Tensor:
    return x & torch.full((), number, dtype=x.dtype)


@ours(aten.bitwise_or.Scalar)
def _bitwise_or(x: Tensor, number: int) -> Tensor:
    return x | torch.full((), number, dtype=x.dtype)


@ours(aten.bitwise_xor.Scalar)
def _bitwise_xor(x: Tensor, number: int) -> Tensor:
    return x ^ torch.full((), number, dtype=x.dtype)


def _promoted(x: Any, count: Any) -> tuple[Tensor, Tensor]:
    """What is shifted, and by how much, in the result's dtype and shape: prims broadcast numbers alone."""
    if isinstance(count, int):
        return x, torch.full((), count, dtype=x.dtype)
    x = x if isinstance(x, Tensor) else torch.full((), x, dtype=count.dtype)
    common = torch.result_type(x, count)
    x, count = torch.broadcast_tensors(x.to(common), count.to(common))
    return x, count


@ours(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Scalar_Tensor,
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
)
def _shift_left(x: Any, count: Any) -> Tensor:
    """A shift by the width or more, or by a negative number, gives 0."""
    x, count = _promoted(x, count)
    inside = (count >= 0) & (count < torch.iinfo(x.dtype).bits)
    return torch.where(inside, torch.ops.prims.shift_left(x, torch.where(inside, count, 0)), 0)


@ours(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Scalar_Tensor,
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
)
def _shift_right(x: Any, count: Any) -> Tensor:
    """A shift by the width or more, or by a negative number, leaves copies of the sign."""
    x, count = _promoted(x, count)
    bits = torch.iinfo(x.dtype).bits
    inside = (count >= 0) & (count < bits)
    shifted = torch.ops.prims.shift_right_arithmetic(x, torch.where(inside, count, bits - 1))
    return torch.where(inside, shifted, 0) if x.dtype == torch.uint8 else shifted
