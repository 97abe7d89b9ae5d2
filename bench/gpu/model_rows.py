"""Models that are timed on a GPU from end to end: GPT-2-small, and a layer of Llama-8B.

Their weights are inputs, as those of the other rows: then sets of them take turns, float64 is as for others,
and a program that was prepared elsewhere takes them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ...test.corpus.transformers import Gpt2, LlamaBlock
from .workload import BF16, Size, Source, Timed

GROUP = "models"
GPT2_HEAD, LLAMA_HEAD = 64, 128  # elements
GPT2 = (50257, 1024, 768, 12)  # vocabulary, longest text, width, layers
LLAMA = (4096, 8, 14336)  # width, heads of keys, hidden width
_TINY_GPT2, _TINY_LLAMA = (50, 16, 128, 1), (256, 1, 96)
_BLOCK_WEIGHTS, _OTHER_WEIGHTS = 12, 4  # of GPT-2
LARGEST_ERROR = 5e-2  # of a row's largest value: bf16 is rounded to a hundred times, layer by layer


def gpt2(tokens: Tensor, *weights: Tensor) -> Tensor:
    """Logits of GPT-2 with these weights, whose shapes say how large it is."""
    (vocabulary, width), length = weights[0].shape, weights[1].shape[0]
    layers = (len(weights) - _OTHER_WEIGHTS) // _BLOCK_WEIGHTS
    return _called(_gpt2(vocabulary, length, width, layers), tokens, weights)


def llama_layer(x: Tensor, *weights: Tensor) -> Tensor:
    """A layer of Llama with these weights."""
    names = _names(_llama(2 * LLAMA_HEAD, 1, 1, 1))
    shapes = {name: each.shape for name, each in zip(names, weights, strict=True)}
    (width, hidden), groups = shapes["down.weight"], shapes["k.weight"][0] // LLAMA_HEAD
    return _called(_llama(width, groups, hidden, shapes["rotary.cos"][0]), x, weights)


def rows() -> Iterator[Timed]:
    """Both, with many tokens and few."""
    for batch, tokens in ((8, 1024), (1, 1024), (1, 128)):
        yield Timed(
            f"gpt2-{batch}-{tokens}-bf16",
            f"GPT-2-small, {batch}×{tokens} tokens bf16",
            GROUP,
            BF16,
            gpt2,
            _gpt2_inputs,
            (batch, tokens, *GPT2),
            (1, 5, *_TINY_GPT2),
            flops=gpt2_flops,
            largest_error=LARGEST_ERROR,
        )
    for batch, tokens in ((1, 4096), (1, 512), (16, 1)):
        yield Timed(
            f"llama-{batch}-{tokens}-bf16",
            f"layer of Llama-8B, {batch}×{tokens} tokens bf16",
            GROUP,
            BF16,
            llama_layer,
            _llama_inputs,
            (batch, tokens, *LLAMA),
            (1, 5, *_TINY_LLAMA),
            flops=llama_flops,
            largest_error=LARGEST_ERROR,
        )


def gpt2_flops(size: Size) -> float:
    """Of the products, and of the keys that are not masked."""
    batch, tokens, vocabulary, _, width, layers = size
    layer = 24.0 * tokens * width**2 + 2.0 * tokens * (tokens + 1) * width
    return batch * (layers * layer + 2.0 * tokens * width * vocabulary)


def llama_flops(size: Size) -> float:
    """The same of a layer of Llama."""
    batch, tokens, width, groups, hidden = size
    each = 4.0 * width**2 + 4.0 * width * groups * LLAMA_HEAD + 6.0 * width * hidden
    return batch * (tokens * each + 2.0 * tokens * (tokens + 1) * width)


def _gpt2_inputs(source: Source, size: Size) -> Sequence[Tensor]:
    batch, tokens, vocabulary, *_ = size
    return source.index(vocabulary, batch, tokens), *_weights(source, partial(_gpt2_module, *size[2:]))


def _llama_inputs(source: Source, size: Size) -> Sequence[Tensor]:
    batch, tokens, width, groups, hidden = size
    build = partial(_llama_module, width, groups, hidden, tokens)
    return source.normal(batch, tokens, width), *_weights(source, build)


def _gpt2_module(vocabulary: int, length: int, width: int, layers: int) -> nn.Module:
    return Gpt2(vocabulary, length, width, width // GPT2_HEAD, layers).eval()


def _llama_module(width: int, groups: int, hidden: int, length: int) -> nn.Module:
    return LlamaBlock(width, width // LLAMA_HEAD, groups, length, hidden).eval()


@cache
def _gpt2(vocabulary: int, length: int, width: int, layers: int) -> nn.Module:
    """GPT-2 without values."""
    with torch.device("meta"):
        return _gpt2_module(vocabulary, length, width, layers)


@cache
def _llama(width: int, groups: int, hidden: int, length: int) -> nn.Module:
    with torch.device("meta"):
        return _llama_module(width, groups, hidden, length)


def _called(skeleton: nn.Module, x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    result: Tensor = functional_call(skeleton, dict(zip(_names(skeleton), weights, strict=True)), (x,))
    return result


def _names(module: nn.Module) -> list[str]:
    """Of its weights: parameters, each once, and buffers."""
    return [name for named in (module.named_parameters(), module.named_buffers()) for name, _ in named]


def _weights(source: Source, build: Callable[[], nn.Module]) -> list[Tensor]:
    """As torch initialises them, on the source's device; of an empty source only sizes."""
    with torch.random.fork_rng(), torch.device("meta" if source.empty else source.device):
        torch.manual_seed(source.seed)
        made = build().to(source.dtype)
    found = [each.detach() for each in (*made.parameters(), *made.buffers())]
    return [torch.empty(each.shape, dtype=each.dtype) for each in found] if source.empty else found
