"""Random ops: the numbers are drawn in eager, what is done with them is compiled."""

from __future__ import annotations

import torch
from torch import Tensor

from ..decomposing.registry import aten, compute_dtype
from ..graph_steps import by_strides
from .registry import gradient


@gradient(aten.native_dropout.default)
def _dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """The mask comes from the op, and so from the numbers, that eager's dropout takes it from.

    Eager fills a mask of ``x``'s strides in the order of memory, while `bernoulli` gives a
    contiguous result: it is drawn in that order, and permuted.
    """
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    order = by_strides(torch.empty_like(x))
    shape = [x.shape[d] for d in order]
    drawn = aten.bernoulli.p(torch.empty(shape, dtype=torch.bool, device=x.device), 1 - p)
    mask = drawn.permute([order.index(d) for d in range(x.dim())])
    return _scaled(x, mask, 1 / (1 - p)), mask


@gradient(aten.native_dropout_backward.default)
def _dropout_backward(grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    return _scaled(grad, mask, scale)


def _scaled(x: Tensor, mask: Tensor, scale: float) -> Tensor:
    y = x.to(compute_dtype(x.dtype))
    return (y * mask * scale).to(x.dtype)
