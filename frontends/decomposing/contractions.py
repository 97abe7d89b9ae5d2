"""Matrix products: f16 and bf16 are summed in f32 and rounded once, after the bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, count, is_low, ours
from .transposed import (
    can_take_phases,
    is_transposed_depthwise,
    transposed_depthwise,
    transposed_in_phases,
)


def sum_mm(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` with the result in the dtype that it is summed in."""
    return aten.mm.dtype(a, b, torch.float32) if is_low(a.dtype) else aten.mm(a, b)


def sum_bmm(a: Tensor, b: Tensor) -> Tensor:
    """`sum_mm` for stacks of matrices."""
    return aten.bmm.dtype(a, b, torch.float32) if is_low(a.dtype) else aten.bmm(a, b)


@ours(aten.mm.default, aten.bmm.default)
def _small_integers(a: Tensor, b: Tensor) -> Any:
    """torch-mlir crashes on 8-bit integers; the sum of 32 bits wraps to the same 8."""
    if a.dtype not in (torch.int8, torch.uint8):
        return NotImplemented
    return torch.matmul(a.to(torch.int32), b.to(torch.int32)).to(a.dtype)


@ours(aten.convolution.default)
def _convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    is_transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """The same for convolutions."""
    if x.dtype in (torch.int8, torch.uint8):
        wide = torch.int32
        bias = None if bias is None else bias.to(wide)
        rest = stride, padding, dilation, is_transposed, output_padding, groups
        return aten.convolution(x.to(wide), weight.to(wide), bias, *rest).to(x.dtype)
    if not is_transposed:
        return NotImplemented
    if can_take_phases(x, weight, stride, dilation):
        return transposed_in_phases(x, weight, bias, stride, padding, output_padding, groups)
    if is_transposed_depthwise(x, weight, groups):
        return transposed_depthwise(x, weight, bias, stride, padding, dilation, output_padding)
    return NotImplemented


@ours(aten.linear.default)
def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if weight.dim() != 2 or x.dim() == 0:
        return NotImplemented
    rows = x.reshape(count(x.shape[:-1]), x.shape[-1]) if x.dim() != 2 else x
    y = sum_mm(rows, weight.t())
    y = (y if bias is None else y + bias).to(x.dtype)
    return y if x.dim() == 2 else y.reshape(*x.shape[:-1], weight.shape[0])


@ours(aten.addmm.default)
def _addmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _scaled_sum(c, sum_mm(a, b), beta, alpha).to(a.dtype)


@ours(aten.baddbmm.default)
def _baddbmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _scaled_sum(c, sum_bmm(a, b), beta, alpha).to(a.dtype)


def _scaled_sum(c: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    if not product.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha
    if beta == 0:  # c is not even read: its NaNs do not count
        return product
    c = c.to(product.dtype)
    return product + (c if beta == 1 else c * beta)


@ours(aten.matmul.default)
def _matmul(a: Tensor, b: Tensor) -> Tensor:
    """mm, or bmm; a matrix on the right is never copied once for each matrix on the left."""
    if a.dim() == 1 and b.dim() == 1:
        return (a * b).sum()
    if a.dim() == 1:
        return torch.matmul(a.unsqueeze(0), b).squeeze(-2)
    if b.dim() == 1:
        return torch.matmul(a, b.unsqueeze(1)).squeeze(-1)
    if b.dim() == 2:
        rows = a if a.dim() == 2 else a.reshape(count(a.shape[:-1]), a.shape[-1])
        y = aten.mm(rows, b)
        return y if a.dim() == 2 else y.reshape(*a.shape[:-1], b.shape[-1])
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a3 = a.expand(*batch, *a.shape[-2:]).reshape(count(batch), *a.shape[-2:])
    b3 = b.expand(*batch, *b.shape[-2:]).reshape(count(batch), *b.shape[-2:])
    return aten.bmm(a3, b3).reshape(*batch, a.shape[-2], b.shape[-1])
