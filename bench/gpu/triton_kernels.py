"""The operations of bench/gpu/operations.py as an engineer would write them in Triton.

More of their reductions are in triton_reductions.py, what moves elements in triton_moves.py, and those of any
size in triton_any_size.py. Here sizes are constants and multiples of the tiles, so nothing is masked. NaN
goes through maxima, as in eager; division, sigmoid, exp and tanh are Triton's own.
"""

# ruff: noqa: N803 (constants of a Triton kernel are in capitals)

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def spots(BLOCK: tl.constexpr):
    return tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def greater(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def largest(x, AXIS: tl.constexpr):
    return tl.reduce(x, AXIS, greater)


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def relu_scale(x, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at, (relu(tl.load(x + at).to(tl.float32)) * 0.5 + 1).to(y.dtype.element_ty))


@triton.jit
def relu_scale_wide(x, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at, relu(tl.load(x + at)) * 0.5 + 1)


@triton.jit
def relu_scale_whole(x, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at, tl.maximum(tl.load(x + at), 0).to(tl.float32) * 0.5 + 1)


@triton.jit
def scaled_sigmoid(x, w, b, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    value = tl.load(x + at).to(tl.float32) * tl.load(w + at).to(tl.float32) + tl.load(b + at).to(tl.float32)
    tl.store(y + at, tl.sigmoid(relu(value)).to(y.dtype.element_ty))


@triton.jit
def gelu_tanh(x, y, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    value = tl.load(x + at).to(tl.float32)
    inner = 0.7978845608028654 * (value + 0.044715 * (value * value * value))
    tl.store(y + at, (0.5 * value * (1 + libdevice.tanh(inner))).to(y.dtype.element_ty))


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def residual_gelu(x, residual, bias, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    value = tl.load(x + at) + tl.load(bias + at % COLUMNS)
    tl.store(y + at, gelu(value) + tl.load(residual + at))


@triton.jit
def places(tile, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    rows = tile * ROWS + tl.arange(0, ROWS)
    return rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]


@triton.jit
def softmax(x, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    at = places(tl.program_id(0), COLUMNS, ROWS)
    value = tl.load(x + at).to(tl.float32)
    power = tl.exp(value - largest(value, 1)[:, None])
    tl.store(y + at, (power / tl.sum(power, 1)[:, None]).to(y.dtype.element_ty))


@triton.jit
def long_rows(x, tops, totals, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * COLUMNS
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, COLUMNS, BLOCK):
        value = tl.load(x + start + first + tl.arange(0, BLOCK))
        new = greater(top, value)
        total = total * tl.exp(top - new) + tl.exp(value - new)
        top = new
    most = largest(top, 0)
    tl.store(tops + tl.program_id(0), most)
    tl.store(totals + tl.program_id(0), tl.sum(total * tl.exp(top - most), 0))


@triton.jit
def softmax_of(x, tops, totals, y, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) // (COLUMNS // BLOCK)
    at = spots(BLOCK)
    tl.store(y + at, tl.exp(tl.load(x + at) - tl.load(tops + row)) / tl.load(totals + row))


@triton.jit
def log_softmax(x, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    at = places(tl.program_id(0), COLUMNS, ROWS)
    value = tl.load(x + at).to(tl.float32)
    value = value - largest(value, 1)[:, None]
    tl.store(y + at, (value - tl.log(tl.sum(tl.exp(value), 1))[:, None]).to(y.dtype.element_ty))


@triton.jit
def layer_normalized(x, weight, bias, COLUMNS: tl.constexpr):
    centred = x - (tl.sum(x, 1) / COLUMNS)[:, None]
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / COLUMNS + 1e-5)
    return centred * scale[:, None] * weight.to(tl.float32)[None, :] + bias.to(tl.float32)[None, :]


@triton.jit
def rms_normalized(x, weight, COLUMNS: tl.constexpr, EPSILON: tl.constexpr):
    scale = tl.rsqrt(tl.sum(x * x, 1) / COLUMNS + EPSILON)
    return x * scale[:, None] * weight.to(tl.float32)[None, :]


@triton.jit
def layer_norm(x, weight, bias, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    at, column = places(tl.program_id(0), COLUMNS, ROWS), tl.arange(0, COLUMNS)
    value = tl.load(x + at).to(tl.float32)
    result = layer_normalized(value, tl.load(weight + column), tl.load(bias + column), COLUMNS)
    tl.store(y + at, result.to(y.dtype.element_ty))


@triton.jit
def rms_norm(x, weight, y, COLUMNS: tl.constexpr, ROWS: tl.constexpr, EPSILON: tl.constexpr):
    at, column = places(tl.program_id(0), COLUMNS, ROWS), tl.arange(0, COLUMNS)
    value = tl.load(x + at).to(tl.float32)
    result = rms_normalized(value, tl.load(weight + column), COLUMNS, EPSILON)
    tl.store(y + at, result.to(y.dtype.element_ty))


@triton.jit
def cross_entropy(x, target, losses, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = x + row.to(tl.int64) * COLUMNS
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, COLUMNS, BLOCK):
        column = first + tl.arange(0, BLOCK)
        value = tl.load(start + column, column < COLUMNS, other=-float("inf"))
        new = greater(top, value)
        total = total * tl.exp(top - new) + tl.exp(value - new)
        top = new
    most = largest(top, 0)
    loss = tl.log(tl.sum(total * tl.exp(top - most), 0)) + most - tl.load(start + tl.load(target + row))
    tl.store(losses + row, loss)


@triton.jit
def mean(losses, y, COUNT: tl.constexpr):
    tl.store(y, tl.sum(tl.load(losses + tl.arange(0, COUNT)), 0) / COUNT)


@triton.jit
def partial_sum(x, parts, BLOCK: tl.constexpr):
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + spots(BLOCK)), 0))


@triton.jit
def divide_by_parts(x, parts, y, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, value / tl.sum(tl.load(parts + tl.arange(0, COUNT)), 0))


@triton.jit
def column_sum(x, y, HEIGHT: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = spots(BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, HEIGHT, ROWS):
        rows = first + tl.arange(0, ROWS)
        total += tl.load(x + rows[:, None] * COLUMNS + column[None, :]).to(tl.float32)
    tl.store(y + column, tl.sum(total, 0).to(y.dtype.element_ty))


@triton.jit
def column_parts(x, y, HEIGHT: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column, start = spots(BLOCK), tl.program_id(1) * HEIGHT
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, HEIGHT, ROWS):
        rows = start + first + tl.arange(0, ROWS)
        total += tl.load(x + rows[:, None] * COLUMNS + column[None, :]).to(tl.float32)
    tl.store(y + tl.program_id(1) * COLUMNS + column, tl.sum(total, 0))


@triton.jit
def add_parts(parts, y, COUNT: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    column, part = spots(BLOCK), tl.arange(0, COUNT)
    total = tl.sum(tl.load(parts + part[:, None] * COLUMNS + column[None, :]), 0)
    tl.store(y + column, total.to(y.dtype.element_ty))


@triton.jit
def transpose(x, y, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) // (WIDTH // C) * R + tl.arange(0, R)
    columns = tl.program_id(0) % (WIDTH // C) * C + tl.arange(0, C)
    tile = tl.load(x + rows[:, None] * WIDTH + columns[None, :])
    tl.store(y + columns[:, None] * HEIGHT + rows[None, :], tl.trans(tile))


@triton.jit
def swiglu(x, y, HALF: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    source = x + at // HALF * (2 * HALF) + at % HALF
    gate, up = tl.load(source).to(tl.float32), tl.load(source + HALF).to(tl.float32)
    tl.store(y + at, (gate * tl.sigmoid(gate) * up).to(y.dtype.element_ty))


@triton.jit
def rotary(x, cos, sin, y, POSITIONS: tl.constexpr, FEATURES: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, FEATURES // 2)[None, :]
    at = rows[:, None] * FEATURES + column
    angle = (rows % POSITIONS)[:, None] * FEATURES + column
    first, second = tl.load(x + at), tl.load(x + at + FEATURES // 2)
    left = first * tl.load(cos + angle) + -second * tl.load(sin + angle)
    angle += FEATURES // 2
    right = second * tl.load(cos + angle) + first * tl.load(sin + angle)
    tl.store(y + at, left)
    tl.store(y + at + FEATURES // 2, right)


@triton.jit
def copy_columns(x, y, FROM: tl.constexpr, WIDTH: tl.constexpr, TO: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    tl.store(y + at // WIDTH * TO + at % WIDTH + FROM, tl.load(x + at))


@triton.jit
def embedding(tokens, table, y, ROWS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(tokens + tl.program_id(0))
    tl.device_assert((row >= 0) & (row < ROWS), "index out of bounds")
    tl.store(y + tl.program_id(0) * WIDTH + column, tl.load(table + row * WIDTH + column))


@triton.jit
def gather(x, places, y, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    place = tl.load(places + at)
    tl.device_assert((place >= 0) & (place < WIDTH), "index out of bounds")
    tl.store(y + at, tl.load(x + at // WIDTH * WIDTH + place))


@triton.jit
def max_pool(x, y, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = spots(BLOCK)
    corner = x + at // (WIDTH // 2) * (2 * WIDTH) + at % (WIDTH // 2) * 2
    top = greater(tl.load(corner), tl.load(corner + 1))
    tl.store(y + at, greater(top, greater(tl.load(corner + WIDTH), tl.load(corner + WIDTH + 1))))


@triton.jit
def mean_pool(x, y, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + at), 0) / COLUMNS)


@triton.jit
def attention_steps(
    sums, total, top, query, k, v, first, last, row, scale,
    D: tl.constexpr, KEYS: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for start in range(first, last, KEYS):
        key = start + tl.arange(0, KEYS)
        at = key[:, None] * D + tl.arange(0, D)[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at))) * scale
        if MASKED:
            scores = tl.where(row[:, None] >= key[None, :], scores, -float("inf"))
        new = greater(top, largest(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        kept = tl.exp2(top - new)
        total = total * kept + tl.sum(weights, 1)
        sums = tl.dot(weights.to(query.dtype), tl.load(v + at), sums * kept[:, None])
        top = new
    return sums, total, top


@triton.jit
def attention(
    q,
    k,
    v,
    y,
    COUNT: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    start = tl.program_id(0) % (COUNT // ROWS) * ROWS
    first = tl.program_id(0) // (COUNT // ROWS) * (COUNT * D)
    row = start + tl.arange(0, ROWS)
    at = first + row[:, None] * D + tl.arange(0, D)[None, :]
    query = tl.load(q + at)
    scale = 1.4426950408889634 / D**0.5
    top = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, D), tl.float32)
    whole = start if CAUSAL else COUNT
    sums, total, top = attention_steps(
        sums, total, top, query, k + first, v + first, 0, whole, row, scale, D, KEYS, False
    )
    if CAUSAL:
        sums, total, top = attention_steps(
            sums, total, top, query, k + first, v + first, start, start + ROWS, row, scale, D, KEYS, True
        )
    tl.store(y + at, (sums / total[:, None]).to(y.dtype.element_ty))
