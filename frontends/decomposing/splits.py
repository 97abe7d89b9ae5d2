"""Splits into parts of symbolic sizes, which torch-mlir does not take apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from .registry import aten, ours


@ours(aten.split_with_sizes.default)
def _split(x: Tensor, sizes: Sequence[Any], dim: int = 0) -> Any:
    """One slice a part."""
    if all(isinstance(size, int) for size in sizes):
        return NotImplemented
    parts, start = [], 0
    for size in sizes:
        parts.append(aten.slice.Tensor(x, dim, start, start + size))
        start += size
    return parts
