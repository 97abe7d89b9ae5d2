"""The operations that fusion lives for: none is a matrix product, each should run at the speed of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...test.corpus.basic import Function, gelu_by_hand, normalize_by_sum, relu_scale
from ...test.corpus.cases import Case, Maker, randn

F64, F32, F16, BF16 = torch.float64, torch.float32, torch.float16, torch.bfloat16


@dataclass(frozen=True)
class Operation:
    """A module in one dtype, at a size that is large enough for the layouts of a large one."""

    name: str
    case: Case
    dtype: torch.dtype

    def module(self) -> nn.Module:
        """The module."""
        return self.case.module(self.dtype)

    def inputs(self) -> tuple[Tensor, ...]:
        """Random inputs."""
        return self.case.inputs(self.dtype)


def scaled_sigmoid(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.sigmoid(torch.relu(x * w + b))


def residual_gelu(x: Tensor, residual: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias) + residual


def softmax(x: Tensor) -> Tensor:
    return x.softmax(-1)


def column_softmax(x: Tensor) -> Tensor:
    return x.softmax(0)


def log_softmax(x: Tensor) -> Tensor:
    return x.log_softmax(-1)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], weight)


def column_sum(x: Tensor) -> Tensor:
    return x.sum(0)


def transpose(x: Tensor) -> Tensor:
    return x.t().contiguous()


def swiglu(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def geglu(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, -1)
    return F.gelu(gate) * up


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def concat(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y], -1)


def gather(x: Tensor, columns: Tensor) -> Tensor:
    return x.gather(1, columns)


def lookup(tokens: Tensor, table: Tensor) -> Tensor:
    return F.embedding(tokens, table)


def nll(x: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(x, target)


def max_pool(x: Tensor) -> Tensor:
    return F.max_pool2d(x, 2)


def mean_pool(x: Tensor) -> Tensor:
    return x.mean((2, 3))


def row_sum(x: Tensor) -> Tensor:
    return x.sum(-1)


def outer_sum(x: Tensor) -> Tensor:
    return x.sum((0, 2))


def column_max(x: Tensor) -> Tensor:
    return x.amax(0)


def argmax(x: Tensor) -> Tensor:
    return x.argmax(-1)


def column_argmax(x: Tensor) -> Tensor:
    return x.argmax(0)


def normalize_batch(x: Tensor, mean: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.batch_norm(x, mean, weight.abs(), weight, bias)


def shuffle_pixels(x: Tensor) -> Tensor:
    return F.pixel_shuffle(x, 2)


def interleaved_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def concat_rows(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y])


def drop_first(x: Tensor) -> Tensor:
    return x[:, 1:]


def greater(x: Tensor, y: Tensor) -> Tensor:
    return x > y


def keep(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(y != 0, x, 0)


def invert(x: Tensor) -> Tensor:
    return ~x


def flip(x: Tensor) -> Tensor:
    return x.flip(-1)


def dequantize(x: Tensor, scale: Tensor) -> Tensor:
    return (x.float() * scale).bfloat16()


def float8(shape: tuple[int, ...], *others: tuple[int, ...]) -> Maker:
    """Random tensors, the first in 8 bits, the others in float32."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        first, *rest = randn(shape, *others)(generator, F32)
        return (first.to(dtype), *rest)

    return make


def numbers(below: int, shape: tuple[int, ...], *others: tuple[int, ...], first: bool = True) -> Maker:
    """Random tensors, and an index tensor of ``shape`` before or after them."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        index = torch.randint(below, shape, generator=generator)
        rest = randn(*others)(generator, dtype)
        return (index, *rest) if first else (*rest, index)

    return make


def places(below: int, count: int, *others: tuple[int, ...]) -> Maker:
    """``count`` numbers, none of them twice, and random tensors.

    What comes again is in a cache or not by how far apart the two are: that would tell of the inputs. Of 512
    random rows of 1000 an A100 moves each once (its cache is larger), the gates' small chip 1.04 times.
    """

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        return (torch.randperm(below, generator=generator)[:count], *randn(*others)(generator, dtype))

    return make


_BOTH = (F32, BF16)
_SMALL, _WIDE, _PART = (512, 1024), (128, 4096), (128, 1024)
_SPOTS = (1, 4, 256, 64)  # batch, heads, positions, features of a head

_ROWS: tuple[tuple[str, Callable[..., Any], Maker, tuple[torch.dtype, ...]], ...] = (
    ("relu_scale", relu_scale, randn(_SMALL), (*_BOTH, F64, torch.int8)),
    ("scaled_sigmoid", scaled_sigmoid, randn(_SMALL, _SMALL, _SMALL), (F32,)),
    ("gelu_tanh", gelu_by_hand, randn(_SMALL), (BF16,)),
    ("residual_gelu", residual_gelu, randn(_SMALL, _SMALL, (1024,)), (F32,)),
    ("softmax_128", softmax, randn((4096, 128)), (BF16,)),
    ("softmax_1024", softmax, randn(_SMALL), _BOTH),
    ("softmax_4096", softmax, randn(_WIDE), (F32,)),
    ("softmax_32768", softmax, randn((8, 32768)), (F32,)),
    ("softmax_65536", softmax, randn((24, 65536)), (BF16,)),
    ("softmax_262144", softmax, randn((4, 262144)), (F32,)),
    ("column_softmax", column_softmax, randn(_SMALL), _BOTH),
    ("log_softmax_1024", log_softmax, randn(_SMALL), (F32,)),
    ("layer_norm_1024", layer_norm, randn(_SMALL, (1024,), (1024,)), (F32,)),
    ("rms_norm_4096", rms_norm, randn(_WIDE, (4096,)), (BF16,)),
    ("cross_entropy_128k", nll, numbers(128256, (2,), (2, 128256), first=False), (F32,)),
    ("divide_by_sum", normalize_by_sum, randn(_SMALL), (F32,)),
    ("column_sum", column_sum, randn(_SMALL), _BOTH),
    ("transpose", transpose, randn(_SMALL), _BOTH),
    ("swiglu", swiglu, randn((128, 4096)), (BF16,)),
    ("geglu", geglu, randn((128, 4096)), _BOTH),
    ("rotary", rotary, randn(_SPOTS, _SPOTS[2:], _SPOTS[2:]), _BOTH),
    ("concat", concat, randn((256, 512), (256, 1024)), (F32,)),
    ("embedding", lookup, places(1000, 512, (1000, 768)), (F32,)),
    ("gather", gather, numbers(1024, (64, 1024), (64, 1024), first=False), (F32,)),
    ("max_pool", max_pool, randn((4, 16, 64, 64)), (F32,)),
    ("mean_pool", mean_pool, randn((4, 64, 32, 32)), (F32,)),
    ("row_sum", row_sum, randn(_PART), (F16, torch.int8)),
    ("outer_sum", outer_sum, randn((8, 64, 256)), (F32,)),
    ("column_max", column_max, randn(_PART), (torch.int32,)),
    ("argmax", argmax, randn(_PART), (F32,)),
    ("column_argmax", column_argmax, randn(_SMALL), (F32,)),
    ("batch_norm", normalize_batch, randn((4, 32, 32, 32), (32,), (32,), (32,)), (F16,)),
    ("pixel_shuffle", shuffle_pixels, randn((2, 16, 32, 32)), (F32,)),
    ("interleaved_rotary", interleaved_rotary, randn((4, 128, 64), (128, 32), (128, 32)), (F32,)),
    ("concat_rows", concat_rows, randn(_PART, _PART), (torch.int16,)),
    ("greater", greater, randn(_PART, _PART), (F32,)),
    ("keep", keep, randn(_PART, _PART), (torch.uint8,)),
    ("invert", invert, randn(_PART), (torch.bool,)),
    ("flip", flip, randn(_PART), (F32,)),
    ("drop_first", drop_first, randn(_WIDE), (F32, F16)),
    ("dequantize", dequantize, float8(_SMALL, (512, 1)), (torch.float8_e4m3fn,)),
    ("transpose_part", transpose, randn((256, 512)), (F64, torch.int8)),
    ("softmax_part", softmax, randn(_PART), (F64,)),
)


def dtype_name(dtype: torch.dtype) -> str:
    """A dtype as tables have it: f32, i8, bf16."""
    return str(dtype).removeprefix("torch.").replace("float", "f").replace("int", "i")


# Sizes that are known at the call only.
_DYNAMIC: tuple[tuple[str, Callable[..., Any], Maker, tuple[dict[int, str], ...]], ...] = (
    ("softmax of any number of rows", softmax, randn(_PART), ({0: "rows"},)),
    ("relu_scale of any size", relu_scale, randn(_PART), ({0: "rows", 1: "columns"},)),
    ("column_sum of any number of rows", column_sum, randn(_PART), ({0: "rows"},)),
    ("transpose of any size", transpose, randn(_PART), ({0: "rows", 1: "columns"},)),
)


def _operations() -> dict[str, Operation]:
    found = {}
    for name, function, make, dtypes in _ROWS:
        for dtype in dtypes:
            key = f"{name} {dtype_name(dtype)}"
            found[key] = Operation(key, Case(name, partial(Function, function), make), dtype)
    for name, function, make, dims in _DYNAMIC:
        case = Case(name, partial(Function, function), make, dynamic=dims)
        found[name] = Operation(name, case, F32)
    return found


OPERATIONS = _operations()
