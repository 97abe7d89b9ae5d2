"""Decompositions for training: what is in backward graphs, and random ops.

A mask of dropout is drawn in eager, by the very op that eager's dropout draws it with; what
is done with it is compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .decomposing.registry import aten
from .decompositions import decomposition_table


def _native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    mask = aten.bernoulli.p(torch.empty_like(x, dtype=torch.bool), 1 - p)
    return x * mask * (1 / (1 - p)), mask


@functools.cache
def training_decompositions() -> dict[Any, Callable[..., Any]]:
    """The table for AOTAutograd."""
    table = dict(decomposition_table())
    table[aten.native_dropout.default] = _native_dropout
    return table
