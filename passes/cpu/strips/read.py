"""vector.transfer_read: loads of the strip's elements from memory.

Lanes along memory's innermost dim are vector loads; along another dim a gather. A position
that may lie outside of memory reads the padding value, never memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, memref, vector

from .bounds import range_of
from .emitter import Emitter
from .fragment import UNIT, Fragment, Key, Strip, keys_of, lane_of
from .masks import valid_lanes
from .memory import has_room, lies_inside, memory_dims, memory_indices, memory_size, range_at
from .panel import load_packed
from .registry import no_uses, rule
from .strided import Row, load_row
from .transposed import can_load_transposed, load_transposed
from .vectors import spread


@rule("vector.transfer_read", uses=no_uses)
def emit_read(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """One load for each unrolled position."""
    op = value.owner.opview
    if op.operation in em.border.outside:
        padding = em.scalar(op.padding)
        return Fragment(dict.fromkeys(keys_of(strip), padding))
    dims = memory_dims(op)
    source = tuple(UNIT if dim is None else axis for dim, axis in zip(dims, strip, strict=True))
    packed = em.packed.get(op.operation)
    if packed is not None and source[packed.lane].lanes:
        fragment = load_packed(em, op, packed, source)
    elif can_load_transposed(op, dims, source):
        fragment = load_transposed(em, op, dims, source)
    else:
        fragment = Fragment({key: _load(em, op, dims, source, key) for key in keys_of(source)})

    def source_key(key: Key) -> Key:
        return tuple(0 if dim is None else step for dim, step in zip(dims, key, strict=True))

    return Fragment({key: fragment[source_key(key)] for key in keys_of(strip)})


def _load(
    em: Emitter, op: vector.TransferReadOp, dims: Sequence[int | None], strip: Strip, key: Key
) -> ir.Value:
    indices = memory_indices(em, op, dims, strip, key)
    lane = lane_of(strip)
    guards = [
        (tile_dim, dim)
        for tile_dim, dim in enumerate(dims)
        if dim is not None
        and tile_dim != lane
        and (op.operation, tile_dim) not in em.border.within
        and not lies_inside(op, tile_dim, dim, strip[tile_dim], key[tile_dim])
    ]
    within, indices = _guard(em, op, indices, [dim for _, dim in guards])
    if lane is None:
        with em.here():
            value = memref.LoadOp(op.base, indices).result
    else:
        value = _load_lanes(em, op, dims, strip, key, indices)
    if within is None:
        return value
    padding = em.scalar(op.padding)
    with em.here():
        lanes = strip[lane].lanes if lane is not None else 0
        return arith.SelectOp(within, value, spread(padding, lanes) if lanes else padding).result


def _guard(
    em: Emitter, op: ir.OpView, indices: list[ir.Value], dims: Sequence[int]
) -> tuple[ir.Value | None, list[ir.Value]]:
    """Indices made safe, and whether they were inside; None if there was nothing to guard."""
    within = None
    indices = list(indices)
    for dim in dims:
        size, zero = memory_size(em, op.base, dim), em.index(0)
        with em.here():
            here = arith.CmpIOp(arith.CmpIPredicate.ult, indices[dim], size).result
            indices[dim] = arith.SelectOp(here, indices[dim], zero).result
            within = here if within is None else arith.AndIOp(within, here).result
    return within, indices


def _load_lanes(
    em: Emitter,
    op: vector.TransferReadOp,
    dims: Sequence[int | None],
    strip: Strip,
    key: Key,
    indices: list[ir.Value],
) -> ir.Value:
    lane = lane_of(strip)
    assert lane is not None
    dim, axis, source = dims[lane], strip[lane], op.base
    assert dim is not None
    valid = None if has_room(op, dim, axis) else valid_lanes(em, strip, key)
    before, all_inside = None, None
    if not lies_inside(op, lane, dim, axis, key[lane]):
        valid = _lanes_inside(em, source, dim, indices[dim], valid)
        low = range_at(op, dim, axis, key[lane]).low
        if low is None or low < 0:
            before = _lanes_before(em, indices[dim])
        if _is_padded_in_front(op, dim):
            # Lanes a stride apart are read with what follows the last one.
            more = 0 if dim == len(indices) - 1 else 1
            all_inside = _all_inside(em, source, dim, indices[dim], axis.lanes + more)
    return load_row(
        em, Row(source, indices, dim, axis.lanes, valid, em.scalar(op.padding), before, all_inside)
    )


def _is_padded_in_front(op: vector.TransferReadOp, dim: int) -> bool:
    """Whether a row is read with what is in front of it, as by a window: few of its strips lie outside."""
    low = range_of(op.indices[dim]).low
    return low is not None and low < 0


def _all_inside(em: Emitter, source: ir.Value, dim: int, first: ir.Value, lanes: int) -> ir.Value:
    """Whether ``lanes`` positions from ``first`` on lie in memory."""
    size, zero = memory_size(em, source, dim), em.index(0)
    end = em.sum(first, em.index(lanes))
    with em.here():
        begins = arith.CmpIOp(arith.CmpIPredicate.sge, first, zero).result
        ends = arith.CmpIOp(arith.CmpIPredicate.sle, end, size).result
        return arith.AndIOp(begins, ends).result


def _lanes_before(em: Emitter, first: ir.Value) -> ir.Value:
    zero = em.index(0)
    with em.here():
        return arith.SubIOp(zero, first).result


def _lanes_inside(
    em: Emitter, source: ir.Value, dim: int, first: ir.Value, valid: ir.Value | int | None
) -> ir.Value:
    size, zero = memory_size(em, source, dim), em.index(0)
    limit = None if valid is None else em.index(valid) if isinstance(valid, int) else valid
    with em.here():
        left = arith.MaxSIOp(arith.SubIOp(size, first).result, zero).result
        return left if limit is None else arith.MinSIOp(left, limit).result
