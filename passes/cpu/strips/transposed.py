"""Loads and stores of strips whose lane axis is not memory's innermost dim.

If an unrolled axis is, rows of it are moved as they lie in memory and transposed in
registers: log2(rows) rounds of shuffles that (de)interleave two vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, scf, vector

from .bounds import power_of_two
from .emitter import Emitter
from .fragment import Axis, Fragment, Key, Strip, keys_of, lane_of
from .masks import mask_of, valid_lanes
from .memory import inside, memory_indices
from .vectors import spread


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
    return known and lanes >= power_of_two(count)


def load_transposed(em: Emitter, op: ir.OpView, dims: Sequence[int | None], strip: Strip) -> Fragment:
    """Load a row for each lane, then turn the rows into one vector for each column."""
    column, lane = unrolled_innermost(op, dims, strip), lane_of(strip)
    assert column is not None and lane is not None
    count, lanes = strip[column].count, strip[lane].lanes
    width = power_of_two(count)
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
    """Turn the vectors into one row for each lane, then store the rows."""
    column, lane = unrolled_innermost(op, dims, strip), lane_of(strip)
    assert column is not None and lane is not None
    count, lanes = strip[column].count, strip[lane].lanes
    width = power_of_two(count)
    for key in keys_of(tuple(Axis() if at == column else axis for at, axis in enumerate(strip))):
        columns = [fragment[_with(key, column, min(step, count - 1))] for step in range(width)]
        with em.here():
            chunks = _interleaved(columns)
        valid = valid_lanes(em, strip, key)
        for row in range(lanes if not isinstance(valid, int) else min(valid, lanes)):
            indices = _row_indices(em, op, dims, strip, key, row, clamp=False)
            with em.here():
                value = _part(chunks, row * width, width)
            _store_row(em, op, value, indices, count, row, valid)


def _store_row(
    em: Emitter,
    op: ir.OpView,
    value: ir.Value,
    indices: Sequence[ir.Value],
    count: int,
    row: int,
    valid: ir.Value | int | None,
) -> None:
    width = value.type.shape[0]
    if valid is None or isinstance(valid, int):
        if count == width:
            with em.here():
                vector.StoreOp(value, op.base, list(indices))
            return
        mask = mask_of(em, count, width)
    else:
        number, some, none = em.index(row), em.index(count), em.index(0)
        with em.here():
            within = arith.CmpIOp(arith.CmpIPredicate.slt, number, valid).result
            if count == width:  # a branch that is always taken but in the last strip; a mask costs each time
                branch = scf.IfOp(within)
                with ir.InsertionPoint(branch.then_block):
                    vector.StoreOp(value, op.base, list(indices))
                    scf.YieldOp([])
                return
            stored = arith.SelectOp(within, some, none).result
        mask = mask_of(em, stored, width)
    with em.here():
        vector.MaskedStoreOp(op.base, list(indices), mask, value)


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


def _part(chunks: list[ir.Value], start: int, width: int) -> ir.Value:
    """``width`` elements from ``start`` on; sizes are powers of two, ``start`` a multiple of ``width``."""
    lanes = chunks[0].type.shape[0]
    if width < lanes:
        chunk = chunks[start // lanes]
        return _shuffle(chunk, chunk, range(start % lanes, start % lanes + width))
    parts = chunks[start // lanes : (start + width) // lanes]
    while len(parts) > 1:
        parts = [_shuffle(a, b, range(2 * a.type.shape[0])) for a, b in _pairs(parts)]
    return parts[0]


def _interleaved(columns: list[ir.Value]) -> list[ir.Value]:
    """The columns' elements in the order of rows, as vectors of the columns' length."""
    lanes = columns[0].type.shape[0]
    low = [at // 2 + (at % 2) * lanes for at in range(lanes)]
    high = [place + lanes // 2 for place in low]
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
