"""Rows that are reduced: while one is stored, or reduced again, the next one is asked for.

    for rows %r: sum of exp(x[%r, :] - m); for %c … step 64 {
      prefetch %x[min(%r + 1, 4095), %c]            // and the three lines after it
      store exp(x[%r, %c] - m) / sum
    }

Only the first loop over a row reads memory: hardware, which looks ahead within a page, does not know the row,
and while the other loops run memory waits. Always legal: nothing is read, and what is asked for lies in the
buffer. It pays where stores go past the caches (`stream_stores`): other stores read lines, too, and the next
row's wait with them (0.57 to 1.06 of the time, often as before). It does not for elements of two bytes, whose
conversions memory does not wait for (0.73 to 1.12), nor for rows of 1 KB (0.99). On one Zen 5 core, which
others used, too, 16 MiB of f32 in rows of 1024: softmax 0.61 of the time, log_softmax 0.61, rms_norm 0.74,
layer_norm 0.93, x / x.sum(-1) 0.81; softmax of rows of 512 to 2048 0.73 to 0.80, of 4096 0.96.

Where the row is stored nowhere, the last reduction that goes through it asks instead: cross-entropy of 256 MB
in rows of 16 KB 0.61 of the time, of 64 KB 0.57, of 512 KB and 1 MB 0.68; of 16 MB that L3 holds logsumexp
0.65 to 0.74, var 0.77 to 1.06, argmax 0.78 to 0.93. Of rows of 4 KB there var took 1.24. Sums of exponentials
of rows from 64 KB have had one loop since (`online.py`), which asks for nothing.
"""

from __future__ import annotations

from math import prod

from mlir import ir
from mlir.dialects import arith, memref

from ...combining import reduced_dims
from ..stream_stores import LARGE
from .bounds import DYNAMIC
from .emitter import Emitter
from .fragment import UNIT, Strip, keys_of, lane_of
from .memory import memory_dims, memory_indices
from .prefetch import LINE, should_prefetch
from .types import bytes_of

# Of shorter rows many are in a page, in which hardware looks ahead; of longer ones L1 does not hold two.
SHORTEST, LONGEST = 1 << 11, 1 << 14  # bytes
# The same of rows that are only reduced; longer ones were not measured.
SHORTEST_REDUCED, LONGEST_REDUCED = 1 << 14, 1 << 20  # bytes
NARROWEST = 4  # bytes of an element: conversions of narrower ones leave memory the time
LOCALITY = 3  # of memref.prefetch: into L1


def prefetch_row(em: Emitter, root: ir.OpView, strip: Strip) -> None:
    """Ask for what the row after the one that ``root`` stores at ``strip`` is made from, if that pays."""
    tile, lane = root.valueToStore, lane_of(strip)
    if lane is None or em.layout.classes.of(tile, lane) not in em.layout.summed(tile):
        return
    asked: list[ir.Value] = []
    for read in em.layout.reads_of([tile]):
        place = _strip_of(em, tile, strip, read)
        row = None if place is None or read.base in asked else _row_dim(em, read, place)
        if place is not None and row is not None and _should_prefetch(root, read):
            asked.append(read.base)
            _prefetch(em, read, place, row)


def prefetch_reduced(em: Emitter, op: ir.OpView, strip: Strip) -> None:
    """Ask for what the row after the one that ``op`` reduces at ``strip`` is made from, if that pays."""
    lane = lane_of(strip)
    if lane is None or lane not in reduced_dims(op):
        return
    for read in em.layout.reads_of([op.source]):
        place = _strip_of(em, op.source, strip, read)
        if place is None or not _is_last_pass(em, op, read):
            continue
        row = _row_dim(em, read, place, _task_row(read))
        long_enough = SHORTEST_REDUCED <= _row_bytes(read) <= LONGEST_REDUCED
        if row is not None and long_enough and _is_wide(read) and should_prefetch(read):
            _prefetch(em, read, place, row)


def _is_last_pass(em: Emitter, op: ir.OpView, read: ir.OpView) -> bool:
    """Whether ``op`` waits for a reduction of the same rows, and nothing else goes through them later."""
    reductions, stored = [], []
    for each in op.operation.block.operations:
        if each.operation.name == "vector.multi_reduction" and read in em.layout.reads_of([each.source]):
            reductions.append(each)
        elif each.operation.name == "vector.transfer_write":
            stored += em.layout.classes.all_of(each.valueToStore)
    rows = {em.layout.classes.of(op.source, dim) for dim in reduced_dims(op)}
    waits = any(each in reductions for each in em.layout.made_from(op.source))
    return waits and reductions[-1] == op and not rows.intersection(stored)


def _task_row(read: ir.OpView) -> int | None:
    """The dim of memory that has a row for each task, if there is no other one but that of the rows."""
    shape = read.base.type.shape
    wide = [dim for dim, size in enumerate(shape[:-1]) if size != 1]
    is_one = len(wide) == 1 and isinstance(read.indices[wide[0]].owner, ir.Block)
    return wide[0] if is_one and read.indices[wide[0]].owner.owner.name == "scf.forall" else None


def _strip_of(em: Emitter, tile: ir.Value, strip: Strip, read: ir.OpView) -> Strip | None:
    """Where a read takes what is in ``tile`` at ``strip``, if it has all dims of the tile."""
    mine, others = (em.layout.classes.all_of(each) for each in (read.results[0], tile))
    if [each for each in mine if each is not None] != [each for each in others if each is not None]:
        return None
    return tuple(UNIT if each is None else strip[others.index(each)] for each in mine)


def _row_dim(em: Emitter, read: ir.OpView, strip: Strip, task: int | None = None) -> int | None:
    """The one dim of an argument's memory along which a loop goes from row to row, if there is one.

    Where none does, ``task``: that along which tasks follow one another.
    """
    dims, lane = memory_dims(read), lane_of(strip)
    if DYNAMIC in read.base.type.shape or not isinstance(read.base.owner, ir.Block):
        return None
    if lane is None or dims[lane] != read.base.type.rank - 1 or isinstance(strip[lane].limit, ir.Value):
        return None
    if read.operation in em.packed or em.border.outside:
        return None
    rows = [
        (dim, axis) for dim, axis in zip(dims, strip, strict=True) if axis.base is not None and not axis.lanes
    ]
    if not rows:
        return task
    return rows[0][0] if len(rows) == 1 and rows[0][1].count == 1 else None


def _should_prefetch(root: ir.OpView, read: ir.OpView) -> bool:
    """Whether large rows come from memory, and what is stored does not go through the caches."""
    if DYNAMIC in root.base.type.shape:
        return False
    row, stored = _row_bytes(read), _row_bytes(root)
    is_streamed = stored % LINE == 0 and prod(root.base.type.shape[:-1]) * stored >= LARGE
    return is_streamed and _is_wide(read) and SHORTEST <= row <= LONGEST and should_prefetch(read)


def _is_wide(read: ir.OpView) -> bool:
    return bytes_of(read.base.type.element_type) >= NARROWEST


def _row_bytes(transfer: ir.OpView) -> int:
    kind = transfer.base.type
    return int(kind.shape[-1]) * bytes_of(kind.element_type)


def _prefetch(em: Emitter, read: ir.OpView, strip: Strip, row: int) -> None:
    """The lines of a strip in the next position of memory's dim ``row``; past the end, in the last."""
    dims, lane = memory_dims(read), lane_of(strip)
    assert lane is not None
    axis, last = strip[lane], em.index(read.base.type.shape[row] - 1)
    for key in keys_of(strip):
        indices = memory_indices(em, read, dims, strip, key)
        one = em.index(1)
        with em.here():
            indices[row] = arith.MinSIOp(arith.AddIOp(indices[row], one).result, last).result
        valid = axis.lanes if axis.limit is None else axis.limit - key[lane] * axis.lanes
        for first in range(0, min(axis.lanes, valid), LINE // bytes_of(read.base.type.element_type)):
            line = [*indices[:-1], em.plus(indices[-1], first)]
            with em.here():
                memref.PrefetchOp(read.base, line, False, LOCALITY, True)
