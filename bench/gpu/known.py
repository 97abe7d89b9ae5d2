"""The gates that kernels miss, and why: a test compares them with what is measured."""

from __future__ import annotations

_WEIGHTS = "each block reads a row of weights again; that comes from the L2 cache, HBM gives it once"
_LATE_WEIGHTS = "ptxas puts the weights' loads off until the row is being reduced"
_RESULT = "one number a row is stored, or read by all lanes at once"
_CHANNEL = "four numbers a channel, read by all lanes at once"

MISSES: dict[str, dict[str, str]] = {
    "relu_scale i8": {"wide": "a thread has the four neighbours that fill 16 bytes of the f32 result"},
    "residual_gelu f32": {"bytes": _WEIGHTS},
    "softmax_32768 f32": {"bytes": _RESULT, "wide": _RESULT},
    "layer_norm_1024 f32": {"bytes": _WEIGHTS, "first": _LATE_WEIGHTS},
    "rms_norm_4096 bf16": {"bytes": _WEIGHTS, "first": _LATE_WEIGHTS},
    "cross_entropy_128k f32": {"bytes": "the last kernel adds up one number a row", "wide": _RESULT},
    "divide_by_sum f32": {
        "bytes": "each block adds up the partial sums, 2 KB from the L2 cache",
        "wide": _RESULT,
    },
    "rotary f32": {"bytes": "all heads read the same angles; that comes from the L2 cache"},
    "rotary bf16": {"bytes": "all heads read the same angles; that comes from the L2 cache"},
    "interleaved_rotary f32": {
        "bytes": "lanes read every second number, and the others with the next access, from the L1 cache",
        "sectors": "lanes read every second number",
        "wide": "a thread has one pair of numbers",
    },
    "embedding f32": {
        "bytes": "the index of a row is read again by each block that has a part of it",
        "wide": "one index a row, read by all lanes at once",
    },
    "gather f32": {
        "bytes": "neighbours come from anywhere in the row: 32 bytes for each of 4",
        "sectors": "neighbours come from anywhere in the row",
        "wide": "neighbours come from anywhere in the row; a thread has one",
    },
    "max_pool f32": {"wide": "a thread has both columns of a window, 8 bytes, and one result of a row"},
    "mean_pool f32": {"wide": _RESULT},
    "row_sum f16": {"wide": _RESULT},
    "row_sum i8": {
        "bytes": "a row has fewer accesses than its block threads: some repeat them",
        "wide": _RESULT,
    },
    "outer_sum f32": {"wide": _RESULT},
    "argmax f32": {
        "bytes": "the numbers of the columns are a tensor, 8 KB that each block reads from the L2 cache",
        "wide": _RESULT,
    },
    "batch_norm f16": {"bytes": _CHANNEL, "wide": _CHANNEL},
    "pixel_shuffle f32": {"wide": "two neighbours of a result are not neighbours in the input: 8 bytes are"},
    "greater f32": {"wide": "a thread has the four neighbours that fill 16 bytes of the inputs"},
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
