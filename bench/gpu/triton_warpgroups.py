"""Prints the PTX of Triton's products for Hopper as JSON: ``python triton_warpgroups.py sm_90a < PROBLEMS``.

Run by ``python -m mlopt.bench.gpu.warpgroups`` with a Python that has Triton 3.9. The kernel is as in
Triton's tutorial of products with tensor descriptors, which the host makes: factors come by boxes (TMA),
results leave by boxes. Bands of eight rows of blocks, no masks: what is beyond a matrix is zero, and not
stored.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import sys

import triton
import triton.language as tl
from triton_products import BAND, compiled, main

TYPES = {
    "bf16": ("bf16", "bf16"), "f16": ("fp16", "fp16"), "i8": ("i8", "i32"), "e4m3": ("fp8e4nv", "bf16"),
    "tf32": ("fp32", "fp32"),
}  # fmt: skip


@triton.jit
def product(
    a,
    b,
    c,
    bias,
    residual,
    scales,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
    EPILOGUE: tl.constexpr,
    SCALED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
    BAND: tl.constexpr,
):
    number = tl.program_id(0)
    high: tl.constexpr = (M + ROWS - 1) // ROWS
    wide: tl.constexpr = (N + COLUMNS - 1) // COLUMNS
    first = number // (BAND * wide) * BAND
    band = min(high - first, BAND)
    m = (first + number % (BAND * wide) % band) * ROWS
    n = number % (BAND * wide) // band * COLUMNS
    whole: tl.constexpr = tl.int32 if a.dtype == tl.int8 else tl.float32
    total = tl.zeros((ROWS, COLUMNS), whole)
    for at in range(0, K, STEP):
        x = a.load([at, m]).T if LEFT else a.load([m, at])
        y = b.load([n, at]).T if RIGHT else b.load([at, n])
        total = tl.dot(x, y, total, out_dtype=whole)
    if SCALED:
        total *= tl.load(scales) * tl.load(scales + 1)
    columns = n + tl.arange(0, COLUMNS)
    if EPILOGUE == "bias, relu":
        total = (total + tl.load(bias + columns, mask=columns < N)[None, :].to(tl.float32)).to(c.dtype)
        total = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    if EPILOGUE == "residual":
        total = total.to(c.dtype).to(tl.float32) + residual.load([m, n]).to(tl.float32)
    if EPILOGUE == "gelu":
        total = total.to(c.dtype).to(tl.float32)
        total = 0.5 * total * (1 + tl.erf(total * 0.7071067811865476))
    c.store([m, n], total.to(c.dtype))


def ptx(problem: dict, chip: int) -> dict:
    """The PTX of one problem's kernel, and its bytes of shared memory; all pointers are divisible by 16."""
    factor, result = TYPES[problem["kind"]]
    rows, columns, step = problem["rows"], problem["columns"], problem["step"]
    left, right = problem["left"], problem["right"]
    block = f"tensordesc<{result}[{rows},{columns}]>"
    signature = {
        "a": f"tensordesc<{factor}[{f'{step},{rows}' if left else f'{rows},{step}'}]>",
        "b": f"tensordesc<{factor}[{columns},{step}]>"
        if right
        else f"tensordesc<{factor}[{step},{columns}]>",
        "c": block,
        "bias": f"*{result}",
        "residual": block,
        "scales": "*fp32",
    }
    constants = {
        "M": problem["m"], "N": problem["n"], "K": problem["k"], "LEFT": left, "RIGHT": right,
        "EPILOGUE": problem["epilogue"], "SCALED": problem["kind"] == "e4m3",
        "ROWS": rows, "COLUMNS": columns, "STEP": step, "BAND": BAND,
    }  # fmt: skip
    aligned = {
        (at,): [["tt.divisibility", 16]] for at, name in enumerate(signature) if signature[name][0] == "*"
    }
    signature |= dict.fromkeys(constants, "constexpr")
    return compiled(product, (signature, constants, aligned), chip, problem["warps"], problem["stages"])


if __name__ == "__main__":
    main(sys.argv[1], ptx)
