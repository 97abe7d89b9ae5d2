"""Positions as floats and bytes: torch-mlir computes in their dtype how many there are, and their steps."""

from __future__ import annotations

from typing import Any

import torch

from .registry import aten, ours


@ours(aten.arange.start_step)
def _arange(start: Any, end: Any, step: Any = 1, *, dtype: torch.dtype | None = None, **others: Any) -> Any:
    """Of integers in int64, rounded once: f16 has no 2049, and no 65520, for a number of elements.

    torch-mlir crashes on positions in 8 bits.
    """
    whole = all(isinstance(each, (int, torch.SymInt)) for each in (start, end, step))
    if dtype is None or not (dtype.is_floating_point or dtype.itemsize == 1) or not whole:
        return NotImplemented
    return torch.arange(start, end, step, dtype=torch.int64, device=others.get("device")).to(dtype)
