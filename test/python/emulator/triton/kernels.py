"""The Triton kernels whose PTX is beside this file; ``python kernels.py`` writes it anew.

It needs Triton 3.9 (pip install triton), and no GPU: each kernel is compiled for sm_80, those of tensor maps
for sm_90.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import re
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = Path(__file__).parent


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * columns + at, power / tl.sum(power, 0), inside)


@triton.jit
def layer_norm(x, weight, bias, y, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / columns + eps)
    out = centred * scale * tl.load(weight + at, inside) + tl.load(bias + at, inside)
    tl.store(y + row * columns + at, out.to(y.dtype.element_ty), inside)


@triton.jit
def scan(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, at < columns, other=0)
    tl.store(y + row * columns + at, tl.cumsum(value, 0), at < columns)


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(counts + tl.load(x + at, inside, other=0), 1, inside)


@triton.jit
def transpose(x, y, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    tile = tl.load(x + r[:, None] * columns + c[None, :], inside)
    turned = tl.trans(tile)
    tl.store(y + c[:, None] * rows + r[None, :], turned, (c[:, None] < columns) & (r[None, :] < rows))


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=SUM)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + start + inner[None, :], rows[:, None] < m, other=0)
        right = tl.load(b + (start + inner[:, None]) * n + columns[None, :], columns[None, :] < n, other=0)
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty), inside)


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Causal flash attention: one head of a batch for each program on axis 1."""
    head = tl.program_id(1) * length * D
    rows = tl.program_id(0) * M + tl.arange(0, M)
    depth = tl.arange(0, D)
    queries = tl.load(q + head + rows[:, None] * D + depth[None, :], rows[:, None] < length, other=0.0)
    greatest = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    mean = tl.zeros((M, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * M, N):
        columns = start + tl.arange(0, N)
        keys = tl.load(k + head + columns[None, :] * D + depth[:, None], columns[None, :] < length, other=0.0)
        score = tl.dot(queries, keys) * scale
        score = tl.where(rows[:, None] >= columns[None, :], score, -float("inf"))
        new = tl.maximum(greatest, tl.max(score, 1))
        power = tl.exp2((score - new[:, None]) * 1.4426950408889634)
        shrink = tl.exp2((greatest - new) * 1.4426950408889634)
        total = total * shrink + tl.sum(power, 1)
        values = tl.load(
            v + head + columns[:, None] * D + depth[None, :], columns[:, None] < length, other=0.0
        )
        mean = tl.dot(power.to(values.dtype), values, mean * shrink[:, None])
        greatest = new
    result = (mean / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + head + rows[:, None] * D + depth[None, :], result, rows[:, None] < length)


@triton.jit
def tensor_copy(x, y, M: tl.constexpr, N: tl.constexpr):
    """By tensor maps."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    tile = x.load([row, column])
    y.store([row, column], tile + tile)


@triton.jit
def tensor_sum(x, y, columns, M: tl.constexpr, N: tl.constexpr):
    """Tiles of rows added up, one after the other through the same place."""
    row = tl.program_id(0) * M
    total = tl.zeros((M, N), tl.float32)
    for column in range(0, columns, N):
        total += x.load([row, column]).to(tl.float32)
    y.store([row, 0], total.to(tl.float16))


TILE = {"M": 64, "N": 64, "K": 32}
_MAP = "tensordesc<fp16[64,64]>"
# name of the file: kernel, types of its arguments, its constants, warps, stages
VARIANTS = {
    "softmax": (softmax, "*fp32 *fp32 i32", {"BLOCK": 1024}, 4, 1),
    "layer_norm": (layer_norm, "*fp16 *fp32 *fp32 *fp16 i32 fp32", {"BLOCK": 512}, 4, 1),
    "scan": (scan, "*i32 *i32 i32", {"BLOCK": 512}, 4, 1),
    "histogram": (histogram, "*i32 *i32 i32", {"BLOCK": 256}, 4, 1),
    "transpose": (transpose, "*fp32 *fp32 i32 i32", {"BLOCK": 32}, 4, 1),
    "matmul_f16": (matmul, "*fp16 *fp16 *fp32 i32 i32 i32", {**TILE, "SUM": tl.float32}, 4, 3),
    "matmul_f16_f16": (matmul, "*fp16 *fp16 *fp16 i32 i32 i32", {**TILE, "SUM": tl.float16}, 4, 2),
    "matmul_bf16": (matmul, "*bf16 *bf16 *fp32 i32 i32 i32", {**TILE, "SUM": tl.float32}, 4, 3),
    "matmul_tf32": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32", {**TILE, "SUM": tl.float32}, 4, 2),
    "matmul_i8": (matmul, "*i8 *i8 *i32 i32 i32 i32", {**TILE, "SUM": tl.int32}, 4, 2),
    "matmul_f64": (
        matmul,
        "*fp64 *fp64 *fp64 i32 i32 i32",
        {"M": 32, "N": 32, "K": 16, "SUM": tl.float64},
        4,
        2,
    ),
    "attention": (attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"M": 64, "N": 32, "D": 64}, 4, 2),
    "tensor_copy": (tensor_copy, f"{_MAP} {_MAP}", {"M": 64, "N": 64}, 4, 2),
    "tensor_sum": (tensor_sum, f"{_MAP} {_MAP} i32", {"M": 64, "N": 64}, 4, 2),
}


def compiled(name: str) -> str:
    """The PTX of a variant, with what its launch needs in comments."""
    kernel, types, constants, warps, stages = VARIANTS[name]
    names = kernel.arg_names
    signature = dict(zip(names, types.split(), strict=False))
    signature |= dict.fromkeys(constants, "constexpr")
    aligned = [at for at, kind in enumerate(types.split()) if kind.startswith("*")]
    if kernel is matmul:
        aligned += [4, 5]  # n and k: rows begin at multiples of 16 elements
    attributes = {(at,): [["tt.divisibility", 16]] for at in aligned}
    source = ASTSource(kernel, signature, constants, attributes)
    built = triton.compile(
        source,
        target=GPUTarget("cuda", 90 if name.startswith("tensor") else 80, 32),
        options={"num_warps": warps, "num_stages": stages},
    )
    text = re.sub(r"\t\.section\s+\.debug.*", "", built.asm["ptx"], flags=re.DOTALL)
    text = re.sub(r'\.file\s+(\d+) ".*"', r'.file	\1 "kernels.py"', text)
    text = re.sub(r"[ \t]*// kernels.py.*| *//.*(?=\n)", "", text)
    text = re.sub(r"\n\s*\n+", "\n", text)
    head = f"// shared {built.metadata.shared}, threads {32 * warps}, from {kernel.__name__} in kernels.py\n"
    return head + text.strip() + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or VARIANTS:
        (HERE / f"{name}.ptx").write_text(compiled(name))
