"""Operations of bench/gpu/operations.py whose sizes are known at the call only, in Triton, with masks.

Elements may be more than 2^31, as they may in ours: a block's place is in 64 bits, and so are sizes.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import triton
import triton.language as tl
from triton_kernels import largest, relu, spots
from triton_launches import Launch, by_rows, flat


@triton.jit
def softmax_any(x, y, COLUMNS: tl.constexpr):
    start, column = tl.program_id(0).to(tl.int64) * COLUMNS, tl.arange(0, COLUMNS)
    value = tl.load(x + start + column)
    power = tl.exp(value - largest(value, 0))
    tl.store(y + start + column, power / tl.sum(power, 0))


@triton.jit
def relu_scale_any(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(y + at, relu(tl.load(x + at, mask=inside)) * 0.5 + 1, mask=inside)


@triton.jit
def column_sum_any(x, y, height, COLUMNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = spots(BLOCK)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + column[None, :]
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, height, ROWS):
        inside = (first + tl.arange(0, ROWS) < height)[:, None]
        total += tl.load(x + first * COLUMNS + at, mask=inside, other=0.0)
    tl.store(y + column, tl.sum(total, 0))


@triton.jit
def transpose_any(x, y, height, width, R: tl.constexpr, C: tl.constexpr):
    wide = tl.cdiv(width, C)
    rows = tl.program_id(0) // wide * R + tl.arange(0, R)
    columns = tl.program_id(0) % wide * C + tl.arange(0, C)
    inside = (rows < height)[:, None] & (columns < width)[None, :]
    tile = tl.load(x + rows[:, None] * width + columns[None, :], mask=inside)
    tl.store(y + columns[:, None] * height + rows[None, :], tl.trans(tile), mask=tl.trans(inside))


OPERATIONS = {
    "softmax of any number of rows": [by_rows(softmax_any, "*fp32 *fp32", 128, 1024)],
    "relu_scale of any size": [flat(relu_scale_any, "*fp32 *fp32 i64", 4, 128 * 1024)],
    "column_sum of any number of rows": [
        Launch(column_sum_any, "*fp32 *fp32 i64", {"COLUMNS": 1024, "ROWS": 64, "BLOCK": 32}, 32)
    ],
    "transpose of any size": [
        Launch(transpose_any, "*fp32 *fp32 i64 i64", {"R": 32, "C": 32}, 128 * 1024 // 1024)
    ],
}
