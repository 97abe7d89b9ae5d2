"""Tensors without dimensions: ops that take a dimension see one of size 1, as in eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from .registry import aten, ours

# Their result has the shape of the operand when that has no dimensions.
ALONG_A_DIMENSION = (
    aten.amax.default, aten.amin.default, aten.argmax.default, aten.argmin.default, aten.max.dim,
    aten.min.dim, aten.prod.dim_int, aten.any.dim, aten.any.dims, aten.all.dim, aten.all.dims,
    aten.var.correction, aten.var_mean.correction, aten.cumprod.default, aten.flip.default,
    aten.linalg_vector_norm.default,
)  # fmt: skip


def with_a_dimension(op: Any, decompose: Callable[..., Any] | None) -> Callable[..., Any]:
    """``decompose``, or else keep the op; but of a tensor without dimensions, ``op`` of its one element."""

    def decomposition(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dim() == 0:
            results = op(x.reshape(1), *args, **kwargs)
            return pytree.tree_map_only(Tensor, lambda result: result.reshape(()), results)
        return NotImplemented if decompose is None else decompose(x, *args, **kwargs)

    return decomposition


@ours(aten.gather.default)
def _gather(x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Any:  # noqa: ARG001 (of training)
    if x.dim() > 0 and index.dim() > 0:
        return NotImplemented
    row = x.reshape(1) if x.dim() == 0 else x
    return aten.gather(row, dim, index.reshape(-1)).reshape(index.shape)
