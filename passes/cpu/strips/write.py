"""vector.transfer_write: stores of a strip's fragment; where the loops of a nest end."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import memref, vector

from .emitter import Emitter
from .fragment import Fragment, Key, Strip, is_vector, keys_of, lane_of
from .masks import lane_mask
from .memory import has_room, memory_dims, memory_indices
from .strided import scatter
from .transposed import store_transposed, unrolled_innermost
from .vectors import spread


def store_strip(em: Emitter, op: vector.TransferWriteOp, strip: Strip) -> None:
    """Emit the written tile at a strip whose valid positions all lie in memory, and store it."""
    dims = memory_dims(op)
    fragment = em.emit(op.valueToStore, strip) if is_vector(op.valueToStore) else em.emit(op.valueToStore)
    lane = lane_of(strip)
    if lane is not None:
        lanes = strip[lane].lanes
        with em.here():
            fragment = Fragment({key: spread(fragment[key], lanes) for key in keys_of(strip)})
        if unrolled_innermost(op, dims, strip) is not None:
            store_transposed(em, op, dims, strip, fragment)
            return
    for key in keys_of(strip):
        _store(em, op, dims, strip, key, fragment[key])


def _store(
    em: Emitter,
    op: vector.TransferWriteOp,
    dims: Sequence[int | None],
    strip: Strip,
    key: Key,
    value: ir.Value,
) -> None:
    lane, base = lane_of(strip), op.base
    indices = memory_indices(em, op, dims, strip, key)
    if lane is None:
        with em.here():
            memref.StoreOp(value, base, indices)
        return
    dim = dims[lane]
    assert dim is not None
    mask = None if has_room(op, dim, strip[lane]) else lane_mask(em, strip, key)
    if dim == base.type.rank - 1:
        with em.here():
            if mask is None:
                vector.StoreOp(value, base, indices)
            else:
                vector.MaskedStoreOp(base, indices, mask, value)
        return
    lanes = strip[lane].lanes
    if mask is None:
        kind = ir.VectorType.get([lanes], ir.IntegerType.get_signless(1))
        mask = em.constant(ir.Attribute.parse(f"dense<true> : {kind}"), kind)
    scatter(em, base, indices, dim, mask, value)
