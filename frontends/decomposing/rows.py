"""Softmax and the norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, ours


@ours(aten._softmax.default)
def _softmax(x: Tensor, dim: int, half_to_float: bool) -> Any:
    if x.numel() == 0 or x.dim() == 0:
        return torch.exp(x - x).to(torch.float32 if half_to_float else x.dtype)
    y = x.to(compute_dtype(x.dtype))
    e = torch.exp(y - y.amax(dim, keepdim=True))
    return (e / e.sum(dim, keepdim=True)).to(torch.float32 if half_to_float else x.dtype)


@ours(aten._log_softmax.default)
def _log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Any:
    if x.numel() == 0 or x.dim() == 0:
        return (x - x).to(torch.float32 if half_to_float else x.dtype)
    y = x.to(compute_dtype(x.dtype))
    y = y - y.amax(dim, keepdim=True)
    y = y - torch.log(torch.exp(y).sum(dim, keepdim=True))
    return y.to(torch.float32 if half_to_float else x.dtype)


@ours(aten.native_layer_norm.default)
def _layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    y = x.to(compute_dtype(x.dtype))
    mean = y.mean(dims, keepdim=True)
    y = y - mean
    rstd = torch.rsqrt((y * y).mean(dims, keepdim=True) + eps)
    y = y * rstd
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    return y.to(x.dtype), mean, rstd


@ours(aten.rms_norm.default)
def _rms_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    dims = list(range(x.dim() - len(shape), x.dim()))
    y = x.to(compute_dtype(x.dtype))
    eps = torch.finfo(y.dtype).eps if eps is None else eps
    y = y * torch.rsqrt((y * y).mean(dims, keepdim=True) + eps)
    return (y if weight is None else y * weight).to(x.dtype)


@ours(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_inference(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,  # noqa: ARG001 (of training)
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """``x * scale + shift``, where scale and shift come from weights alone."""
    dtype = compute_dtype(x.dtype)
    scale = torch.rsqrt(running_var.to(dtype) + eps)
    if weight is not None:
        scale = scale * weight
    shift = -running_mean * scale
    if bias is not None:
        shift = shift + bias
    channels = [-1] + [1] * (x.dim() - 2)
    y = x.to(dtype) * scale.reshape(channels) + shift.reshape(channels)
    empty = x.new_empty((0,), dtype=dtype)
    return y.to(x.dtype), empty, empty


@ours(aten.native_group_norm.default)
def _group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    n: int,
    c: int,
    hw: int,
    groups: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    y = x.to(compute_dtype(x.dtype)).reshape(n, groups, c // groups * hw)
    mean = y.mean(2, keepdim=True)
    y = y - mean
    rstd = torch.rsqrt((y * y).mean(2, keepdim=True) + eps)
    y = (y * rstd).reshape(x.shape)
    channels = [-1] + [1] * (x.dim() - 2)
    if weight is not None:
        y = y * weight.reshape(channels)
    if bias is not None:
        y = y + bias.reshape(channels)
    return y.to(x.dtype), mean.squeeze(2), rstd.squeeze(2)
