"""Ops of operands of different dtypes, which torch-mlir compares as they are: a true bool is then -1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .registry import aten, ours


def _promoting(op: Any) -> Callable[[Tensor, Tensor], Any]:
    """``op`` on the dtype that eager promotes both operands to."""

    def promoted(x: Tensor, y: Tensor) -> Any:
        if x.dtype == y.dtype:
            return NotImplemented
        dtype = torch.result_type(x, y)
        return op(x.to(dtype), y.to(dtype))

    return promoted


def _of_numbers(op: Any) -> Callable[[Tensor, float], Any]:
    """``op`` of bools and a number, both as numbers."""

    def compared(x: Tensor, number: float) -> Any:
        dtype = torch.result_type(x, number)
        return NotImplemented if x.dtype != torch.bool or dtype == x.dtype else op(x.to(dtype), number)

    return compared


for _op in (aten.eq, aten.ne, aten.lt, aten.le, aten.gt, aten.ge):
    ours(_op.Tensor)(_promoting(_op.Tensor))
    ours(_op.Scalar)(_of_numbers(_op.Scalar))
for _op in (aten.bitwise_and, aten.bitwise_or, aten.bitwise_xor):
    ours(_op.Tensor)(_promoting(_op.Tensor))


@ours(aten.where.self)
def _where(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    if x.dtype == y.dtype:
        return NotImplemented
    dtype = torch.result_type(x, y)
    return torch.where(condition, x.to(dtype), y.to(dtype))
