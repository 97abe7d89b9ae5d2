"""Special functions that torch-mlir has not, of those that kernels compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, ours

# Chebyshev coefficients of log(erfc(x) / t) + x², t = 2 / (2 + x): Numerical Recipes, 3rd edition, 6.2.2.
_ERFC = (
    -1.3026537197817094, 6.4196979235649026e-1, 1.9476473204185836e-2, -9.561514786808631e-3,
    -9.46595344482036e-4, 3.66839497852761e-4, 4.2523324806907e-5, -2.0278578112534e-5,
    -1.624290004647e-6, 1.303655835580e-6, 1.5626441722e-8, -8.5238095915e-8, 6.529054439e-9,
    5.059343495e-9, -9.91364156e-10, -2.27365122e-10, 9.6467911e-11, 2.394038e-12, -6.886027e-12,
    8.94487e-13, 3.13092e-13, -1.12708e-13, 3.81e-16, 7.106e-15, -1.523e-15, -9.4e-17, 1.21e-16, -2.8e-17,
)  # fmt: skip
# A first guess at erfinv, in the middle and at the ends, as eager's: numerators and denominators.
_MIDDLE = (-0.140543331, 0.914624893, -1.645349621, 0.886226899)
_BELOW_MIDDLE = (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
_ENDS = (1.641345311, 3.429567803, -1.624906493, -1.970840454)
_BELOW_ENDS = (1.637067800, 3.543889200, 1.0)
# Lanczos' approximation of gamma(1 + x), g = 7.
_GAMMA = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip


@ours(aten.erfc.default)
def _erfc(x: Tensor) -> Tensor:
    """1 - erf(x) where that is no small difference, else exp of a polynomial: small numbers stay exact."""
    y = x.to(compute_dtype(x.dtype) if x.is_floating_point() else torch.float32)
    z = torch.where(y > 0.5, y, 0.5)
    t = 2 / (2 + z)
    twice = 4 * t - 2
    last, before = torch.zeros_like(t), torch.zeros_like(t)
    for number in reversed(_ERFC[1 : 14 if y.dtype == torch.float32 else None]):
        last, before = twice * last - before + number, last
    tail = t * torch.exp(0.5 * (_ERFC[0] + twice * last) - before - z * z)
    erfc = torch.where(y > 0.5, tail, 1 - torch.erf(y))
    return erfc.to(x.dtype) if x.is_floating_point() else erfc


@ours(aten.erfinv.default)
def _erfinv(x: Tensor) -> Tensor:
    """Two steps of Newton's method behind a guess, as eager's."""
    y = x.to(compute_dtype(x.dtype) if x.is_floating_point() else torch.float32)
    square, size = y * y, y.abs()
    end = torch.sqrt(-torch.log((1 - size) / 2))
    at_ends = _polynomial(end, _ENDS) / _polynomial(end, _BELOW_ENDS)
    middle = y * (_polynomial(square, _MIDDLE) / _polynomial(square, _BELOW_MIDDLE))
    guess = torch.where(size <= 0.7, middle, torch.where(y < 0, -at_ends, at_ends))
    for _ in range(2):
        guess = guess - (torch.erf(guess) - y) / (2 / math.sqrt(math.pi) * torch.exp(-(guess * guess)))
    found = torch.where(size < 1, guess, torch.where(size == 1, y * math.inf, math.nan))
    return found.to(x.dtype) if x.is_floating_point() else found


@ours(aten.lgamma.default)
def _lgamma(x: Tensor) -> Any:
    """In f64, where what cancels around its zeros is no part of an f32; below 1/2 by reflection."""
    if x.dtype == torch.float64:
        return NotImplemented
    y = x.to(torch.float64)
    z = torch.where(y < 0.5, -y, y - 1)
    t = z + 7.5
    total = torch.full_like(z, _GAMMA[0])
    for place, number in enumerate(_GAMMA[1:], 1):
        total = total + number / (z + place)
    above = math.log(2 * math.pi) / 2 + (z + 0.5) * torch.log(t) - t + torch.log(total)
    wave = torch.sin(math.pi * (y - torch.round(y))).abs()
    found = torch.where(y < 0.5, torch.log(math.pi / wave) - above, above)
    found = torch.where(y.abs() == math.inf, math.inf, found)
    return found.to(x.dtype if x.is_floating_point() else torch.float32)


def _polynomial(x: Tensor, numbers: Sequence[float]) -> Tensor:
    """Horner's scheme; the highest power's number comes first."""
    total = torch.full_like(x, numbers[0])
    for number in numbers[1:]:
        total = total * x + number
    return total
