"""The decompositions for torch.compile: those of `mlopt.jit`, and those of this folder."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..decomposing.registry import aten
from ..decompositions import decomposition_table
from . import attention, convolution, pooling, random  # noqa: F401 (they register when they are imported)
from .registry import GRADIENTS

# Ops whose first result is contiguous in eager, whatever the strides of their operands.
_CONTIGUOUS = (
    aten._softmax.default,
    aten._log_softmax.default,
    aten.native_layer_norm.default,
    aten.scatter.src,
    aten.scatter.value,
    aten.scatter_add.default,
)


@functools.cache
def training_decompositions() -> dict[Any, Callable[..., Any]]:
    """The table for AOTAutograd.

    Without torch's version of ``full``, an empty tensor that is filled: the empty one might be
    kept for the backward.
    """
    table = {**decomposition_table(), **GRADIENTS}
    del table[aten.full.default]
    return {**table, **{op: _contiguous(table[op]) for op in _CONTIGUOUS if op in table}}


def _contiguous(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with a contiguous first result.

    A random op after it draws in the order of its memory, and gradients have eager's strides. In a program
    this costs nothing, as its values have no strides.
    """

    @functools.wraps(function)
    def decomposed(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if result is NotImplemented:
            return result
        if isinstance(result, tuple):
            return (result[0].contiguous(), *result[1:])
        return result.contiguous()

    return decomposed
