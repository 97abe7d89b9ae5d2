"""Prints the PTX of the Triton kernels as JSON: ``python triton_ptx.py sm_80``.

Run by ``python -m mlopt.bench.gpu.against_triton`` with a Python that has Triton 3.9; nothing else is needed,
no GPU either. Programs and warps are such that a thread has as many elements as in mlopt's kernels, where
Triton allows. Floats are rounded after each op, as eager's are (enable_fp_fusion is off).

Assertions stay in the code, and those about overflows are not made (debug is on, sanitize_overflow off), as
in what torch's Inductor compiles: `_inductor/runtime/triton_heuristics.py`, `_create_compile_options`. Its
kernels assert that an index from memory is inside (`_inductor/config.py`, assert_indirect_indexing), as
eager's do; so do these. Operations whose names end with `UNCHECKED` are compiled without.
"""

from __future__ import annotations

import json
import sys

import triton
import triton_any_size
import triton_kernels as kernels
import triton_moves
import triton_reductions
import triton_timed
from triton_launches import Launch, by_rows, flat, ptx

SMALL = 512 * 1024
UNCHECKED = ", unchecked"


def attention(width: int, causal: int, rows: int, keys: int, warps: int) -> Launch:
    """The block is the one that our schedule chooses; three steps are in shared memory at once."""
    constants = {"COUNT": 2048, "D": width, "ROWS": rows, "KEYS": keys, "CAUSAL": causal}
    return Launch(kernels.attention, "*bf16 *bf16 *bf16 *bf16", constants, 13 * 2048 // rows, warps)


OPERATIONS = {
    "relu_scale f32": [flat(kernels.relu_scale, "*fp32 *fp32", 16, SMALL)],
    "relu_scale bf16": [flat(kernels.relu_scale, "*bf16 *bf16", 16, SMALL)],
    "relu_scale f64": [flat(kernels.relu_scale_wide, "*fp64 *fp64", 8, SMALL)],
    "relu_scale i8": [flat(kernels.relu_scale_whole, "*i8 *fp32", 16, SMALL)],
    "scaled_sigmoid f32": [flat(kernels.scaled_sigmoid, "*fp32 *fp32 *fp32 *fp32", 8, SMALL)],
    "gelu_tanh bf16": [flat(kernels.gelu_tanh, "*bf16 *bf16", 8, SMALL)],
    "residual_gelu f32": [flat(kernels.residual_gelu, "*fp32 *fp32 *fp32 *fp32", 4, SMALL, COLUMNS=1024)],
    "softmax_128 bf16": [by_rows(kernels.softmax, "*bf16 *bf16", 4096, 128, rows=8)],
    "softmax_1024 f32": [by_rows(kernels.softmax, "*fp32 *fp32", 512, 1024)],
    "softmax_1024 bf16": [by_rows(kernels.softmax, "*bf16 *bf16", 512, 1024)],
    "softmax_4096 f32": [by_rows(kernels.softmax, "*fp32 *fp32", 128, 4096, 8)],
    "softmax_32768 f32": [
        by_rows(kernels.long_rows, "*fp32 *fp32 *fp32", 8, 32768, 32, BLOCK=16384),
        flat(kernels.softmax_of, "*fp32 *fp32 *fp32 *fp32", 8, 8 * 32768, COLUMNS=32768),
    ],
    "log_softmax_1024 f32": [by_rows(kernels.log_softmax, "*fp32 *fp32", 512, 1024)],
    "layer_norm_1024 f32": [by_rows(kernels.layer_norm, "*fp32 *fp32 *fp32 *fp32", 512, 1024)],
    "rms_norm_4096 bf16": [by_rows(kernels.rms_norm, "*bf16 *bf16 *bf16", 128, 4096, 8, EPSILON=2**-7)],
    "cross_entropy_128k f32": [
        by_rows(kernels.cross_entropy, "*fp32 *i64 *fp32", 2, 128256, warps=32, BLOCK=16384),
        Launch(kernels.mean, "*fp32 *fp32", {"COUNT": 2}, 1, warps=1, elements=2),
    ],
    "divide_by_sum f32": [
        flat(kernels.partial_sum, "*fp32 *fp32", 16, SMALL),
        flat(kernels.divide_by_parts, "*fp32 *fp32 *fp32", 16, SMALL, COUNT=256),
    ],
    "column_sum f32": [
        Launch(
            kernels.column_sum,
            "*fp32 *fp32",
            {"HEIGHT": 512, "COLUMNS": 1024, "ROWS": 512, "BLOCK": 32},
            32,
            warps=32,
        )
    ],
    "column_sum bf16": [
        Launch(
            kernels.column_sum,
            "*bf16 *bf16",
            {"HEIGHT": 512, "COLUMNS": 1024, "ROWS": 512, "BLOCK": 32},
            32,
            warps=32,
        )
    ],
    "transpose f32": [
        Launch(kernels.transpose, "*fp32 *fp32", {"HEIGHT": 512, "WIDTH": 1024, "R": 32, "C": 32}, 512)
    ],
    "transpose bf16": [
        Launch(kernels.transpose, "*bf16 *bf16", {"HEIGHT": 512, "WIDTH": 1024, "R": 32, "C": 32}, 512)
    ],
    "swiglu bf16": [flat(kernels.swiglu, "*bf16 *bf16", 8, 128 * 2048, HALF=2048)],
    "rotary f32": [
        Launch(kernels.rotary, "*fp32 *fp32 *fp32 *fp32", {"POSITIONS": 256, "FEATURES": 64, "ROWS": 16}, 64)
    ],
    "concat f32": [
        flat(kernels.copy_columns, "*fp32 *fp32", 4, 256 * 512, FROM=0, WIDTH=512, TO=1536),
        flat(kernels.copy_columns, "*fp32 *fp32", 8, 256 * 1024, FROM=512, WIDTH=1024, TO=1536),
    ],
    "embedding f32": [
        Launch(
            kernels.embedding,
            "*i64 *fp32 *fp32",
            {"ROWS": 1000, "WIDTH": 768, "BLOCK": 256},
            512 * 3,
            warps=2,
        )
    ],
    "gather f32": [flat(kernels.gather, "*fp32 *i64 *fp32", 2, 64 * 1024, WIDTH=1024)],
    "max_pool f32": [flat(kernels.max_pool, "*fp32 *fp32", 4, 64 * 32 * 32, WIDTH=64)],
    "mean_pool f32": [by_rows(kernels.mean_pool, "*fp32 *fp32", 256, 1024)],
}
OPERATIONS |= {
    "attention_64 bf16": [attention(64, 0, rows=256, keys=64, warps=8)],
    "causal_attention_64 bf16": [attention(64, 1, rows=64, keys=64, warps=2)],
    "attention_128 bf16": [attention(128, 0, rows=256, keys=32, warps=8)],
    "causal_attention_128 bf16": [attention(128, 1, rows=128, keys=32, warps=4)],
}
for _module in (triton_reductions, triton_moves, triton_any_size):
    OPERATIONS |= _module.OPERATIONS
OPERATIONS |= {name + UNCHECKED: OPERATIONS[name] for name in ("embedding f32", "gather f32")}


def main(chip: str) -> None:
    """Print the version, and each operation's launches: PTX and threads."""
    number = int(chip.removeprefix("sm_").rstrip("af"))
    kernels = {
        name: [
            {
                "ptx": ptx(each, number, checked=not name.endswith(UNCHECKED)),
                "threads": each.programs * each.warps * 32,
                "elements": each.elements,
            }
            for each in launches
        ]
        for name, launches in (OPERATIONS | triton_timed.OPERATIONS).items()
    }
    print(json.dumps({"version": triton.__version__, "operations": kernels}))


if __name__ == "__main__":
    main(sys.argv[1])
