"""What is run: one table of all workloads, in the groups that the goals are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..test.corpus.basic import Function
from ..test.corpus.cases import Case, Maker, randn, with_indices
from ..test.corpus.transformers import Attention, BertBlock, Gpt2
from ..test.corpus.vision import ConvBnRelu, resnet18
from .groups import ATTENTION, CONVOLUTION, MATMUL, MODELS, ROWS

SEED = 0


@dataclass(frozen=True)
class Workload:
    """A module and its inputs.

    ``large``: so much memory that page faults decide, hence it is run twice. ``passes``: how often all of the
    inputs must be read (twice, where a total of all must be known before the first result). ``streams``: it
    moves memory and does little else. ``free``: functions that the graph has for each element and that a
    processor need not compute so often (a division by a number of the whole row is a product).
    """

    name: str
    title: str
    group: str
    case: Case
    large: bool = False
    passes: int = 1
    streams: bool = False
    free: tuple[str, ...] = ()

    def module(self) -> nn.Module:
        """The module in evaluation mode; equal in all processes."""
        return self.case.module(seed=SEED)

    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs; equal in all processes."""
        return self.case.inputs(seed=SEED)


class Bert(nn.Module):
    """Blocks like BERT's on embedded tokens, some of which are padding."""

    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(BertBlock(width, heads) for _ in range(layers))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, mask)
        return x


class NormMlp(nn.Module):
    """Layer norm and an MLP, as in a transformer."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.body(x)
        return y


def uniform(shape: tuple[int, ...]) -> Maker:
    """Numbers from 0 to 1: their sum is not near 0."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        return (torch.rand(shape, generator=generator).to(dtype),)

    return make


def padded(length: int, width: int) -> Maker:
    """Embedded tokens, and a mask of which the last quarter is padding."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, ...]:
        x = torch.randn((1, length, width), generator=generator).to(dtype)
        return x, (torch.arange(length) < length - length // 4)[None]

    return make


WORKLOADS: dict[str, Workload] = {}


def _add(
    group: str,
    name: str,
    title: str,
    factory: Callable[[], nn.Module],
    make: Maker,
    large: bool = False,
    passes: int = 1,
    streams: bool = False,
    free: tuple[str, ...] = (),
) -> None:
    WORKLOADS[name] = Workload(name, title, group, Case(name, factory, make), large, passes, streams, free)


def _function(function: Callable[..., Tensor]) -> Callable[[], nn.Module]:
    return lambda: Function(function)


_SQUARE, _TOKENS, _WIDTH = (4096, 4096), (4096, 1024), 1024

_add(
    ROWS, "relu-chain", "relu(x)·0.5+1, 4096²",
    _function(lambda x: torch.relu(x) * 0.5 + 1), randn(_SQUARE), large=True, streams=True,
)  # fmt: skip
_add(
    ROWS, "sigmoid-chain", "sigmoid(relu(x)·2+1), 4096²",
    _function(lambda x: torch.sigmoid(torch.relu(x) * 2 + 1)), randn(_SQUARE), large=True,
)  # fmt: skip
_add(
    ROWS, "normalize", "x/x.sum(), 4096²",
    _function(lambda x: x / x.sum()), uniform(_SQUARE), large=True, passes=2, streams=True,
    free=("div",),
)  # fmt: skip
_add(ROWS, "gelu", "tanh-GELU, 1024²", lambda: nn.GELU("tanh"), randn((1024, 1024)))
_add(
    ROWS, "softmax", "softmax, 4096×1024",
    _function(lambda x: x.softmax(-1)), randn(_TOKENS), free=("div",),
)  # fmt: skip
_add(ROWS, "layer-norm", "layer_norm, 4096×1024", lambda: nn.LayerNorm(_WIDTH), randn(_TOKENS))
_add(ROWS, "rms-norm", "rms_norm, 4096×1024", lambda: nn.RMSNorm(_WIDTH, eps=1e-6), randn(_TOKENS))
_add(
    ROWS, "nll", "log_softmax + nll, 512×131072",
    _function(F.cross_entropy), with_indices(131072, (512,), (512, 131072)), large=True,
)  # fmt: skip
_add(ROWS, "column-sum", "x.sum(0), 4096²", _function(lambda x: x.sum(0)), randn(_SQUARE), large=True)
_add(
    ROWS, "transpose", "x.t().contiguous(), 4096²",
    _function(lambda x: x.t().contiguous()), randn(_SQUARE), large=True,
)  # fmt: skip

for _side in (512, 1024, 2048, 1000):
    _add(
        MATMUL, f"matmul-{_side}", f"matmul {_side}³",
        _function(torch.matmul), randn((_side, _side), (_side, _side)),
    )  # fmt: skip
_add(
    MATMUL, "matmul-bias-relu", "relu(x@w+b), 1024³",
    _function(lambda x, w, b: torch.relu(x @ w + b)), randn((1024, 1024), (1024, 1024), (1024,)),
)  # fmt: skip
_add(MATMUL, "linear-1", "Linear 768→768, batch 1", lambda: nn.Linear(768, 768), randn((1, 768)))
_add(MATMUL, "linear-32", "Linear 768→768, batch 32", lambda: nn.Linear(768, 768), randn((32, 768)))
_add(MATMUL, "mlp", "LN+Linear+GELU+Linear, 4096 tokens", lambda: NormMlp(768, 3072), randn((4096, 768)))

_HEADS = ((1, 12, 512, 64),) * 3
_add(ATTENTION, "attention", "attention 1×12×512×64", Attention, randn(*_HEADS), free=("div",))
_add(
    ATTENTION, "attention-causal", "attention 1×12×512×64, causal",
    lambda: Attention(causal=True), randn(*_HEADS), free=("div",),
)  # fmt: skip

_add(
    CONVOLUTION, "conv", "conv 3×3 64→64, 56² + BN + ReLU",
    lambda: ConvBnRelu(64, 64), randn((1, 64, 56, 56)),
)  # fmt: skip
_add(
    CONVOLUTION, "depthwise", "depthwise 3×3, 56² + BN + ReLU",
    lambda: ConvBnRelu(144, 144, groups=144), randn((1, 144, 56, 56)),
)  # fmt: skip

_add(MODELS, "resnet18", "ResNet-18, 224², batch 1", resnet18, randn((1, 3, 224, 224)))
_add(
    MODELS, "gpt2", "GPT-2-small, 12 layers, 128 tokens",
    lambda: Gpt2(50257, 1024, 768, 12, 12), with_indices(50257, (1, 128)),
)  # fmt: skip
_add(MODELS, "bert", "BERT-like, 4 layers, 128 tokens", lambda: Bert(4, 768, 12), padded(128, 768))
