"""The Triton kernels whose PTX is beside this file; ``python kernels.py`` writes it anew.

It needs Triton 3.9 (pip install triton), and no GPU: each kernel is compiled for sm_80, those of tensor maps
and those whose names begin with ``hopper`` for sm_90.
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


@triton.jit
def tensor_made(x, y, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """The kernel makes its tensor maps itself."""
    first = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    second = tl.make_tensor_descriptor(y, [rows, columns], [columns, 1], [M, N])
    row = tl.program_id(0) * M
    for column in range(0, columns, N):
        tile = first.load([row, column])
        second.store([row, column], tile + tile)


@triton.jit
def tensor_matmul(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPECIAL: tl.constexpr):
    """c = a b of tensor maps; ``b`` has a row for each column of the product."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in tl.range(0, k, K, warp_specialize=SPECIAL):
        total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def tensor_attention(
    q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, SPECIAL: tl.constexpr
):
    """Flash attention over whole blocks of keys: one head for each program on axis 1."""
    head = tl.program_id(1) * length
    queries = q.load([head + tl.program_id(0) * M, 0])
    greatest = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    mean = tl.zeros((M, D), tl.float32)
    for start in tl.range(0, length, N, warp_specialize=SPECIAL):
        score = tl.dot(queries, k.load([head + start, 0]).T) * scale
        new = tl.maximum(greatest, tl.max(score, 1))
        power = tl.exp2(score - new[:, None])
        shrink = tl.exp2(greatest - new)
        total = total * shrink + tl.sum(power, 1)
        mean = tl.dot(power.to(tl.float16), v.load([head + start, 0]), mean * shrink[:, None])
        greatest = new
    out.store([head + tl.program_id(0) * M, 0], (mean / total[:, None]).to(tl.float16))


TILE = {"M": 64, "N": 64, "K": 32}
WIDE = {"M": 128, "N": 128, "K": 64}
_MAP = "tensordesc<fp16[64,64]>"
_TALL = "tensordesc<fp16[128,64]>"
_BLOCK = "tensordesc<fp16[128,128]>"
_BYTES = "tensordesc<fp8[64,128]>"
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
    "hopper_matmul_f16": (matmul, "*fp16 *fp16 *fp32 i32 i32 i32", {**WIDE, "SUM": tl.float32}, 8, 3),
    "hopper_matmul_bf16": (
        matmul,
        "*bf16 *bf16 *fp32 i32 i32 i32",
        {**TILE, "K": 64, "SUM": tl.float32},
        4,
        3,
    ),
    "hopper_matmul_tf32": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32", {**TILE, "SUM": tl.float32}, 4, 3),
    "hopper_matmul_f16_f16": (matmul, "*fp16 *fp16 *fp16 i32 i32 i32", {**TILE, "SUM": tl.float16}, 4, 2),
    "hopper_matmul_i8": (matmul, "*i8 *i8 *i32 i32 i32 i32", {**TILE, "K": 64, "SUM": tl.int32}, 4, 3),
    "hopper_attention": (attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"M": 128, "N": 64, "D": 64}, 8, 2),
    "tensor_matmul": (tensor_matmul, f"{_TALL} {_TALL} {_BLOCK} i32", {**WIDE, "SPECIAL": False}, 8, 3),
    "tensor_matmul_special": (
        tensor_matmul,
        f"{_MAP} {_MAP} {_MAP} i32",
        {**TILE, "K": 64, "SPECIAL": True},
        4,
        3,
    ),
    "tensor_matmul_e4m3": (
        tensor_matmul,
        f"{_BYTES} {_BYTES} {_MAP} i32".replace("fp8", "fp8e4nv"),
        {**TILE, "K": 128, "SPECIAL": False},
        4,
        3,
    ),
    "tensor_matmul_e5m2": (
        tensor_matmul,
        f"{_BYTES} {_BYTES} {_MAP} i32".replace("fp8", "fp8e5"),
        {**TILE, "K": 128, "SPECIAL": False},
        4,
        2,
    ),
    "tensor_attention": (
        tensor_attention,
        f"{_TALL} {_MAP} {_MAP} {_TALL} i32 fp32",
        {"M": 128, "N": 64, "D": 64, "SPECIAL": False},
        8,
        2,
    ),
    "tensor_attention_special": (
        tensor_attention,
        f"{_MAP} {_MAP} {_MAP} {_MAP} i32 fp32",
        {"M": 64, "N": 64, "D": 64, "SPECIAL": True},
        4,
        2,
    ),
    "tensor_made": (tensor_made, "*fp32 *fp32 i32 i32", {"M": 32, "N": 32}, 4, 1),
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
        target=GPUTarget("cuda", 90 if name.startswith(("tensor", "hopper")) else 80, 32),
        options={"num_warps": warps, "num_stages": stages},
    )
    text = re.sub(r"\t\.section\s+\.debug.*", "", built.asm["ptx"], flags=re.DOTALL)
    text = re.sub(r'\.file\s+(\d+) ".*"', r'.file	\1 "kernels.py"', text)
    text = re.sub(r"[ \t]*// kernels.py.*| *//.*(?=\n)", "", text)
    text = re.sub(r"\n\s*\n+", "\n", text)
    shared, threads = built.metadata.shared, 32 * built.metadata.num_warps
    head = f"// shared {shared}, threads {threads}, from {kernel.__name__} in kernels.py\n"
    if built.metadata.global_scratch_size:
        head += f"// scratch of each block {built.metadata.global_scratch_size}\n"
    return head + text.strip() + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or VARIANTS:
        (HERE / f"{name}.ptx").write_text(compiled(name))
