"""The gates that kernels miss, and why: a test compares them with what is measured."""

from __future__ import annotations

_HEADS = "all heads read the same angles; they lie too far apart for a cache as small as the launch"

MISSES: dict[str, dict[str, str]] = {
    "rotary f32": {"bytes": _HEADS},
    "embedding f32": {"bytes": "the same token comes again when its row has left a cache that small"},
    "gather f32": {
        "requested": "neighbours come from anywhere in the row: 32 bytes for each of 4",
        "sectors": "neighbours come from anywhere in the row",
        "wide": "neighbours come from anywhere in the row; a thread has one",
    },
    "interleaved_rotary f32": {
        "requested": "lanes read every second number, and the others with the next access, from the L1 cache",
        "sectors": "lanes read every second number",
        "wide": "a thread has one pair of numbers",
    },
    "max_pool f32": {"wide": "a thread has both columns of a window, 8 bytes, and one result of a row"},
    "row_sum i8": {"requested": "a row has fewer accesses than its block threads: some repeat them"},
    "pixel_shuffle f32": {"wide": "two neighbours of a result are not neighbours in the input: 8 bytes are"},
    "flip f32": {"wide": "neighbours are turned around: a thread has one"},
}

_FEW = "tiles of a few odd rows, whose parts meet in shared memory: some passes more at these sizes"
_SCORES = "the product's layout; its scores lie in shared memory by rows"

# Of the corpus's modules, which are small: the gates of any_size.py, in whatever dtype.
CORPUS: dict[str, dict[str, str]] = {
    "transcendental": {"spills": "two dozen results of half floats, eight of each a thread: 150 bytes"},
    "reductions": {"banks": _FEW},
    "arg_reductions": {"banks": _FEW},
    "scatter": {"banks": _FEW},
    "sorting": {"banks": _FEW},
    "integers": {"banks": _FEW},
    "lstm_cell": {"banks": _FEW},
    "mlp": {"banks": _FEW, "spills": "products of f64, 128 registers a thread"},
    "matmuls": {"banks": _FEW},
    "resnet_small": {"banks": _FEW},
    "attention": {"banks": _SCORES},
    "attention_masked": {"banks": _SCORES},
    "attention_biased": {"banks": _SCORES},
    "self_attention": {"banks": _SCORES},
    "gpt2_block_small": {"banks": _SCORES},
    "gpt2_small": {"banks": _FEW},
    "llama_block": {"banks": _FEW},
    "bmm": {"banks": _FEW},
    "linear_gelu": {"banks": _FEW},
    "mlp_silu": {"banks": _FEW},
    "conv1d_dilated": {"banks": _FEW},
    "vit": {"banks": _SCORES},
}
