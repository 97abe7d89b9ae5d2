"""How the matrices of mma.sync are spread over the registers of a warp (PTX ISA, 9.7.14.5).

All shapes but one follow the same rule. With g = lane / 4, t = lane % 4 and E elements in a
register, element e of register r is

    A[g + 8 (r % 2), t E + e + 4 E (r / 2)]     (m16; for m8 there is one register: A[g, t E + e])
    B[t E + e + 4 E r, g]
    C[g + 8 (r / 2), 2 t + r % 2]               (here r counts elements)

The odd one is m8n8k4 of f16, which multiplies four pairs of matrices at once.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .formats import widen
from .ptx import Array

_LANE = np.arange(32)


def _both(rows: Array, columns: Array) -> tuple[Array, Array]:
    rows, columns = np.broadcast_arrays(rows, columns)
    return rows, columns


@cache
def places_a(rows: int, registers: int, elements: int) -> tuple[Array, Array]:
    """Rows and columns of A for lane, register, element."""
    lane, r, e = np.ix_(_LANE, np.arange(registers), np.arange(elements))
    g, t = lane // 4, lane % 4
    if rows == 8:
        return _both(g + 0 * r + 0 * e, t * elements + e + 4 * elements * r)
    return _both(g + 8 * (r % 2) + 0 * e, t * elements + e + 4 * elements * (r // 2))


@cache
def places_b(registers: int, elements: int) -> tuple[Array, Array]:
    """Rows and columns of B for lane, register, element."""
    lane, r, e = np.ix_(_LANE, np.arange(registers), np.arange(elements))
    return _both(lane % 4 * elements + e + 4 * elements * r, lane // 4 + 0 * r + 0 * e)


@cache
def places_c(elements: int) -> tuple[Array, Array]:
    """Rows and columns of C and D for lane and element."""
    lane, r = np.ix_(_LANE, np.arange(elements))
    return _both(lane // 4 + 8 * (r // 2), lane % 4 * 2 + r % 2)


def elements(words: Array, name: str) -> Array:
    """The elements in rows of words, or of bytes, as float64."""
    if name in ("s32", "u32"):
        values = words.view(np.int32).astype(np.float64)
    elif name in ("f32", "f64"):
        values = words.view(np.float32 if name == "f32" else np.float64).astype(np.float64)
    elif name in ("u8", "s8"):
        values = words.view(np.uint8 if name == "u8" else np.int8).astype(np.float64)
    elif name in ("u4", "s4"):
        values = _nibbles(words, name == "s4")
    elif name == "b1":
        values = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.float64)
    else:
        held = {"f16": np.float16, "bf16": np.uint16, "tf32": np.uint32}.get(name, np.uint8)
        values = widen(words.view(held), name)
    return values


def _nibbles(words: Array, signed: bool) -> Array:
    bytes_ = words.view(np.uint8)
    pairs = np.stack([bytes_ & 15, bytes_ >> 4], axis=-1).astype(np.int8).reshape(len(words), -1)
    if signed:
        pairs = pairs - ((pairs & 8) << 1)
    return pairs.astype(np.float64)


def gathered(values: Array, places: tuple[Array, Array], rows: int, columns: int) -> Array:
    """The matrices of all warps from ``values`` (warp, then lane, register and element in one)."""
    order = np.argsort((places[0] * columns + places[1]).reshape(-1), kind="stable")
    found: Array = values[:, order].reshape(-1, rows, columns)
    return found


def scattered(matrices: Array, places: tuple[Array, Array]) -> Array:
    """For each warp and lane, the elements of a matrix that are its own."""
    warps, _, columns = matrices.shape
    flat = (places[0] * columns + places[1]).reshape(-1)
    return matrices.reshape(warps, -1)[:, flat].reshape(warps, 32, -1)


# m8n8k4 of f16: lane l works for the pair of matrices (l % 16) / 4, with the lanes that share it.
PAIR = _LANE % 16 // 4
_UPPER = _LANE // 16 * 4


def quad_a(by_columns: bool) -> tuple[Array, Array]:
    """Rows and columns of A in a lane's own pair, for lane and element."""
    i = np.arange(4)[None, :]
    own = (_LANE % 4)[:, None]
    if by_columns:
        return _both(i + _UPPER[:, None], own)
    return _both(own + _UPPER[:, None], i)


def quad_b(by_columns: bool) -> tuple[Array, Array]:
    """The same for B."""
    i = np.arange(4)[None, :]
    own = (_LANE % 4)[:, None]
    if by_columns:
        return _both(i, own + _UPPER[:, None])
    return _both(own, i + _UPPER[:, None])


def quad_c(single: bool) -> tuple[Array, Array]:
    """The same for C and D, which f32 and f16 spread differently."""
    i = np.arange(8)[None, :]
    lane = _LANE[:, None]
    if single:
        return _both((lane & 1) + (i & 2) + _UPPER[:, None], (i & 4) + (lane & 2) + (i & 1))
    return _both(lane % 4 + _UPPER[:, None], i)
