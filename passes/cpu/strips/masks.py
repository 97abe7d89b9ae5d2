"""Masks of the lanes of a strip that count."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, vector

from .emitter import Emitter
from .fragment import Key, Strip, lane_of


def valid_lanes(em: Emitter, strip: Strip, key: Key) -> ir.Value | int | None:
    """How many lanes of the vector at ``key`` are valid; None if all are."""
    lane = lane_of(strip)
    if lane is None or strip[lane].limit is None:
        return None
    axis = strip[lane]
    skipped = key[lane] * axis.lanes
    if isinstance(axis.limit, int):
        left = axis.limit - skipped
        return None if left >= axis.lanes else max(left, 0)
    if not skipped:
        return axis.limit
    with em.here():
        return arith.SubIOp(axis.limit, em.index(skipped)).result


def mask_of(em: Emitter, valid: ir.Value | int, lanes: int) -> ir.Value:
    """The mask whose first ``valid`` lanes are set."""
    kind = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
    count = em.index(valid) if isinstance(valid, int) else valid
    with em.here():
        return vector.CreateMaskOp(kind, [count]).result


def lane_mask(em: Emitter, strip: Strip, key: Key) -> ir.Value | None:
    """The mask of the valid lanes of the vector at ``key``; None if all are valid."""
    valid = valid_lanes(em, strip, key)
    lane = lane_of(strip)
    return None if valid is None or lane is None else mask_of(em, valid, strip[lane].lanes)
