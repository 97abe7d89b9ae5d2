"""Element-wise operations of bench/gpu/operations.py in Triton, of pairs and bytes, too, and moved elements.

As in triton_kernels.py. Between their steps halves are rounded as eager rounds them.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import triton
import triton.language as tl
from triton_kernels import gelu, spots, transpose
from triton_launches import Launch, flat


@triton.jit
def geglu(x, y, HALF: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    source = x + at // HALF * (2 * HALF) + at % HALF
    gate, up = tl.load(source), tl.load(source + HALF)
    tl.store(y + at, gelu(gate.to(tl.float32)).to(gate.dtype) * up)


@triton.jit
def rotary_halves(x, cos, sin, y, POSITIONS: tl.constexpr, FEATURES: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column, half = tl.arange(0, FEATURES // 2)[None, :], FEATURES // 2
    at = rows[:, None] * FEATURES + column
    angle = (rows % POSITIONS)[:, None] * FEATURES + column
    first, second = tl.load(x + at), tl.load(x + at + half)
    tl.store(y + at, first * tl.load(cos + angle) + -second * tl.load(sin + angle))
    tl.store(y + at + half, second * tl.load(cos + angle + half) + first * tl.load(sin + angle + half))


@triton.jit
def interleaved_rotary(x, cos, sin, y, POSITIONS: tl.constexpr, PAIRS: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * (2 * PAIRS) + tl.arange(0, 2 * PAIRS)[None, :]
    angle = (rows % POSITIONS)[:, None] * PAIRS + tl.arange(0, PAIRS)[None, :]
    even, odd = tl.split(tl.reshape(tl.load(x + at), (ROWS, PAIRS, 2)))
    c, s = tl.load(cos + angle), tl.load(sin + angle)
    tl.store(y + at, tl.interleave(even * c - odd * s, even * s + odd * c))


@triton.jit
def batch_norm(x, mean, weight, bias, y, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    """A program has the places of one channel of one image; the weight is the variance, too."""
    at, channel = spots(BLOCK), tl.program_id(0) % CHANNELS
    m, w = tl.load(mean + channel).to(tl.float32), tl.load(weight + channel).to(tl.float32)
    scale, shift = tl.rsqrt(tl.abs(w) + 1e-5), tl.load(bias + channel).to(tl.float32)
    result = (tl.load(x + at).to(tl.float32) - m) * scale * w + shift
    tl.store(y + at, result.to(y.dtype.element_ty))


@triton.jit
def pixel_shuffle(x, y, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Pairs of planes are interleaved: places are results' rows, and pairs in each."""
    at = spots(BLOCK)
    row, column = at // SIDE, at % SIDE
    plane, line = row // (2 * SIDE), row % (2 * SIDE)
    source = x + ((plane * 4 + line % 2 * 2) * SIDE + line // 2) * SIDE + column
    first, second = tl.load(source), tl.load(source + SIDE * SIDE)
    tl.store(y + tl.program_id(0) * (2 * BLOCK) + tl.arange(0, 2 * BLOCK), tl.interleave(first, second))


@triton.jit
def concat_rows(x, other, y, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    if tl.program_id(0) < COUNT // BLOCK:
        tl.store(y + at, tl.load(x + at))
    else:
        tl.store(y + at, tl.load(other + at - COUNT))


@triton.jit
def is_greater(x, other, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at, tl.load(x + at) > tl.load(other + at))


@triton.jit
def keep(x, other, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at, tl.where(tl.load(other + at) != 0, tl.load(x + at), 0))


@triton.jit
def invert(x, y, BLOCK: tl.constexpr):
    """Bools are bytes of 0 or 1."""
    at = spots(BLOCK)
    tl.store(y + at, tl.load(x + at) ^ 1)


@triton.jit
def flip(x, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at, tl.load(x + at // COLUMNS * COLUMNS + (COLUMNS - 1 - at % COLUMNS)))


@triton.jit
def drop_first(x, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows lie on as they do without their first elements: what is stored behind each is no result."""
    at = spots(BLOCK)
    row, column = at // COLUMNS, at % COLUMNS
    inside = column < COLUMNS - 1
    tl.store(y + row * (COLUMNS - 1) + column, tl.load(x + at + 1, mask=inside), mask=inside)


@triton.jit
def dequantize(x, scale, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    """Triton has no float8_e4m3fn for sm_80: its bits are those of an f32 that is 2^120 times too small."""
    at = spots(BLOCK)
    code = tl.load(x + at).to(tl.uint32)
    bits = (code & 128) << 24 | (code & 127) << 20
    value = bits.to(tl.float32, bitcast=True) * 2.0**120
    value = tl.where((code & 127) == 127, float("nan"), value)
    tl.store(y + at, (value * tl.load(scale + at // COLUMNS)).to(y.dtype.element_ty))


def turned(types: str, rows: int, columns: int) -> Launch:
    """A transpose of 256 x 512 by tiles."""
    constants = {"HEIGHT": 256, "WIDTH": 512, "R": rows, "C": columns}
    return Launch(transpose, types, constants, 256 * 512 // (rows * columns))


SMALL, PART = 512 * 1024, 128 * 1024
_SPOTS = {"POSITIONS": 256, "FEATURES": 64, "ROWS": 16}
OPERATIONS = {
    "geglu f32": [flat(geglu, "*fp32 *fp32", 4, 128 * 2048, HALF=2048)],
    "geglu bf16": [flat(geglu, "*bf16 *bf16", 8, 128 * 2048, HALF=2048)],
    "rotary bf16": [Launch(rotary_halves, "*bf16 *bf16 *bf16 *bf16", _SPOTS, 64, warps=2)],
    "interleaved_rotary f32": [
        Launch(interleaved_rotary, "*fp32 *fp32 *fp32 *fp32", {"POSITIONS": 128, "PAIRS": 32, "ROWS": 8}, 64)
    ],
    "batch_norm f16": [flat(batch_norm, "*fp16 *fp16 *fp16 *fp16 *fp16", 8, PART, CHANNELS=32)],
    "pixel_shuffle f32": [flat(pixel_shuffle, "*fp32 *fp32", 2, 2 * 16 * 1024 // 2, SIDE=32)],
    "concat_rows i16": [flat(concat_rows, "*i16 *i16 *i16", 8, 2 * PART, COUNT=PART)],
    "greater f32": [flat(is_greater, "*fp32 *fp32 *i1", 4, PART)],
    "keep ui8": [flat(keep, "*u8 *u8 *u8", 16, PART)],
    "invert bool": [flat(invert, "*i8 *i8", 16, PART)],
    "flip f32": [flat(flip, "*fp32 *fp32", 4, PART, COLUMNS=1024)],
    "drop_first f32": [flat(drop_first, "*fp32 *fp32", 4, SMALL, COLUMNS=4096)],
    "drop_first f16": [flat(drop_first, "*fp16 *fp16", 8, SMALL, COLUMNS=4096)],
    "dequantize f8_e4m3fn": [flat(dequantize, "*u8 *fp32 *bf16", 16, SMALL, COLUMNS=1024)],
    "transpose_part f64": [turned("*fp64 *fp64", 32, 32)],
    "transpose_part i8": [turned("*i8 *i8", 64, 32)],
}
