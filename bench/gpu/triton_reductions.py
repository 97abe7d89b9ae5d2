"""Reductions of bench/gpu/operations.py in Triton: softmax of long rows and columns, sums, maxima, places.

As in triton_kernels.py: sizes are constants, NaN goes through maxima, the first of equal ones is found, and
sums of halves are made in f32.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import triton
import triton.language as tl
from triton_kernels import greater, largest, spots
from triton_launches import Launch, by_rows, flat


@triton.jit
def softmax_twice(x, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    """A row that no program holds in its registers: read for its maximum and sum, and once more."""
    start, column = tl.program_id(0) * COLUMNS, tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, COLUMNS, BLOCK):
        value = tl.load(x + start + first + column).to(tl.float32)
        new = greater(top, value)
        total = total * tl.exp(top - new) + tl.exp(value - new)
        top = new
    most = largest(top, 0)
    whole = tl.sum(total * tl.exp(top - most), 0)
    for first in range(0, COLUMNS, BLOCK):
        value = tl.load(x + start + first + column).to(tl.float32)
        tl.store(y + start + first + column, (tl.exp(value - most) / whole).to(y.dtype.element_ty))


@triton.jit
def softmax_parts(x, tops, totals, BLOCK: tl.constexpr):
    value = tl.load(x + spots(BLOCK))
    most = largest(value, 0)
    tl.store(tops + tl.program_id(0), most)
    tl.store(totals + tl.program_id(0), tl.sum(tl.exp(value - most), 0))


@triton.jit
def join_parts(tops, totals, top, total, HEIGHT: tl.constexpr, PARTS: tl.constexpr):
    row = tl.arange(0, HEIGHT)
    at = row[:, None] * PARTS + tl.arange(0, PARTS)[None, :]
    own = tl.load(tops + at)
    most = largest(own, 1)
    tl.store(top + row, most)
    tl.store(total + row, tl.sum(tl.load(totals + at) * tl.exp(own - most[:, None]), 1))


@triton.jit
def softmax_joined(x, top, total, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0) // (COLUMNS // BLOCK), spots(BLOCK)
    tl.store(y + at, tl.exp(tl.load(x + at) - tl.load(top + row)) / tl.load(total + row))


@triton.jit
def column_softmax(x, y, HEIGHT: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, HEIGHT)[:, None] * COLUMNS + spots(BLOCK)[None, :]
    value = tl.load(x + at).to(tl.float32)
    power = tl.exp(value - largest(value, 0)[None, :])
    tl.store(y + at, (power / tl.sum(power, 0)[None, :]).to(y.dtype.element_ty))


@triton.jit
def softmax_wide(x, y, COLUMNS: tl.constexpr):
    """Of f64."""
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    value = tl.load(x + at)
    power = tl.exp(value - largest(value, 0))
    tl.store(y + at, power / tl.sum(power, 0))


@triton.jit
def row_sum(x, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + row, tl.sum(tl.load(x + at).to(tl.float32), 1).to(y.dtype.element_ty))


@triton.jit
def row_sum_whole(x, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """Of 8-bit integers: 1024 of them are added up in 32 bits, and kept in 64."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + row, tl.sum(tl.load(x + at).to(tl.int32), 1).to(tl.int64))


@triton.jit
def outer_sum(x, y, COUNT: tl.constexpr, MIDDLE: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, COUNT) * MIDDLE + tl.program_id(0)
    value = tl.load(x + row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(y + tl.program_id(0), tl.sum(value))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def column_max(x, y, HEIGHT: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    column = spots(BLOCK)
    value = tl.load(x + tl.arange(0, HEIGHT)[:, None] * COLUMNS + column[None, :])
    tl.store(y + column, tl.reduce(value, 0, larger))


@triton.jit
def first_largest(a, place, b, other):
    """NaN is above all numbers, as in eager."""
    above = (a > b) | ((a != a) & (b == b))
    same = (a == b) | ((a != a) & (b != b))
    kept = above | (same & (place < other))
    return tl.where(kept, a, b), tl.where(kept, place, other)


@triton.jit
def argmax(x, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    value = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    _, place = tl.reduce((value, tl.broadcast_to(column[None, :], value.shape)), 1, first_largest)
    tl.store(y + row, place.to(tl.int64))


@triton.jit
def column_argmax(x, y, HEIGHT: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row, column = tl.arange(0, HEIGHT), spots(BLOCK)
    value = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    _, place = tl.reduce((value, tl.broadcast_to(row[:, None], value.shape)), 0, first_largest)
    tl.store(y + column, place.to(tl.int64))


def of_columns(kernel: triton.JITFunction, types: str, height: int, block: int, warps: int) -> Launch:
    """``block`` of 1024 columns a program."""
    return Launch(kernel, types, {"HEIGHT": height, "COLUMNS": 1024, "BLOCK": block}, 1024 // block, warps)


LONG, PART = 262144, 4096
OPERATIONS = {
    "softmax_65536 bf16": [by_rows(softmax_twice, "*bf16 *bf16", 24, 65536, 32, BLOCK=16384)],
    "softmax_262144 f32": [
        Launch(softmax_parts, "*fp32 *fp32 *fp32", {"BLOCK": PART}, 4 * LONG // PART, warps=8),
        Launch(
            join_parts, "*fp32 *fp32 *fp32 *fp32", {"HEIGHT": 4, "PARTS": LONG // PART}, 1, warps=2,
            elements=4 * LONG // PART,
        ),
        flat(softmax_joined, "*fp32 *fp32 *fp32 *fp32", 16, 4 * LONG, COLUMNS=LONG),
    ],
    "column_softmax f32": [of_columns(column_softmax, "*fp32 *fp32", 512, 8, warps=8)],
    "column_softmax bf16": [of_columns(column_softmax, "*bf16 *bf16", 512, 16, warps=16)],
    "softmax_part f64": [by_rows(softmax_wide, "*fp64 *fp64", 128, 1024)],
    "row_sum f16": [by_rows(row_sum, "*fp16 *fp16", 128, 1024)],
    "row_sum i8": [by_rows(row_sum_whole, "*i8 *i64", 128, 1024, warps=2)],
    "outer_sum f32": [Launch(outer_sum, "*fp32 *fp32", {"COUNT": 8, "MIDDLE": 64, "COLUMNS": 256}, 64)],
    "column_max i32": [of_columns(column_max, "*i32 *i32", 128, 32, warps=8)],
    "argmax f32": [by_rows(argmax, "*fp32 *i64", 128, 1024)],
    "column_argmax f32": [of_columns(column_argmax, "*fp32 *i64", 512, 32, warps=32)],
}  # fmt: skip
