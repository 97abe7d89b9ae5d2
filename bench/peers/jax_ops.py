"""What the ops of an exported graph are in JAX, by the names that torch.export gives them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def _batch_norm(
    x: Array, weight: Array, bias: Array, mean: Array, var: Array,
    training: bool, momentum: float, eps: float, *_: Any,
) -> Array:  # fmt: skip
    del training, momentum
    scale = weight * lax.rsqrt(var + eps)
    return x * scale[:, None, None] + (bias - mean * scale)[:, None, None]


def _conv2d(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Array:
    result = lax.conv_general_dilated(
        x, weight, stride, [(each, each) for each in padding], rhs_dilation=dilation,
        feature_group_count=groups,
    )  # fmt: skip
    return result if bias is None else result + bias[:, None, None]


def _cross_entropy(x: Array, labels: Array) -> Array:
    logs = jax.nn.log_softmax(x, axis=-1)
    return -jnp.take_along_axis(logs, labels[:, None], axis=-1).mean()


def _layer_norm(
    x: Array, shape: Sequence[int], weight: Array, bias: Array, eps: float = 1e-5, *_: Any
) -> Array:
    del shape
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + eps) * weight + bias


def _linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    result = x @ weight.T
    return result if bias is None else result + bias


def _max_pool2d(
    x: Array, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int] = (0, 0)
) -> Array:
    pads = ((0, 0), (0, 0), *((each, each) for each in padding))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *kernel), (1, 1, *stride), pads)


def _rms_norm(x: Array, shape: Sequence[int], weight: Array, eps: float) -> Array:
    del shape
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def _attention(
    q: Array, k: Array, v: Array, mask: None = None, dropout: float = 0.0, causal: bool = False
) -> Array:
    del mask, dropout
    scores = q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v


def _split(x: Array, size: int, dim: int = 0) -> list[Array]:
    return jnp.split(x, list(range(size, x.shape[dim], size)), axis=dim)


OPS: dict[str, Callable[..., Any]] = {
    "getitem": operator.getitem,
    "aten.add.Tensor": operator.add,
    "aten.arange.default": lambda count, **_: jnp.arange(count),
    "aten.batch_norm.default": _batch_norm,
    "aten.bitwise_not.default": operator.inv,
    "aten.contiguous.default": lambda x: x,
    "aten.conv2d.default": _conv2d,
    "aten.cross_entropy_loss.default": _cross_entropy,
    "aten.div.Tensor": operator.truediv,
    "aten.embedding.default": lambda table, indices: table[indices],
    "aten.flatten.using_ints": lambda x, start: x.reshape(*x.shape[:start], -1),
    "aten.gelu.default": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "aten.layer_norm.default": _layer_norm,
    "aten.linear.default": _linear,
    "aten.masked_fill.Scalar": lambda x, mask, value: jnp.where(mask, value, x),
    "aten.matmul.default": operator.matmul,
    "aten.max_pool2d.default": _max_pool2d,
    "aten.mean.dim": lambda x, dims: x.mean(tuple(dims)),
    "aten.mul.Tensor": operator.mul,
    "aten.relu.default": jax.nn.relu,
    "aten.reshape.default": jnp.reshape,
    "aten.rms_norm.default": _rms_norm,
    "aten.scaled_dot_product_attention.default": _attention,
    "aten.sigmoid.default": jax.nn.sigmoid,
    "aten.softmax.int": lambda x, dim: jax.nn.softmax(x, axis=dim),
    "aten.split.Tensor": _split,
    "aten.sum.default": jnp.sum,
    "aten.sum.dim_IntList": lambda x, dims: x.sum(tuple(dims)),
    "aten.t.default": jnp.transpose,
    "aten.transpose.int": jnp.swapaxes,
    "aten.unsqueeze.default": jnp.expand_dims,
    "aten.view.default": jnp.reshape,
}
