"""Where they register; what the backward ops of windows share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ..decomposing.registry import aten

GRADIENTS: dict[Any, Callable[..., Any]] = {}


def gradient(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function decomposes ``ops``; returning ``NotImplemented`` keeps the op."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        GRADIENTS.update(dict.fromkeys(ops, function))
        return function

    return register


def is_static(sizes: Sequence[Any]) -> bool:
    """Whether all ``sizes`` are known."""
    return all(isinstance(size, int) for size in sizes)


def each(value: Sequence[int], count: int) -> list[int]:
    """A parameter of a window for each of ``count`` dimensions."""
    return list(value) if len(value) == count else [value[0]] * count


def spread(x: Tensor, dim: int, step: int) -> Tensor:
    """``x`` with ``step - 1`` zeros after each element along ``dim``, but not after the last."""
    if step == 1:
        return x
    dim %= x.dim()
    size = x.shape[dim]
    y = pad(x.unsqueeze(dim + 1), dim + 1, 0, step - 1, 0)
    shape = [*x.shape[:dim], size * step, *x.shape[dim + 1 :]]
    return y.reshape(shape).narrow(dim, 0, (size - 1) * step + 1)


def pad(x: Tensor, dim: int, before: int, after: int, value: Any) -> Tensor:
    """Pad ``dim`` with ``value``; a negative number of places is cut off."""
    dim %= x.dim()
    cut_before, cut_after = max(-before, 0), max(-after, 0)
    if cut_before or cut_after:
        x = x.narrow(dim, cut_before, x.shape[dim] - cut_before - cut_after)
    before, after = max(before, 0), max(after, 0)
    if not before and not after:
        return x
    padding: Tensor = aten.constant_pad_nd(x, [0, 0] * (x.dim() - dim - 1) + [before, after], value)
    return padding
