"""Sums, products and variances, places of the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, ours


@ours(aten.sum.default, aten.sum.dim_IntList)
def _sum(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    """The cast to the sum's dtype comes first: torch-mlir's own takes uint8 for int8."""
    result = _total_dtype(x, dtype)
    return NotImplemented if x.dtype == result else x.to(result).sum(*args, **kwargs, dtype=result)


@ours(aten.prod.default, aten.prod.dim_int)
def _prod(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    result = _total_dtype(x, dtype)
    wide = product_dtype(result)
    if x.dtype == result == wide:
        return NotImplemented
    return x.to(result).to(wide).prod(*args, **kwargs, dtype=wide).to(result)


def _total_dtype(x: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    return dtype or (x.dtype if x.is_floating_point() else torch.int64)


def product_dtype(dtype: torch.dtype) -> torch.dtype:
    """f64 for f32: however products are grouped, each rounding is one of the whole, as none of a sum is."""
    return torch.float64 if dtype == torch.float32 else dtype


@ours(aten.mean.default, aten.mean.dim)
def _mean(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    return NotImplemented if dtype in (None, x.dtype) else x.to(dtype).mean(*args, **kwargs)


@ours(aten.trace.default)
def _trace(x: Tensor) -> Tensor:
    on_diagonal = torch.arange(x.shape[0]).unsqueeze(1) == torch.arange(x.shape[1])
    return torch.where(on_diagonal, x, torch.zeros((), dtype=x.dtype)).sum()


@ours(aten.any.default, aten.any.dim, aten.any.dims)
def _any(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Of uint8 the result is uint8, which torch-mlir does not know."""
    return NotImplemented if x.dtype != torch.uint8 else (x != 0).any(*args, **kwargs).to(torch.uint8)


@ours(aten.all.default, aten.all.dim)
def _all(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return NotImplemented if x.dtype != torch.uint8 else (x != 0).all(*args, **kwargs).to(torch.uint8)


@ours(aten.all.dims)
def _all_dims(x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """One dim after the other, from the last on; torch-mlir does not know several, or none, which is all."""
    dims = range(x.dim()) if not dim else [each % max(x.dim(), 1) for each in dim]
    holds = x != 0
    for each in sorted(dims, reverse=True):
        holds = holds.all(each, keepdim)
    return holds.to(torch.uint8) if x.dtype == torch.uint8 else holds


@ours(aten.max.default)
def _max_all(x: Tensor) -> Any:
    """torch-mlir crashes on 8-bit integers."""
    return x.reshape(-1).amax(0) if x.dtype in (torch.int8, torch.uint8) else NotImplemented


@ours(aten.min.default)
def _min_all(x: Tensor) -> Any:
    return x.reshape(-1).amin(0) if x.dtype in (torch.int8, torch.uint8) else NotImplemented


@ours(aten.var.correction)
def _var(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    """Two passes; torch-mlir's own goes through f64."""
    dims = list(range(x.dim())) if dim is None or len(dim) == 0 else [d % x.dim() for d in dim]
    y = x.to(compute_dtype(x.dtype))
    y = y - y.mean(dims, keepdim=True)
    count: Any = math.prod(x.shape[d] for d in dims)
    correction = 1 if correction is None else correction
    freedom: Any
    if isinstance(count, int):
        freedom = max(count - correction, 0)  # 0 / 0 or sum / 0, as eager has it
    else:  # the trace takes a dynamic size for 2 or more, which it need not be
        freedom = (torch.full((), count, dtype=torch.int64).to(y.dtype) - correction).clamp(min=0)
    return ((y * y).sum(dims, keepdim) / freedom).to(x.dtype)


@ours(aten.var_mean.correction)
def _var_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return torch.var(x, dim, correction=correction, keepdim=keepdim), x.mean(dim, keepdim)


@ours(aten.linalg_vector_norm.default)
def _vector_norm(
    x: Tensor,
    ord: float = 2,  # noqa: A002
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """The root of the sum of squares, which torch-mlir's own computes by powf; of one element |x|."""
    result = dtype or x.dtype
    if ord != 2 or not result.is_floating_point:
        return NotImplemented
    dims = list(range(x.dim())) if dim is None or len(dim) == 0 else dim
    y = x.to(result).to(compute_dtype(result))
    if all(isinstance(x.shape[d], int) and x.shape[d] == 1 for d in dims):  # its square may overflow
        norm = y.abs().sum(dims, keepdim) if dims else y.abs()
    else:
        norm = torch.sqrt((y * y).sum(dims, keepdim))
    return norm.to(result)


def _place(x: Tensor, best: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The first place along ``dim`` that holds ``best``, or NaN."""
    hit = x == best
    if x.is_floating_point():
        hit = hit | (x != x)
    shape = [1] * x.dim()
    shape[dim] = size = x.shape[dim]
    kind = torch.int32 if size < 2**31 else torch.int64  # half the registers, and twice the lanes
    return torch.where(hit, torch.arange(size, dtype=kind).reshape(shape), size).amin(dim, keepdim).long()


def _argbest(x: Tensor, dim: int | None, keepdim: bool, best: Any) -> Any:
    if x.dim() == 0 or not all(isinstance(size, int) for size in x.shape):
        return NotImplemented
    if dim is None:
        flat = x.reshape(-1)
        place = _place(flat, best(flat, 0, True), 0, False)
        return place.reshape([1] * x.dim()) if keepdim else place
    dim %= x.dim()
    return _place(x, best(x, dim, True), dim, keepdim)


@ours(aten.argmax.default)
def _argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The place of a NaN if there is one, which torch-mlir's own misses."""
    return _argbest(x, dim, keepdim, torch.amax)


@ours(aten.argmin.default)
def _argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _argbest(x, dim, keepdim, torch.amin)


@ours(aten.max.dim)
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    place = _argbest(x, dim, keepdim, torch.amax)
    return place if place is NotImplemented else (x.amax(dim, keepdim), place)


@ours(aten.min.dim)
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    place = _argbest(x, dim, keepdim, torch.amin)
    return place if place is NotImplemented else (x.amin(dim, keepdim), place)
