"""How aten ops become the ops that torch-mlir lowers well.

torch's default table does most of it. The ops here have a version of our own, because the
usual one is wrong in some case, less accurate than eager, or slow to run. Composite ops
compute f16 and bf16 in f32 and round once, at the end, as eager does; for single ops widen.py
sees to that.

Returning ``NotImplemented`` keeps the op as it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions

aten = torch.ops.aten

OURS: dict[Any, Callable[..., Any]] = {}

# Default decompositions that lead to ops which torch-mlir does not know; it lowers these itself.
_KEEP = [
    aten.norm, aten.linalg_norm, aten.linalg_vector_norm, aten.roll, aten.one_hot, aten.empty_like,
    aten.all, aten.isfinite, aten.logaddexp, aten.logaddexp2, aten.eye, aten.isclose,
]  # fmt: skip

# Ops outside of torch's default table whose decomposition in torch is good.
_EXTRA = [
    aten.upsample_bilinear2d.vec, aten._native_batch_norm_legit_functional,
    aten._native_batch_norm_legit, aten._native_batch_norm_legit.no_stats, aten.squeeze.dims,
    aten._euclidean_dist, aten.grid_sampler_2d, aten._adaptive_avg_pool2d, aten.full, aten.logsumexp,
    aten._to_copy, aten.diag,
]  # fmt: skip


@functools.cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """The table for ``ExportedProgram.run_decompositions`` and for AOTAutograd."""
    table = dict(torch.export.default_decompositions().items())
    table = {op: function for op, function in table.items() if op._overloadpacket not in _KEEP}
    return {**table, **get_decompositions(_EXTRA), **OURS}


def _ours(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OURS.update(dict.fromkeys(ops, function))
        return function

    return register


def _is_low(dtype: torch.dtype) -> bool:
    return dtype in (torch.float16, torch.bfloat16)


def _compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """What eager computes in: f32 for the 16-bit floats."""
    return torch.float32 if _is_low(dtype) else dtype


# --- contractions


def _mm(a: Tensor, b: Tensor) -> Tensor:
    """a @ b with the result in the dtype that it is summed in."""
    return aten.mm.dtype(a, b, torch.float32) if _is_low(a.dtype) else aten.mm(a, b)


def _bmm(a: Tensor, b: Tensor) -> Tensor:
    return aten.bmm.dtype(a, b, torch.float32) if _is_low(a.dtype) else aten.bmm(a, b)


@_ours(aten.linear.default)
def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if weight.dim() != 2 or x.dim() == 0:
        return NotImplemented
    rows = x.reshape(-1, x.shape[-1]) if x.dim() != 2 else x
    y = _mm(rows, weight.t())
    y = (y if bias is None else y + bias).to(x.dtype)
    return y if x.dim() == 2 else y.reshape(*x.shape[:-1], weight.shape[0])


@_ours(aten.addmm.default)
def _addmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    y = _mm(a, b)
    if alpha != 1:
        y = y * alpha
    if beta == 0:  # c is not even read: its NaNs do not count
        return y.to(a.dtype)
    c = c.to(y.dtype)
    return (y + (c if beta == 1 else c * beta)).to(a.dtype)


@_ours(aten.baddbmm.default)
def _baddbmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    y = _bmm(a, b)
    if alpha != 1:
        y = y * alpha
    if beta == 0:
        return y.to(a.dtype)
    c = c.to(y.dtype)
    return (y + (c if beta == 1 else c * beta)).to(a.dtype)


@_ours(aten.matmul.default)
def _matmul(a: Tensor, b: Tensor) -> Tensor:
    """mm, or bmm; a matrix on the right is never copied once for each matrix on the left."""
    if a.dim() == 1 and b.dim() == 1:
        return (a * b).sum()
    if a.dim() == 1:
        return torch.matmul(a.unsqueeze(0), b).squeeze(-2)
    if b.dim() == 1:
        return torch.matmul(a, b.unsqueeze(1)).squeeze(-1)
    if b.dim() == 2:
        rows = a if a.dim() == 2 else a.reshape(-1, a.shape[-1])
        y = aten.mm(rows, b)
        return y if a.dim() == 2 else y.reshape(*a.shape[:-1], b.shape[-1])
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a3 = a.expand(*batch, *a.shape[-2:]).reshape(-1, *a.shape[-2:])
    b3 = b.expand(*batch, *b.shape[-2:]).reshape(-1, *b.shape[-2:])
    return aten.bmm(a3, b3).reshape(*batch, a.shape[-2], b.shape[-1])


@_ours(aten.scaled_dot_product_attention.default)
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """exp(s - max) @ v / sum: scores in f32, a row with nothing to attend to is zero.

    Query heads that share a key head (``enable_gqa``) become more rows of the one product,
    so keys and values are never repeated.
    """
    length, width = q.shape[-2:]
    span = k.shape[-2]
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        heads, group = k.shape[-3], q.shape[-3] // k.shape[-3]
    else:
        heads, group = None, 1
    q_batch = q.shape[:-2] if heads is None else (*q.shape[:-3], heads)
    batch = torch.broadcast_shapes(q_batch, k.shape[:-2], v.shape[:-2])
    q_rows = q if heads is None else q.reshape(*q.shape[:-3], heads, group * length, width)
    q3 = q_rows.expand(*batch, *q_rows.shape[-2:]).reshape(-1, group * length, width)
    k3 = k.expand(*batch, *k.shape[-2:]).reshape(-1, span, width)
    v3 = v.expand(*batch, *v.shape[-2:]).reshape(-1, span, v.shape[-1])
    outer = batch if heads is None else (*batch[:-1], heads * group)

    scores = _bmm(q3, k3.transpose(1, 2)).reshape(*outer, length, span)
    scores = scores * (1.0 / math.sqrt(width) if scale is None else scale)
    if is_causal:
        rows = torch.arange(length, dtype=torch.int32).unsqueeze(1)
        scores = torch.where(rows >= torch.arange(span, dtype=torch.int32), scores, -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = torch.where(attn_mask, scores, -math.inf)
        else:
            scores = scores + attn_mask
    top = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - torch.where(top == -math.inf, 0.0, top))
    total = weights.sum(-1, keepdim=True)
    total = torch.where(total == 0, 1.0, total)
    if dropout_p > 0:
        weights = torch.dropout(weights, dropout_p, True)
    out = _bmm(weights.to(v.dtype).reshape(-1, group * length, span), v3)
    return (out.reshape(*outer, length, v.shape[-1]) / total).to(q.dtype)


# --- rows: softmax and norms


@_ours(aten._softmax.default)
def _softmax(x: Tensor, dim: int, half_to_float: bool) -> Any:
    if x.numel() == 0 or x.dim() == 0:
        return torch.exp(x - x).to(torch.float32 if half_to_float else x.dtype)
    y = x.to(_compute_dtype(x.dtype))
    e = torch.exp(y - y.amax(dim, keepdim=True))
    return (e / e.sum(dim, keepdim=True)).to(torch.float32 if half_to_float else x.dtype)


@_ours(aten._log_softmax.default)
def _log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Any:
    if x.numel() == 0 or x.dim() == 0:
        return (x - x).to(torch.float32 if half_to_float else x.dtype)
    y = x.to(_compute_dtype(x.dtype))
    y = y - y.amax(dim, keepdim=True)
    y = y - torch.log(torch.exp(y).sum(dim, keepdim=True))
    return y.to(torch.float32 if half_to_float else x.dtype)


@_ours(aten.native_layer_norm.default)
def _layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = list(range(x.dim() - len(shape), x.dim()))
    y = x.to(_compute_dtype(x.dtype))
    mean = y.mean(dims, keepdim=True)
    y = y - mean
    rstd = torch.rsqrt((y * y).mean(dims, keepdim=True) + eps)
    y = y * rstd
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    return y.to(x.dtype), mean, rstd


@_ours(aten.rms_norm.default)
def _rms_norm(x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    dims = list(range(x.dim() - len(shape), x.dim()))
    y = x.to(_compute_dtype(x.dtype))
    eps = torch.finfo(y.dtype).eps if eps is None else eps
    y = y * torch.rsqrt((y * y).mean(dims, keepdim=True) + eps)
    return (y if weight is None else y * weight).to(x.dtype)


@_ours(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_inference(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """x * scale + shift, where scale and shift come from weights alone."""
    dtype = _compute_dtype(x.dtype)
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


@_ours(aten.native_group_norm.default)
def _group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, n: int, c: int, hw: int, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    y = x.to(_compute_dtype(x.dtype)).reshape(n, groups, -1)
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


# --- element-wise


@_ours(aten.reciprocal.default)
def _reciprocal(x: Tensor) -> Tensor:
    """torch-mlir's own asserts that no element is zero; here 1 / 0 is inf."""
    dtype = x.dtype if x.is_floating_point() else torch.float32
    return torch.full((), 1.0, dtype=dtype) / x


@_ours(aten.pow.Tensor_Scalar)
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


@_ours(aten.bitwise_left_shift.Tensor, aten.__lshift__.Tensor, aten.__lshift__.Scalar)
def _shift_left(x: Tensor, count: Any) -> Tensor:
    """A shift by the width or more, or by a negative number, gives 0."""
    count = torch.full((), count, dtype=x.dtype) if isinstance(count, int) else count
    inside = (count >= 0) & (count < torch.iinfo(x.dtype).bits)
    return torch.where(inside, torch.ops.prims.shift_left(x, torch.where(inside, count, 0)), 0)


@_ours(aten.bitwise_right_shift.Tensor, aten.__rshift__.Tensor, aten.__rshift__.Scalar)
def _shift_right(x: Tensor, count: Any) -> Tensor:
    """A shift by the width or more, or by a negative number, leaves copies of the sign."""
    count = torch.full((), count, dtype=x.dtype) if isinstance(count, int) else count
    bits = torch.iinfo(x.dtype).bits
    inside = (count >= 0) & (count < bits)
    shifted = torch.ops.prims.shift_right_arithmetic(x, torch.where(inside, count, bits - 1))
    return torch.where(inside, shifted, 0) if x.dtype == torch.uint8 else shifted


@_ours(aten.div.Tensor_mode)
def _div_mode(x: Tensor, y: Tensor, *, rounding_mode: str | None = None) -> Any:
    """8-bit integers, which torch-mlir refuses, by way of 32 bits."""
    if x.dtype not in (torch.int8, torch.uint8) or y.dtype != x.dtype:
        return NotImplemented
    return aten.div(x.to(torch.int32), y.to(torch.int32), rounding_mode=rounding_mode).to(x.dtype)


@_ours(aten.gelu.default)
def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    y = x.to(_compute_dtype(x.dtype))
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (y + 0.044715 * (y * y * y))
        return (0.5 * y * (1 + torch.tanh(inner))).to(x.dtype)
    return (0.5 * y * (1 + torch.erf(y * math.sqrt(0.5)))).to(x.dtype)


# --- reductions


@_ours(aten.var.correction)
def _var(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    """Two passes; torch-mlir's own goes through f64."""
    dims = list(range(x.dim())) if dim is None or len(dim) == 0 else [d % x.dim() for d in dim]
    y = x.to(_compute_dtype(x.dtype))
    y = y - y.mean(dims, keepdim=True)
    count = math.prod(x.shape[d] for d in dims)
    freedom = count - (1 if correction is None else correction)
    if isinstance(freedom, (int, float)) and freedom <= 0:  # 0 / 0 or sum / 0, as eager has it
        freedom = 0
    return ((y * y).sum(dims, keepdim) / freedom).to(x.dtype)


@_ours(aten.var_mean.correction)
def _var_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return torch.var(x, dim, correction=correction, keepdim=keepdim), x.mean(dim, keepdim)


@_ours(aten.cumsum.default)
def _cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """Each step adds the sums that end 1, 2, 4 … places before: log2(n) element-wise passes."""
    if x.dim() == 0 or not isinstance(x.shape[dim], int):
        return NotImplemented
    result = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    dim %= x.dim()
    y = x.to(_compute_dtype(result))
    shift = 1
    while shift < x.shape[dim]:
        before = [0, 0] * (x.dim() - dim - 1) + [shift, 0]
        y = y + aten.constant_pad_nd(y.narrow(dim, 0, x.shape[dim] - shift), before, 0)
        shift *= 2
    return y.to(result)
