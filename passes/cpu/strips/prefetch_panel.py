"""A turned panel's next part of memory is asked for while this one is multiplied.

    for blocks of %k { fill the panel; for rows %m … step 4: for %k … step 8 {
      prefetch %w[%n + (a row for this %m and %k), %k + 128]   // what the panel is filled from next
      multiply by the panel's eight rows
    }}

So no fill waits for memory. After the last block come the first one's columns of the next rows, from which
the next strip of lanes or the next task fills its panel. Each row tile asks for some of the rows, each step
along a line for some of those: each line once. Always legal: nothing is read, and positions are clamped to
memory. Ten layers 768 to 3072 and back of 128 rows, one Zen 5 core: 55 ms, 60 without.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, memref

from .bounds import DYNAMIC
from .emitter import Emitter
from .factors import loops_of, read_of, reduced_sizes
from .fragment import Axis, Strip, lane_of, sizes_of
from .memory import memory_dims
from .panel import LINE, PanelPlan, block_end, block_start
from .prefetch import LOCALITY, should_prefetch
from .types import bytes_of


def prefetch_panel(em: Emitter, op: ir.OpView, strip: Strip) -> None:
    """Ask for a part of what the turned panel of the contraction ``op`` is filled from next, if that pays."""
    lane = lane_of(strip)
    rows = [dim for dim, size in enumerate(sizes_of(op.acc)) if size != 1 and dim != lane]
    if lane is None or len(rows) != 1:
        return
    loops = loops_of(op)
    for factor in (0, 1):
        read = read_of(op.operands[factor]) if loops[2][lane] in loops[factor] else None
        plan = None if read is None else em.packed.get(read.operation)
        if read is None or plan is None or not plan.side or DYNAMIC in read.base.type.shape:
            continue
        if should_prefetch(read):
            step = max(reduced_sizes(op).values())
            _prefetch(em, read, plan, strip[lane], strip[rows[0]], sizes_of(op.acc)[rows[0]], step)


def _prefetch(
    em: Emitter, read: ir.OpView, plan: PanelPlan, lanes: Axis, row: Axis, rows: int, step: int
) -> None:
    """``row`` of ``rows`` are multiplied, at ``step`` positions of the panel of ``lanes``."""
    width, dim = lanes.count * lanes.lanes, memory_dims(read)[plan.lane]
    assert dim is not None
    size = read.base.type.shape
    turns = max(LINE // bytes_of(read.base.type.element_type) // step, 1)
    share = -(-width * row.count // rows)  # of the panel's rows for this row tile
    first = em.sum(em.scalar(read.indices[dim]), em.position(lanes))
    column = em.scalar(read.indices[-1])
    start, end = (block_start(em), block_end(em)) if plan.window else (em.index(0), em.index(size[-1]))
    depth = em.index(plan.size(read, len(size) - 1))
    with em.here():
        at = arith.SubIOp(column, start).result
        turn = arith.RemUIOp(arith.DivUIOp(at, em.index(step)).result, em.index(turns)).result
        is_last = arith.CmpIOp(arith.CmpIPredicate.eq, end, em.index(size[-1])).result
        first = arith.AddIOp(first, arith.SelectOp(is_last, em.index(width), em.index(0)).result).result
        column = arith.SelectOp(is_last, at, arith.AddIOp(column, depth).result).result
        column = arith.MinSIOp(column, em.index(size[-1] - 1)).result
        begin = arith.DivUIOp(arith.MulIOp(em.position(row), em.index(width)).result, em.index(rows)).result
        first = arith.AddIOp(first, begin).result
        first = arith.AddIOp(first, arith.MulIOp(turn, em.index(-(-share // turns))).result).result
    for each in range(-(-share // turns)):
        line = [em.scalar(index) for index in read.indices]
        with em.here():
            line[dim] = arith.MinSIOp(em.plus(first, each), em.index(size[dim] - 1)).result
            line[-1] = column
            memref.PrefetchOp(read.base, line, False, LOCALITY, True)
