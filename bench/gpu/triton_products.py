"""Prints the PTX of Triton's matrix products as JSON: ``python triton_products.py sm_80 < PROBLEMS``.

Run by ``python -m mlopt.bench.gpu.products`` with a Python that has Triton 3.9; nothing else is needed, no
GPU either. A problem has sizes, types, which factor is transposed, the epilogue, and the block: rows,
columns, step, warps and stages. The kernel is as in Triton's tutorial: bands of eight rows of blocks, masks
only where a size is not a multiple of the block's.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import triton
import triton.language as tl
from triton import JITFunction
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

BAND = 8
PTX = 88  # the version: what both ptxas read, Triton's own and the one that assembles ours
TYPES = {
    "bf16": ("bf16", "bf16"), "f16": ("fp16", "fp16"), "i8": ("i8", "i32"), "tf32": ("fp32", "fp32"),
}  # fmt: skip


@triton.jit
def rounded(factor):
    """To the nearest tf32; tl.dot leaves factors to the tensor cores, which cut bits off."""
    return tl.inline_asm_elementwise(
        "cvt.rna.tf32.f32 $0, $1;", "=r,f", [factor], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def product(
    a,
    b,
    c,
    bias,
    residual,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    LEFT: tl.constexpr,
    RIGHT: tl.constexpr,
    EPILOGUE: tl.constexpr,
    ROUNDS: tl.constexpr,
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
    m = (first + number % (BAND * wide) % band) * ROWS + tl.arange(0, ROWS)
    n = number % (BAND * wide) // band * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.arange(0, STEP)
    is_even: tl.constexpr = M % ROWS == 0 and N % COLUMNS == 0 and K % STEP == 0
    whole: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((ROWS, COLUMNS), whole)
    for at in range(0, K, STEP):
        deep = at + k
        left = a + (deep[None, :] * M + m[:, None] if LEFT else m[:, None] * K + deep[None, :])
        right = b + (n[None, :] * K + deep[:, None] if RIGHT else deep[:, None] * N + n[None, :])
        if is_even:
            x, y = tl.load(left), tl.load(right)
        else:
            x = tl.load(left, mask=(m[:, None] < M) & (deep[None, :] < K), other=0)
            y = tl.load(right, mask=(deep[:, None] < K) & (n[None, :] < N), other=0)
        if ROUNDS:
            x, y = rounded(x), rounded(y)
        total = tl.dot(x, y, total, out_dtype=whole)
    place = m[:, None] * N + n[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    if EPILOGUE == "bias, relu":
        total = (total + tl.load(bias + n, mask=n < N)[None, :].to(tl.float32)).to(c.dtype.element_ty)
        total = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    if EPILOGUE == "residual":
        total = total.to(c.dtype.element_ty).to(tl.float32)
        if is_even:
            total += tl.load(residual + place).to(tl.float32)
        else:
            total += tl.load(residual + place, mask=inside).to(tl.float32)
    if is_even:
        tl.store(c + place, total.to(c.dtype.element_ty))
    else:
        tl.store(c + place, total.to(c.dtype.element_ty), mask=inside)


def ptx(problem: dict, chip: int) -> dict:
    """The PTX of one problem's kernel, and its bytes of shared memory; all pointers are divisible by 16."""
    factor, result = TYPES[problem["kind"]]
    types = [f"*{kind}" for kind in (factor, factor, result, result, result)]
    constants = {
        "M": problem["m"], "N": problem["n"], "K": problem["k"], "LEFT": problem["left"],
        "RIGHT": problem["right"], "EPILOGUE": problem["epilogue"], "ROUNDS": problem["rounds"],
        "ROWS": problem["rows"], "COLUMNS": problem["columns"], "STEP": problem["step"], "BAND": BAND,
    }  # fmt: skip
    signature = dict(zip(product.arg_names, types, strict=False)) | dict.fromkeys(constants, "constexpr")
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(len(types))}
    # Triton's stages count the step that is multiplied from registers: it keeps one tile less.
    return compiled(product, (signature, constants, aligned), chip, problem["warps"], problem["stages"] + 1)


def compiled(kernel: JITFunction, form: tuple[dict, dict, dict], chip: int, warps: int, stages: int) -> dict:
    """The PTX of a kernel with such a signature, constants and attributes, and its bytes of shared memory."""
    options = {
        "num_warps": warps, "num_stages": stages, "enable_fp_fusion": False, "ptx_version": PTX
    }  # fmt: skip
    made = triton.compile(ASTSource(kernel, *form), target=GPUTarget("cuda", chip, 32), options=options)
    return {"ptx": str(made.asm["ptx"]), "shared": made.metadata.shared}


def main(chip: str, make: Callable[[dict, int], dict]) -> None:
    """Print the version, and what becomes of each problem."""
    number = int(chip.removeprefix("sm_").rstrip("af"))
    made = [make(problem, number) for problem in json.load(sys.stdin)]
    print(json.dumps({"version": triton.__version__, "kernels": made}))


if __name__ == "__main__":
    main(sys.argv[1], ptx)
