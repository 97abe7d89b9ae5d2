"""The registry: which module, with which inputs, in which dtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import basic, transformers, vision
from .basic import Function, Mlp

F32 = torch.float32
FLOATS = (torch.float32, torch.bfloat16, torch.float16)
ALL_FLOATS = (*FLOATS, torch.float64)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@dataclass(frozen=True)
class Case:
    """A module and inputs; `inputs` are as ``dtype`` asks, equal for equal ``seed``."""

    name: str
    factory: Callable[[], nn.Module]
    make: Callable[[torch.Generator, torch.dtype], tuple[Tensor, ...]]
    dtypes: tuple[torch.dtype, ...] = FLOATS
    dynamic: tuple[dict[int, Any], ...] | None = None
    """For a dynamic batch: for each input its dynamic dimensions, {0: "batch"} mostly."""

    def module(self, dtype: torch.dtype = F32, seed: int = 0) -> nn.Module:
        """The module in evaluation mode, weights random from ``seed``, floats in ``dtype``."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # of the CPU alone: torch.manual_seed notes its caller
            module = self.factory().eval()
        return module.to(dtype) if dtype.is_floating_point else module

    def inputs(self, dtype: torch.dtype = F32, seed: int = 0) -> tuple[Tensor, ...]:
        """Example inputs."""
        return self.make(torch.Generator().manual_seed(seed), dtype)

    def dynamic_shapes(self) -> Any:
        """What torch.export takes as ``dynamic_shapes``."""
        if self.dynamic is None:
            return None
        dims: dict[str, Any] = {}
        for spec in self.dynamic:
            for name in spec.values():
                dims.setdefault(name, torch.export.Dim(name))
        shapes = tuple({d: dims[name] for d, name in spec.items()} for spec in self.dynamic)
        module = self.factory()
        return (shapes,) if isinstance(module, Function) else shapes


CASES: dict[str, Case] = {}
DEMO: dict[str, Case] = {}

Maker = Callable[[torch.Generator, torch.dtype], tuple[Tensor, ...]]


def randn(*shapes: tuple[int, ...]) -> Maker:
    """Normal numbers; integers from -9 to 9, unsigned from 1."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        return tuple(_random(shape, generator, dtype) for shape in shapes)

    return make


def _random(shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    if dtype == torch.bool:
        return torch.randn(shape, generator=generator) > 0
    low = 0 if dtype == torch.uint8 else -9
    return torch.randint(low, 10, shape, generator=generator).to(dtype)


def nonzero_second(shape: tuple[int, ...]) -> Maker:
    """Two integer tensors, no zero in the second."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        x, y = (_random(shape, generator, dtype) for _ in range(2))
        return x, torch.where(y == 0, torch.ones_like(y), y)

    return make


def with_indices(limit: int, count: tuple[int, ...], *shapes: tuple[int, ...]) -> Maker:
    """Float tensors and, as second input, indices below ``limit``, all different if they fit."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        total = int(torch.Size(count).numel())
        many = total > limit
        flat = (
            torch.randint(limit, (total,), generator=generator)
            if many
            else torch.randperm(limit, generator=generator)
        )
        tensors = [_random(shape, generator, dtype) for shape in shapes]
        return (*tensors[:1], flat[:total].reshape(count), *tensors[1:])

    return make


def _add(name: str, factory: Callable[[], nn.Module], make: Maker, **options: Any) -> None:
    CASES[name] = Case(name, factory, make, **options)


def _function(name: str, function: Callable[..., Any], make: Maker, **options: Any) -> None:
    _add(name, lambda: Function(function), make, **options)


BATCH = ({0: "batch"},)

# The seeds of the tutorials.
_function("relu_scale", basic.relu_scale, randn((7, 33)), dtypes=ALL_FLOATS, dynamic=BATCH)
_function("gelu_by_hand", basic.gelu_by_hand, randn((7, 33)), dtypes=ALL_FLOATS, dynamic=BATCH)
_function(
    "sigmoid_layer", basic.sigmoid_layer, randn((5, 17), (17, 13), (13,)), dynamic=({0: "batch"}, {}, {})
)
_function("normalize_by_sum", basic.normalize_by_sum, randn((7, 33)), dtypes=ALL_FLOATS, dynamic=BATCH)

# Element-wise.
_function("activations", basic.activations, randn((3, 37)), dtypes=ALL_FLOATS, dynamic=BATCH)
_function("transcendental", basic.transcendental, randn((3, 37)), dtypes=ALL_FLOATS)
_function("compare_and_select", basic.compare_and_select, randn((5, 19), (5, 19)), dtypes=ALL_FLOATS)
_function("broadcast", lambda x, y, z: x * y + z, randn((4, 1, 7), (5, 1), ()), dtypes=ALL_FLOATS)
_function("casts", basic.casts, randn((3, 17)), dtypes=(*ALL_FLOATS, *INTS))
_function("scalars", lambda x: (x + 0.1, 3 - x, x / 7, 2 / x, x**2, x % 0.7), randn((11,)), dtypes=ALL_FLOATS)
_function("zero_dim", lambda x, y: x * y - x, randn((), ()), dtypes=ALL_FLOATS)
_function("empty", lambda x: (x + 1, x.sum(0)), randn((0, 5)), dtypes=ALL_FLOATS)

# Rows and reductions.
_function("softmax", lambda x: x.softmax(-1), randn((7, 33)), dtypes=ALL_FLOATS, dynamic=BATCH)
_function("softmax_inner", lambda x: x.softmax(1), randn((3, 11, 5)))
_function("log_softmax_loss", basic.log_softmax_loss, with_indices(10, (6,), (6, 10)))
_function("reductions", basic.reductions, randn((3, 5, 17)), dtypes=ALL_FLOATS)
_function("arg_reductions", basic.arg_reductions, randn((5, 19)), dtypes=(*ALL_FLOATS, torch.int32))
_function("cumulative", basic.cumulative, randn((4, 13)), dtypes=(*ALL_FLOATS, torch.int64))
_add("layer_norm", lambda: nn.LayerNorm(33), randn((7, 33)), dtypes=ALL_FLOATS, dynamic=BATCH)
_add("rms_norm", lambda: nn.RMSNorm(33, eps=1e-5), randn((2, 7, 33)))
_add("group_norm", lambda: nn.GroupNorm(3, 6), randn((2, 6, 5, 7)))
_add("batch_norm", lambda: nn.BatchNorm1d(19), randn((6, 19)), dtypes=ALL_FLOATS, dynamic=BATCH)

# Contractions.
_function("matmuls", basic.matmuls, randn((7, 13), (13, 19)), dtypes=(*ALL_FLOATS, torch.int32))
_function(
    "bmm", torch.bmm, randn((3, 7, 13), (3, 13, 19)), dtypes=ALL_FLOATS, dynamic=({0: "batch"}, {0: "batch"})
)
_function("einsums", basic.einsums, randn((2, 5, 7), (2, 7, 3)))
_add("linear_gelu", lambda: nn.Sequential(nn.Linear(17, 37), nn.GELU("tanh")), randn((5, 17)), dynamic=BATCH)
_add("mlp", lambda: Mlp((19, 33, 32, 7), nn.ReLU()), randn((5, 19)), dtypes=ALL_FLOATS, dynamic=BATCH)
_add("mlp_silu", lambda: Mlp((16, 48, 9), nn.SiLU(), bias=False), randn((2, 3, 16)), dynamic=BATCH)
_add("lstm_cell", lambda: basic.Recurrent(5, 9, 3), randn((2, 3, 5), (2, 9), (2, 9)))

# Shapes, concatenation, indices.
_function("shapes", basic.shapes, randn((3, 5, 8)), dtypes=(*ALL_FLOATS, torch.int32))
_function("concat_and_pad", basic.concat_and_pad, randn((3, 7), (3, 5)), dtypes=ALL_FLOATS)
_function("indexing", basic.indexing, with_indices(7, (7,), (7, 5)), dtypes=ALL_FLOATS)
_function("scatter", basic.scatter, with_indices(7, (3,), (7, 5), (3, 5)), dtypes=(F32, torch.float64))
_function("sorting", basic.sorting, randn((4, 9)), dtypes=(F32, torch.float64))
_function("triangles", basic.triangles, randn((5, 7)), dtypes=ALL_FLOATS)
_add("embedding", lambda: basic.EmbeddingSum(23, 11, 9), with_indices(23, (2, 6)))
_add("counter", basic.Counter, randn((3, 5)), dtypes=(F32,))

# Integers and booleans.
_function("integers", basic.integers, nonzero_second((3, 11)), dtypes=INTS)
_function("bits", basic.bits, randn((3, 11), (3, 11)), dtypes=INTS)
_function("booleans", basic.booleans, randn((3, 11), (3, 11)), dtypes=(torch.bool,))

# Images.
_add("conv_bn_relu", lambda: vision.ConvBnRelu(3, 5), randn((2, 3, 11, 9)), dtypes=ALL_FLOATS, dynamic=BATCH)
_add("conv_stride_groups", lambda: vision.ConvBnRelu(6, 8, 3, 2, 2), randn((1, 6, 13, 10)))
_add("conv1d_dilated", lambda: vision.DilatedConv1d(5, 3), randn((2, 5, 17)))
_function(
    "conv_dilated", lambda x, w, b: F.conv2d(x, w, b, dilation=2), randn((1, 3, 9, 10), (4, 3, 3, 3), (4,))
)
_function("pools", lambda x: vision.Pools()(x), randn((2, 3, 11, 9)), dtypes=ALL_FLOATS)
_add("lenet", vision.LeNet, randn((2, 1, 28, 28)), dynamic=BATCH)
_add("inverted_residual", lambda: vision.InvertedResidual(6, 3), randn((2, 6, 7, 7)))
_add("resnet_small", lambda: vision.ResNet((8, 16, 24, 32), 1, 11), randn((2, 3, 33, 33)), dynamic=BATCH)

# Attention and transformers.
QKV = ((2, 3, 7, 8), (2, 3, 11, 8), (2, 3, 11, 5))


def _masked(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
    mask = torch.rand((2, 1, 7, 11), generator=generator) > 0.3
    mask[0, 0, 2] = False  # a row with nothing to attend to
    return (*randn(*QKV)(generator, dtype), mask)


def _biased(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return randn(*QKV, (7, 11))(generator, dtype)


def _padded(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
    mask = torch.arange(9) < torch.tensor([[9], [4]])
    return (*randn((2, 9, 24))(generator, dtype), mask)


_add("attention", transformers.Attention, randn(*QKV), dtypes=ALL_FLOATS)
_add("attention_causal", lambda: transformers.Attention(True), randn(*[(2, 3, 7, 8)] * 3))
_add("attention_masked", transformers.Attention, _masked)
_add("attention_biased", lambda: transformers.Attention(scale=0.3), _biased)
_add(
    "attention_grouped",
    lambda: transformers.Attention(True, True),
    randn((2, 6, 7, 8), (2, 2, 7, 8), (2, 2, 7, 8)),
)
_add("self_attention", lambda: transformers.SelfAttention(24, 3), randn((2, 7, 24)), dynamic=BATCH)
_add("gpt2_block_small", lambda: transformers.Gpt2Block(24, 3), randn((2, 7, 24)), dynamic=BATCH)
_add("gpt2_small", lambda: transformers.Gpt2(29, 12, 24, 3, 2), with_indices(29, (2, 9)), dynamic=BATCH)
_add("llama_block", lambda: transformers.LlamaBlock(32, 4, 2, 16), randn((2, 9, 32)), dynamic=BATCH)
_add("bert_block", lambda: transformers.BertBlock(24, 3), _padded, dynamic=({0: "batch"}, {0: "batch"}))
_add("vit", lambda: transformers.Vit(16, 4, 24, 3, 11), randn((2, 3, 16, 16)), dynamic=BATCH)
_add("mixer_block", lambda: transformers.MixerBlock(9, 20), randn((2, 9, 20)), dynamic=BATCH)

DEMO["resnet18"] = Case("resnet18", vision.resnet18, randn((1, 3, 224, 224)))
DEMO["gpt2_block"] = Case("gpt2_block", transformers.gpt2_block, randn((1, 128, 768)))
