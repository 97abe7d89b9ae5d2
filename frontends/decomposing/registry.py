"""Where the decompositions register, and what they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

aten = torch.ops.aten

OURS: dict[Any, Callable[..., Any]] = {}


def ours(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function decomposes ``ops``; returning ``NotImplemented`` keeps the op."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        assert not OURS.keys() & set(ops), f"decomposed twice: {OURS.keys() & set(ops)}"
        OURS.update(dict.fromkeys(ops, function))
        return function

    return register


def count(sizes: Sequence[Any]) -> int:
    """How many elements for a reshape: -1 where a size is symbolic; a 0 would make -1 ambiguous."""
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else -1


def is_low(dtype: torch.dtype) -> bool:
    """The floats that eager does not compute in."""
    return dtype in (torch.float16, torch.bfloat16)


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """What eager computes in: f32 for the 16-bit floats."""
    return torch.float32 if is_low(dtype) else dtype
