"""Products of 8-bit floats: summed in f32, scaled, and rounded once, after the bias.

``mlopt::mm_float8`` is the product alone. It is no product of what the factors are widened to: GPUs that
multiply 8-bit floats keep few bits of some sums of them, as eager's kernel does there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .contractions import sum_mm
from .registry import aten, ours

FORMATS = (torch.float8_e4m3fn, torch.float8_e5m2)
_RESULTS = (torch.float32, torch.bfloat16, torch.float16, *FORMATS)

_library = torch.library.Library("mlopt", "DEF")  # it is undefined when it is collected
_library.define("mm_float8(Tensor a, Tensor b) -> Tensor")


def _shape_of_product(a: Tensor, b: Tensor) -> Tensor:
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32)


_library.impl("mm_float8", _shape_of_product, "Meta")
mm_float8 = torch.ops.mlopt.mm_float8.default


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Of two formats one of f16, which has all numbers of both."""
    if a.dtype != b.dtype:
        return sum_mm(a.to(torch.float16), b.to(torch.float16))
    return mm_float8(a, b)


@ours(aten._scaled_mm.default)
def _scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Any:
    """Scales of tensors or of rows; eager's meta kernel has compared shapes and dtypes."""
    del use_fast_accum  # a permission to be less accurate
    out_dtype = out_dtype or a.dtype
    if scale_result is not None or {a.dtype, b.dtype} - {*FORMATS} or out_dtype not in _RESULTS:
        return NotImplemented
    scales = [scale.reshape(()) if scale.dim() < 2 else scale for scale in (scale_a, scale_b)]
    wanted = ((a.shape[0], 1), (1, b.shape[1]))
    if not all(
        statically_known_true(size == 1) or statically_known_true(size == whole)
        for scale, sizes in zip(scales, wanted, strict=True)
        for size, whole in zip(scale.shape, sizes, strict=False)
    ):
        return NotImplemented  # a scale for each part of the depth, or for several rows
    if bias is not None:
        columns, given = b.shape[1], bias.numel()
        torch._check(given == columns, lambda: f"Bias must be size {columns} but got {given}")
    y = _product(a, b) * scales[0] * scales[1]
    return (y if bias is None else y + bias).to(out_dtype)
