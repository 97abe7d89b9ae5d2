"""Loads and stores of strips whose lane axis is not memory's innermost dim.

If an unrolled axis is, rows of it are moved as they lie in memory and transposed in
registers: log2(rows) rounds of shuffles that (de)interleave two vectors.

CPUs without registers of 512 bits have no masks that cost nothing (a masked store takes a Zen 3 core a dozen
cycles and more), and shuffle within 128 bits best. There rows are stored in parts, powers of two of at most
so many bits: 6 columns of f32 as 4 and 2, by 10 shuffles for 8 rows. One Zen 3 core, convolutions by 3x3 to
64 channels of 56x56: of 16 channels 59 to 74 GFLOP/s, of 64 77 to 82; ResNet-18 0.84 to 0.92 of ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mlir import ir
from mlir.dialects import arith, scf, vector

from ...powers import power_above
from ...scheduling.cpu import WIDE_BITS
from .emitter import Emitter
from .fragment import Axis, Fragment, Key, Strip, keys_of, lane_of
from .masks import mask_of, valid_lanes
from .memory import inside, memory_indices
from .types import bits_of
from .vectors import spread

_SHUFFLED_BITS = 128


def unrolled_innermost(op: ir.OpView, dims: Sequence[int | None], strip: Strip) -> int | None:
    """The tile dim that is unrolled along memory's innermost dim, if the lanes are not along it."""
    lane, innermost = lane_of(strip), op.base.type.rank - 1
    if lane is None or strip[lane].count != 1 or innermost not in dims:
        return None
    dim = list(dims).index(innermost)
    return dim if dim != lane and strip[dim].count > 1 else None


def can_load_transposed(op: ir.OpView, dims: Sequence[int | None], strip: Strip) -> bool:
    """Whether `load_transposed` applies: no more columns than lanes, all of it inside memory."""
    column, lane = unrolled_innermost(op, dims, strip), lane_of(strip)
    if column is None or lane is None:
        return False
    count, lanes = strip[column].count, strip[lane].lanes
    known = all(dim is None or inside(op, at, dim, strip[at]) for at, dim in enumerate(dims))
    return known and lanes >= power_above(count)


def load_transposed(em: Emitter, op: ir.OpView, dims: Sequence[int | None], strip: Strip) -> Fragment:
    """Load a row for each lane, then turn the rows into one vector for each column."""
    column, lane = unrolled_innermost(op, dims, strip), lane_of(strip)
    assert column is not None and lane is not None
    count, lanes = strip[column].count, strip[lane].lanes
    width = power_above(count)
    row_type = ir.VectorType.get([width], op.base.type.element_type)
    mask = None if count == width else mask_of(em, count, width)
    padding = em.scalar(op.padding)
    values: dict[Key, ir.Value] = {}
    for key in keys_of(tuple(Axis() if at == column else axis for at, axis in enumerate(strip))):
        rows = []
        for row in range(lanes):
            indices = _row_indices(em, op, dims, strip, key, row, clamp=True)
            with em.here():
                rows.append(_load_row(op.base, indices, row_type, mask, padding))
        with em.here():
            while len(rows) > width:
                rows = [_shuffle(a, b, range(2 * a.type.shape[0])) for a, b in _pairs(rows)]
            columns = deinterleaved(rows)
        for step, value in enumerate(columns[:count]):
            values[_with(key, column, step)] = value
    return Fragment(values)


def _load_row(
    base: ir.Value,
    indices: Sequence[ir.Value],
    kind: ir.VectorType,
    mask: ir.Value | None,
    padding: ir.Value,
) -> ir.Value:
    if mask is None:
        return vector.LoadOp(kind, base, indices).result
    return vector.MaskedLoadOp(kind, base, indices, mask, spread(padding, kind.shape[0])).result


def store_transposed(
    em: Emitter, op: ir.OpView, dims: Sequence[int | None], strip: Strip, fragment: Fragment
) -> None:
    """Turn the vectors into one row for each lane, then store the rows, in parts."""
    column, lane = unrolled_innermost(op, dims, strip), lane_of(strip)
    assert column is not None and lane is not None
    count, lanes = strip[column].count, strip[lane].lanes
    group, sizes = lanes, [count]
    if em.vector_bits < WIDE_BITS:
        group = min(lanes, _SHUFFLED_BITS // bits_of(op.base.type.element_type))
        sizes = _powers(count, group)
    firsts = list(accumulate(sizes, initial=0))[:-1]
    for key in keys_of(tuple(Axis() if at == column else axis for at, axis in enumerate(strip))):
        parts = []
        for first, size in zip(firsts, sizes, strict=True):
            steps = [first + min(step, size - 1) for step in range(power_above(size))]
            with em.here():
                parts.append(_interleaved([fragment[_with(key, column, step)] for step in steps], group))
        valid = valid_lanes(em, strip, key)
        for row in range(lanes if not isinstance(valid, int) else min(valid, lanes)):
            indices = _row_indices(em, op, dims, strip, key, row, clamp=False)
            pieces = []
            for first, size, chunks in zip(firsts, sizes, parts, strict=True):
                at = [*indices[:-1], em.sum(indices[-1], em.index(first))]
                with em.here():
                    pieces.append(_Piece(_row(chunks, row, group), at, size))
            _store_row(em, op, pieces, row, valid)


def _powers(count: int, most: int) -> list[int]:
    """Powers of two whose sum is ``count``, the largest first, none above ``most``."""
    rest = [1 << bit for bit in reversed(range(most.bit_length())) if count % most >> bit & 1]
    return [most] * (count // most) + rest


class _Piece(NamedTuple):
    """Neighbours of a row, and where they are stored; of the vector the first ``size`` count."""

    value: ir.Value
    indices: list[ir.Value]
    size: int

    @property
    def is_full(self) -> bool:
        """Whether no mask is needed."""
        return bool(self.value.type.shape[0] == self.size)


def _store_row(
    em: Emitter, op: ir.OpView, pieces: Sequence[_Piece], row: int, valid: ir.Value | int | None
) -> None:
    within = None
    if isinstance(valid, ir.Value):
        number = em.index(row)
        with em.here():
            within = arith.CmpIOp(arith.CmpIPredicate.slt, number, valid).result
    if within is not None and all(piece.is_full for piece in pieces):
        # A branch that is always taken but in the last strip; a mask costs each time.
        with em.here():
            branch = scf.IfOp(within)
        with ir.InsertionPoint(branch.then_block):
            for piece in pieces:
                vector.StoreOp(piece.value, op.base, piece.indices)
            scf.YieldOp([])
        return
    for piece in pieces:
        stored: ir.Value | int = piece.size
        if within is not None:
            some, none = em.index(piece.size), em.index(0)
            with em.here():
                stored = arith.SelectOp(within, some, none).result
        elif piece.is_full:
            with em.here():
                vector.StoreOp(piece.value, op.base, piece.indices)
            continue
        mask = mask_of(em, stored, piece.value.type.shape[0])
        with em.here():
            vector.MaskedStoreOp(op.base, piece.indices, mask, piece.value)


def _row_indices(
    em: Emitter, op: ir.OpView, dims: Sequence[int | None], strip: Strip, key: Key, row: int, clamp: bool
) -> list[ir.Value]:
    lane = lane_of(strip)
    assert lane is not None
    dim = dims[lane]
    assert dim is not None
    indices = memory_indices(em, op, dims, strip, key)
    valid = valid_lanes(em, strip, key) if clamp else None
    if isinstance(valid, int):
        row = min(row, valid - 1)
    offset = em.index(row)
    if isinstance(valid, ir.Value):
        one = em.index(1)
        with em.here():
            offset = arith.MinSIOp(offset, arith.SubIOp(valid, one).result).result
    if row:
        indices[dim] = em.sum(indices[dim], offset)
    return indices


def _with(key: Key, dim: int, step: int) -> Key:
    return (*key[:dim], step, *key[dim + 1 :])


def _pairs(values: list[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
    return list(zip(values[::2], values[1::2], strict=True))


def _shuffle(left: ir.Value, right: ir.Value, places: Sequence[int]) -> ir.Value:
    return vector.ShuffleOp(left, right, list(places)).result


def _row(chunks: list[ir.Value], row: int, group: int) -> ir.Value:
    """A row of `_interleaved` columns, in as many vectors as there are columns; sizes are powers of two."""
    lanes, width = chunks[0].type.shape[0], len(chunks)
    start = row % group * width
    if width < lanes:
        chunk, first = chunks[start // group], row // group * group + start % group
        return _shuffle(chunk, chunk, range(first, first + width))
    parts = chunks[start // lanes : (start + width) // lanes]
    while len(parts) > 1:
        parts = [_shuffle(a, b, range(2 * a.type.shape[0])) for a, b in _pairs(parts)]
    return parts[0]


def _interleaved(columns: list[ir.Value], group: int) -> list[ir.Value]:
    """The columns' elements in the order of rows, as vectors of the columns' length.

    So it is in each ``group`` of a column's lanes, whose rows lie in the same lanes of the vectors.
    """
    lanes = columns[0].type.shape[0]
    low = [at - at % group + at % group // 2 + (at % 2) * lanes for at in range(lanes)]
    high = [place + group // 2 for place in low]
    runs = [[column] for column in columns]
    while len(runs) > 1:
        half = len(runs) // 2
        runs = [
            [
                _shuffle(a, b, places)
                for a, b in zip(runs[at], runs[at + half], strict=True)
                for places in (low, high)
            ]
            for at in range(half)
        ]
    return runs[0]


def deinterleaved(rows: list[ir.Value]) -> list[ir.Value]:
    """The inverse: as many columns as there are vectors of rows."""
    lanes = rows[0].type.shape[0]
    runs = [rows]
    while len(runs[0]) > 1:
        runs = [
            [_shuffle(a, b, range(odd, 2 * lanes, 2)) for a, b in _pairs(run)]
            for odd in (0, 1)
            for run in runs
        ]
    return [run[0] for run in runs]
