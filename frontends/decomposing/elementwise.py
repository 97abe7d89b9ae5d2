"""Element-wise ops."""

from __future__ import annotations

import math
from collections.abc import Callable
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
    """Small whole exponents by multiplication, roots by sqrt; for the rest powf, never powi."""
    x = x.to(torch.result_type(x, exponent))
    if not x.is_floating_point():
        whole = isinstance(exponent, int) and 0 <= exponent < 64
        return _power(x, int(exponent)) if whole else NotImplemented
    y = x.to(compute_dtype(x.dtype))
    if abs(exponent) == 0.5:
        y = torch.sqrt(y) if exponent > 0 else torch.rsqrt(y)
    elif float(exponent).is_integer() and abs(exponent) <= 4:
        y = _power(y, int(abs(exponent)))
        y = y if exponent >= 0 else torch.reciprocal(y)
    else:
        y = torch.pow(y, torch.full((), exponent, dtype=y.dtype))
    return y.to(x.dtype)


def _power(x: Tensor, exponent: int) -> Tensor:
    if exponent == 0:
        return torch.ones_like(x)
    if exponent == 1:
        return x.clone()
    half = _power(x, exponent // 2) if exponent > 3 else x
    square = half * half
    return square * x if exponent % 2 else square


@ours(aten.pow.Scalar)
def _pow_of_number(base: float, exponent: Tensor) -> Any:
    if not exponent.is_floating_point():
        return NotImplemented
    y = exponent.to(compute_dtype(exponent.dtype))
    return torch.pow(torch.full((), base, dtype=y.dtype), y).to(exponent.dtype)


@ours(aten.gelu.default)
def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    y = x.to(compute_dtype(x.dtype))
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (y + 0.044715 * (y * y * y))
        return (0.5 * y * (1 + torch.tanh(inner))).to(x.dtype)
    return (0.5 * y * (1 + torch.erf(y * math.sqrt(0.5)))).to(x.dtype)


@ours(aten.rrelu_with_noise_backward.default)
def _rrelu_backward(
    grad: Tensor,
    x: Tensor,
    noise: Tensor,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    """torch-mlir takes the mean slope times x for the gradient where the slopes are not random."""
    if training and upper - lower > 1e-6:  # as eager has it
        return grad * noise
    return aten.leaky_relu_backward(grad, x, (lower + upper) / 2, self_is_result)


@ours(aten.leaky_relu.default)
def _leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """torch-mlir's own multiplies zeros by the slope, which may be infinite or NaN."""
    y = x.to(compute_dtype(x.dtype))
    return torch.where(y > 0, y, y * slope).to(x.dtype)


@ours(aten.elu.default)
def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """Also selu and celu. Exact near 0, whose sign stays; torch-mlir's own is exp - 1."""
    y = x.to(compute_dtype(x.dtype))
    return torch.where(y < 0, torch.expm1(y * input_scale) * (alpha * scale), y * scale).to(x.dtype)


@ours(aten.trunc.default)
def _trunc(x: Tensor) -> Tensor:
    """-0.5 and -0 to -0; torch-mlir's own loses the sign."""
    return torch.where(x < 0, torch.ceil(x), torch.floor(x)) if x.is_floating_point() else x.clone()


@ours(aten.maximum.default)
def _maximum(x: Tensor, y: Tensor) -> Any:
    """NaN wins, whichever operand it is; torch-mlir's own loses that of ``x``."""
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented if x.dtype == y.dtype else torch.maximum(x.to(dtype), y.to(dtype))
    return torch.where((x >= y) | (x != x), x, y)


@ours(aten.minimum.default)
def _minimum(x: Tensor, y: Tensor) -> Any:
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented if x.dtype == y.dtype else torch.minimum(x.to(dtype), y.to(dtype))
    return torch.where((x <= y) | (x != x), x, y)


@ours(aten.hardtanh.default)
def _hardtanh(x: Tensor, low: float = -1, high: float = 1) -> Tensor:
    if not x.is_floating_point():
        low, high = int(low), int(high)
    return torch.clamp(x, low, high)


@ours(aten.clamp.default)
def _clamp(x: Tensor, min: float | None = None, max: float | None = None) -> Any:  # noqa: A002
    """NaN stays, and a bound that is NaN gives NaN; torch-mlir's own makes a bound of it."""
    low, high = min, max
    if x.dtype not in (torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64):
        dtype = x.dtype
        for bound in (low, high):
            dtype = dtype if bound is None else torch.promote_types(dtype, torch.result_type(x, bound))
        return NotImplemented if dtype == x.dtype else torch.clamp(x.to(dtype), low, high)
    if not x.is_floating_point():
        return NotImplemented
    if any(bound is not None and bound != bound for bound in (low, high)):
        return torch.full_like(x, math.nan)
    if low is not None:
        x = torch.where(x < low, torch.full((), low, dtype=x.dtype), x)
    if high is not None:
        x = torch.where(x > high, torch.full((), high, dtype=x.dtype), x)
    return x


@ours(aten.clamp.Tensor)
def _clamp_tensors(x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:  # noqa: A002
    x = x if min is None else torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)


@ours(aten.logaddexp.default)
def _logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """NaN stays, beside an infinity, too; torch-mlir's own takes the infinity."""
    return _log_of_sum(x, y, lambda difference: torch.log1p(torch.exp(difference)))


@ours(aten.logaddexp2.default)
def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    return _log_of_sum(x, y, lambda difference: torch.log1p(torch.exp2(difference)) / math.log(2))


def _log_of_sum(x: Tensor, y: Tensor, grow: Callable[[Tensor], Tensor]) -> Tensor:
    """The larger, and what the smaller adds to it; of two equal infinities the infinity."""
    dtype = torch.result_type(x, y)
    a, b = x.to(compute_dtype(dtype)), y.to(compute_dtype(dtype))
    total = torch.where(a > b, a, b) + grow(-(a - b).abs())
    return torch.where((a == b) & (a.abs() == math.inf), a, total).to(dtype)


@ours(aten.hypot.default)
def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """From the ratio of the two, whose square neither overflows nor counts where it underflows.

    An infinity beside a NaN is infinite, as in C.
    """
    dtype = torch.result_type(x, y)
    a, b = x.to(compute_dtype(dtype)).abs(), y.to(compute_dtype(dtype)).abs()
    larger, smaller = torch.where(a > b, a, b), torch.where(a > b, b, a)
    ratio = smaller / torch.where(larger == 0, 1, larger)
    is_infinite = (a == math.inf) | (b == math.inf)
    return torch.where(is_infinite, math.inf, larger * torch.sqrt(1 + ratio * ratio)).to(dtype)


@ours(aten.expm1.default)
def _expm1(x: Tensor) -> Any:
    """Of f64: exp(x) - 1 times x / log(exp(x)), whose errors cancel; the compiler's own is for f32."""
    if x.dtype != torch.float64:
        return NotImplemented
    u = torch.exp(x)
    grown = u - 1
    exact = torch.where((u == math.inf) | (grown == -1), grown, grown * x / torch.log(u))
    return torch.where(u == 1, x, exact)


@ours(aten.log1p.default)
def _log1p(x: Tensor) -> Any:
    if x.dtype != torch.float64:
        return NotImplemented
    u = x + 1
    exact = torch.where(u == math.inf, u, torch.log(u) * x / (u - 1))
    return torch.where(u == 1, x, exact)
