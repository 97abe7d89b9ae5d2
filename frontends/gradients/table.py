"""The decompositions for torch.compile: those of `mlopt.jit`, and those of this folder."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..decomposing.registry import aten
from ..decompositions import decomposition_table
from . import attention, convolution, pooling, random
from .registry import GRADIENTS

# They register when they are imported.
_MODULES = (attention, convolution, pooling, random)


@functools.cache
def training_decompositions() -> dict[Any, Callable[..., Any]]:
    """The table for AOTAutograd.

    Without torch's version of ``full``, an empty tensor that is filled: the empty one might be
    kept for the backward.
    """
    table = {**decomposition_table(), **GRADIENTS}
    del table[aten.full.default]
    return table
