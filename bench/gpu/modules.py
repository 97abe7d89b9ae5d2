"""The corpus's modules at sizes that are large enough for the layouts of large ones.

In the corpus itself tensors have a few hundred elements, and odd widths: no access to them could have 128
bits, and a sector is as much as a row. Here widths are multiples of 16 bytes, and a kernel's work is that of
some blocks. ``SIZED`` has every module of the corpus but those in ``SAME``, whose kernels another row has,
and those in ``PRODUCTS``, which are nothing but products and convolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import nn

from ...test.corpus import CASES, basic, transformers, vision
from ...test.corpus.cases import Maker, nonzero_second, randn, with_indices
from .operations import Operation, dtype_name

SAME = {
    "relu_scale": "relu_scale f32",
    "gelu_by_hand": "gelu_tanh bf16",
    "normalize_by_sum": "divide_by_sum f32",
    "softmax": "softmax_1024 f32",
    "layer_norm": "layer_norm_1024 f32",
    "bert_block": "gpt2_block_small, f32",
}
PRODUCTS = frozenset(
    {
        "sigmoid_layer", "bmm", "linear_gelu", "mlp", "mlp_silu", "lstm_cell", "conv_bn_relu",
        "conv_stride_groups", "conv1d_dilated", "attention", "attention_causal",
        "attention_masked", "attention_biased", "attention_grouped", "self_attention",
        "inverted_residual",
    }
)  # fmt: skip
_ROWS, _TOKENS = (256, 512), (2, 128, 256)

_INPUTS: dict[str, Maker] = {
    "activations": randn(_ROWS),
    "transcendental": randn(_ROWS),
    "compare_and_select": randn(_ROWS, _ROWS),
    "broadcast": randn((64, 1, 512), (4, 1), ()),
    "casts": randn(_ROWS),
    "scalars": randn((1 << 17,)),
    "zero_dim": randn((), ()),
    "empty": randn((0, 5)),
    "softmax_inner": randn((16, 64, 128)),
    "log_softmax_loss": with_indices(1024, (256,), (256, 1024)),
    "reductions": randn((64, 32, 128)),
    "arg_reductions": randn(_ROWS),
    "cumulative": randn((64, 64)),
    "rms_norm": randn((4, 64, 1024)),
    "group_norm": randn((16, 32, 16, 16)),
    "batch_norm": randn(_ROWS),
    "matmuls": randn((128, 128), (128, 128)),
    "einsums": randn((8, 128, 128), (8, 128, 128)),
    "shapes": randn((64, 32, 128)),
    "concat_and_pad": randn(_ROWS, _ROWS),
    "indexing": with_indices(256, (256,), _ROWS),
    "scatter": with_indices(256, (128,), _ROWS, (128, 512)),
    "sorting": randn((32, 64)),
    "triangles": randn(_ROWS),
    "embedding": with_indices(1000, (2, 128)),
    "counter": randn(_ROWS),
    "integers": nonzero_second(_ROWS),
    "bits": randn(_ROWS, _ROWS),
    "booleans": randn(_ROWS, _ROWS),
    "conv_dilated": randn((4, 16, 32, 32), (32, 16, 3, 3), (32,)),
    "pools": randn((4, 16, 64, 64)),
    "lenet": randn((32, 1, 28, 28)),
    "resnet_small": randn((2, 3, 64, 64)),
    "gpt2_block_small": randn(_TOKENS),
    "gpt2_small": with_indices(512, (2, 128)),
    "llama_block": randn(_TOKENS),
    "vit": randn((2, 3, 64, 64)),
    "mixer_block": randn((18, 128, 256)),
}
# Modules that are as wide as their inputs.
_WIDE: dict[str, Callable[[], nn.Module]] = {
    "rms_norm": lambda: nn.RMSNorm(1024, eps=1e-5),
    "group_norm": lambda: nn.GroupNorm(8, 32),
    "batch_norm": lambda: nn.BatchNorm1d(512),
    "embedding": lambda: basic.EmbeddingSum(1000, 256, 512),
    "counter": lambda: basic.Counter(512),
    "resnet_small": lambda: vision.ResNet((16, 16, 32, 32), 1, 16),
    "gpt2_block_small": lambda: transformers.Gpt2Block(256, 4),
    "gpt2_small": lambda: transformers.Gpt2(512, 128, 256, 4, 1),
    "llama_block": lambda: transformers.LlamaBlock(256, 4, 2, 128, 512),
    "vit": lambda: transformers.Vit(64, 8, 256, 4, 16),
    "mixer_block": lambda: transformers.MixerBlock(128, 256),
}


def _sized() -> dict[str, Operation]:
    """Each in one of its module's dtypes, the next one in the next, as the corpus's tests have them."""
    found = {}
    for number, (name, case) in enumerate(CASES.items()):
        if name in _INPUTS:
            dtype = case.dtypes[number % len(case.dtypes)]
            sized = replace(case, make=_INPUTS[name], factory=_WIDE.get(name, case.factory), dynamic=None)
            key = f"{name}, {dtype_name(dtype)}"
            found[key] = Operation(key, sized, dtype)
    return found


SIZED = _sized()
