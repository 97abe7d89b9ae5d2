"""The next task's part of a large factor is asked for while this task multiplies by its own.

A convolution's task reads the weights of 64 channels (of 512 by 3x3 1.2 MB) again for each of its rows, and
the next task others, which come from memory::

    for rows r: for %k … step 4 {
      prefetch %w[min(%task + 1, 7), …, %k + r mod 4, lanes]   // a fourth of what the next task reads at %k
      multiply by %w[%task, …, %k to %k + 3, lanes]
    }

Rows take turns, so that memory is read all the time. Where a window's turns are cut into blocks (`turns.py`)
the next block comes before the next task. Always legal: nothing is read. On a Zen 4 core, in
ResNet-18, convolutions of 512 channels of 7x7 take 1.95 to 2.05 ms instead of 2.6.
"""

from __future__ import annotations

from math import prod

from mlir import ir
from mlir.dialects import arith, memref

from .bounds import DYNAMIC
from .emitter import Emitter
from .factors import loops_of, read_of
from .fragment import UNIT, Axis, Strip, keys_of, lane_of, sizes_of
from .memory import memory_dims, memory_indices, walked_dim
from .types import bytes_of

LEAST_BYTES = 1 << 20  # what a factor has at least: less of it stays in L2
LINE = 64  # bytes
LOCALITY = 2  # of memref.prefetch: into L2


def prefetch_next(em: Emitter, op: ir.OpView, strip: Strip) -> None:
    """Ask for a part of what the next task's contraction ``op`` reads, if that pays."""
    loops = loops_of(op)
    axes = dict(zip(loops[2], strip, strict=True))
    for factor in (0, 1):
        read = read_of(op.operands[factor])
        row = next(
            (axes[loop] for loop in loops[2] if loop not in loops[factor] and _is_row(axes[loop])), None
        )
        if read is None or row is None or not can_prefetch(em, read) or not should_prefetch(read):
            continue
        known = dict(zip(em.layout.classes.all_of(op.operands[factor]), loops[factor], strict=True))
        mine = [known.get(each) for each in em.layout.classes.all_of(read.results[0])]
        lanes = tuple(UNIT if loop is None else axes.get(loop, UNIT) for loop in mine)
        summed = [dim for dim, loop in enumerate(mine) if loop is not None and loop not in axes]
        if len(summed) == 1 and lane_of(lanes) is not None:
            _prefetch(em, op, read, lanes, summed[0], row)


def can_prefetch(em: Emitter, read: ir.OpView) -> bool:
    """Whether a factor is read where it is, each task its own part of it."""
    outside = read.operation in em.packed or em.border.outside or DYNAMIC in read.base.type.shape
    return not outside and _task_dim(read) is not None


def should_prefetch(read: ir.OpView) -> bool:
    """Whether so much is read that it does not stay in the cache."""
    kind = read.base.type
    return bool(prod(kind.shape) * bytes_of(kind.element_type) >= LEAST_BYTES)


def _is_row(axis: Axis) -> bool:
    """Whether a strip has one position of a dim, in a loop over them."""
    return axis.base is not None and axis.count == 1 and not axis.lanes


def _task_dim(read: ir.OpView) -> int | None:
    """Memory's dim of which each task reads one position, that of its number."""
    for dim, index in enumerate(read.indices):
        block = index.owner
        if isinstance(block, ir.Block) and block.owner.operation.name == "scf.forall":
            return dim
    return None


def _cut_dim(em: Emitter, op: ir.OpView, read: ir.OpView) -> int | None:
    """Memory's dim along which a window's outermost loop walks, if it does so in blocks."""
    loop = op.operation.parent
    while loop.parent.name == "scf.for" and len(loop.parent.opview.results):
        loop = loop.parent
    is_window = loop != op.operation.parent
    return walked_dim(loop.opview, read) if is_window and em.block is not None else None


def _prefetch(em: Emitter, op: ir.OpView, read: ir.OpView, lanes: Strip, summed: int, row: Axis) -> None:
    """One position of the tile dim ``summed``: that of the row's turn."""
    dims, task, lane = memory_dims(read), _task_dim(read), lane_of(lanes)
    element = bytes_of(read.base.type.element_type)
    place = dims[summed]
    assert task is not None and lane is not None and place is not None
    cut = _cut_dim(em, op, read)
    turns = em.index(sizes_of(read.results[0])[summed])
    for key in keys_of(lanes):
        indices = memory_indices(em, read, dims, lanes, key)
        with em.here():
            turn = arith.RemUIOp(em.position(row), turns).result
        _step_on(em, read, indices, task, cut)
        with em.here():
            indices[place] = arith.AddIOp(indices[place], turn).result
        for first in range(0, lanes[lane].lanes, LINE // element):
            line = [*indices[:-1], em.plus(indices[-1], first)]
            with em.here():
                memref.PrefetchOp(read.base, line, False, LOCALITY, True)


def _step_on(em: Emitter, read: ir.OpView, indices: list[ir.Value], task: int, cut: int | None) -> None:
    """From a place in memory to that of the next block along ``cut``, after the last of the next task."""
    one, last = em.index(1), em.index(read.base.type.shape[task] - 1)
    with em.here():
        following = arith.MinSIOp(arith.AddIOp(indices[task], one).result, last).result
    if cut is not None and em.block is not None:
        start, end = em.block
        size = em.index(read.base.type.shape[cut])
        with em.here():
            place = arith.AddIOp(indices[cut], arith.SubIOp(end, start).result).result
            is_beyond = arith.CmpIOp(arith.CmpIPredicate.sge, place, size).result
            following = arith.SelectOp(is_beyond, following, indices[task]).result
            indices[cut] = arith.SelectOp(is_beyond, arith.SubIOp(place, size).result, place).result
    indices[task] = following
