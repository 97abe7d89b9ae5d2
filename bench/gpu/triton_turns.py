"""Kernels in Triton whose programs take turns at tiles: what all tiles share is loaded once.

The next tile is loaded into registers before this one is computed, as in mlopt's kernels; the last turn's
load is one that was made before.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import triton
import triton.language as tl
from triton_kernels import gelu, layer_normalized, places, rms_normalized


@triton.jit
def layer_norm(
    x, weight, bias, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr, TILES: tl.constexpr, PROGRAMS: tl.constexpr
):
    at, column, step = places(0, COLUMNS, ROWS), tl.arange(0, COLUMNS), ROWS * COLUMNS
    w, b = tl.load(weight + column), tl.load(bias + column)
    own = tl.load(x + tl.program_id(0) * step + at)
    for tile in range(tl.program_id(0), TILES, PROGRAMS):
        ahead = tl.load(x + min(tile + PROGRAMS, TILES - 1) * step + at)
        result = layer_normalized(own.to(tl.float32), w, b, COLUMNS)
        tl.store(y + tile * step + at, result.to(y.dtype.element_ty))
        own = ahead


@triton.jit
def rms_norm(
    x, weight, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr, EPSILON: tl.constexpr,
    TILES: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    at, column, step = places(0, COLUMNS, ROWS), tl.arange(0, COLUMNS), ROWS * COLUMNS
    w = tl.load(weight + column)
    own = tl.load(x + tl.program_id(0) * step + at)
    for tile in range(tl.program_id(0), TILES, PROGRAMS):
        ahead = tl.load(x + min(tile + PROGRAMS, TILES - 1) * step + at)
        result = rms_normalized(own.to(tl.float32), w, COLUMNS, EPSILON)
        tl.store(y + tile * step + at, result.to(y.dtype.element_ty))
        own = ahead


@triton.jit
def partial_sum(x, parts, EACH: tl.constexpr, BLOCK: tl.constexpr):
    start = x + tl.program_id(0) * EACH + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, EACH, BLOCK):
        sums += tl.load(start + first)
    tl.store(parts + tl.program_id(0), tl.sum(sums, 0))


@triton.jit
def divide_by_parts(
    x, parts, y, COUNT: tl.constexpr, BLOCK: tl.constexpr, TILES: tl.constexpr, PROGRAMS: tl.constexpr
):
    at = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(parts + tl.arange(0, COUNT)), 0)
    own = tl.load(x + tl.program_id(0) * BLOCK + at)
    for tile in range(tl.program_id(0), TILES, PROGRAMS):
        ahead = tl.load(x + min(tile + PROGRAMS, TILES - 1) * BLOCK + at)
        tl.store(y + tile * BLOCK + at, own / total)
        own = ahead


@triton.jit
def residual_gelu(
    x, residual, bias, y, HEIGHT: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    column = tl.program_id(0) % (COLUMNS // BLOCK) * BLOCK + tl.arange(0, BLOCK)
    first = tl.program_id(0) // (COLUMNS // BLOCK)
    b = tl.load(bias + column)
    own, added = tl.load(x + first * COLUMNS + column), tl.load(residual + first * COLUMNS + column)
    for row in range(first, HEIGHT, ROWS):
        later = min(row + ROWS, HEIGHT - 1) * COLUMNS + column
        next_own, next_added = tl.load(x + later), tl.load(residual + later)
        result = gelu(own.to(tl.float32) + b.to(tl.float32)) + added.to(tl.float32)
        tl.store(y + row * COLUMNS + column, result.to(y.dtype.element_ty))
        own, added = next_own, next_added


@triton.jit
def rotary(
    x, cos, sin, y, POSITIONS: tl.constexpr, FEATURES: tl.constexpr, ROWS: tl.constexpr,
    HEADS: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * FEATURES + tl.arange(0, FEATURES // 2)[None, :]
    half, head = FEATURES // 2, POSITIONS * FEATURES
    cos_left, cos_right = tl.load(cos + at).to(tl.float32), tl.load(cos + at + half).to(tl.float32)
    sin_left, sin_right = tl.load(sin + at).to(tl.float32), tl.load(sin + at + half).to(tl.float32)
    own = x + tl.program_id(1) * head + at
    left, right = tl.load(own), tl.load(own + half)
    for each in range(tl.program_id(1), HEADS, PROGRAMS):
        later = x + min(each + PROGRAMS, HEADS - 1) * head + at
        next_left, next_right = tl.load(later), tl.load(later + half)
        first, second = left.to(tl.float32), right.to(tl.float32)
        place = y + each * head + at
        tl.store(place, (first * cos_left + -second * sin_left).to(y.dtype.element_ty))
        tl.store(place + half, (second * cos_right + first * sin_right).to(y.dtype.element_ty))
        left, right = next_left, next_right
