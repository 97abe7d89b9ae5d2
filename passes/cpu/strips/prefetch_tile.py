"""A product asks for its next rows, and for the lines of its result, while it multiplies.

    for rows %m … step 6 {
      prefetch %out[%m to %m + 5, lanes], write
      for %k … step 8 {
        prefetch %x[min(%m + 6 + 3 * (%k / 8 mod 2) + (0, 1, 2), 1023), %k]
        multiply
      }
      store
    }

Rows far apart are in pages of their own, so that hardware, which looks ahead within a page, starts anew at
each tile; and a store waits for a line that no cache has at hand. The rows take turns along a line: each line
is asked for once. Always legal: nothing is read, and what is asked for lies in the buffer. Results so large
that they are stored past the caches are left out.

With 16 registers rows of whole pages are left out, too (`should_prefetch_rows`).

Effect on one Zen 4 core: 512^3 0.97 of the time, 1000^3 0.97, 1024^3 0.95 to 0.99, 2048^3 0.96, 4096x768x768
(a linear layer) 0.98; on two 1.00, 0.99, 0.97, 0.97, 0.96. Most of it comes from the rows.
"""

from __future__ import annotations

from math import prod

from mlir import ir
from mlir.dialects import arith, memref

from ...scheduling.cpu import WIDE_BITS
from ...spread_planes import PAGE
from ..stream_stores import LARGE
from .blocked import Sums, contraction_loops
from .bounds import DYNAMIC
from .emitter import Emitter
from .factors import loops_of, read_of, reduced_sizes
from .fragment import UNIT, Strip, keys_of, lane_of
from .memory import memory_dims, memory_indices
from .panel import LINE, is_far_apart
from .prefetch import LEAST_BYTES, LOCALITY, should_prefetch
from .types import bytes_of

_TO_L1 = 3  # locality of a prefetch


def prefetch_rows(em: Emitter, op: ir.OpView, strip: Strip) -> None:
    """Ask for a part of what the next rows of the contraction ``op`` are made from, if that pays."""
    loops, lane = loops_of(op), lane_of(strip)
    if lane is None or em.border.outside:
        return
    axes = dict(zip(loops[2], strip, strict=True))
    step = max(reduced_sizes(op).values())
    for factor in (0, 1):
        read = read_of(op.operands[factor])
        if read is None or loops[2][lane] in loops[factor] or not should_prefetch_rows(em, read):
            continue
        known = dict(zip(em.layout.classes.all_of(op.operands[factor]), loops[factor], strict=True))
        mine = [known.get(each) for each in em.layout.classes.all_of(read.results[0])]
        _prefetch_rows(em, read, tuple(UNIT if each is None else axes.get(each, UNIT) for each in mine), step)


def should_prefetch_rows(em: Emitter, read: ir.OpView) -> bool:
    """Whether rows far apart are read where they are, and L2 does not hold all of them.

    Rows of whole pages fall on the same lines of L1, where four more drive out those that are multiplied: of
    as few registers as 16 each element is soon read again. 1024x2048x1024 on a Zen 3 core 93 GFLOP/s without
    (90), 1024x6144x1024 90 (87), 2048^3 94 (90); of other rows 1000^3 94 and 1024x768x1024 92 (93).
    """
    kind = read.base.type
    if DYNAMIC in kind.shape or read.operation in em.packed:
        return False
    if em.vector_bits < WIDE_BITS and kind.shape[-1] * bytes_of(kind.element_type) % PAGE == 0:
        return False
    return is_far_apart(read) and should_prefetch(read)


def _prefetch_rows(em: Emitter, read: ir.OpView, strip: Strip, step: int) -> None:
    """At a step along the rows of ``strip``: this place of some of those after them, if a loop has them."""
    dims = memory_dims(read)
    looped = [(dim, axis) for dim, axis in zip(dims, strip, strict=True) if axis.base is not None]
    row, axis = looped[0] if len(looped) == 1 else (None, UNIT)
    if row is None or row == read.base.type.rank - 1:
        return
    turns = max(LINE // bytes_of(read.base.type.element_type) // step, 1)
    share = -(-axis.count // turns)
    place = memory_indices(em, read, dims, strip, (0,) * len(strip))
    first, last = em.plus(place[row], axis.count), em.index(read.base.type.shape[row] - 1)
    with em.here():
        turn = arith.RemUIOp(arith.DivUIOp(place[-1], em.index(step)).result, em.index(turns)).result
        first = arith.AddIOp(first, arith.MulIOp(turn, em.index(share)).result).result
    for each in range(share):
        with em.here():
            place[row] = arith.MinSIOp(em.plus(first, each), last).result
            memref.PrefetchOp(read.base, place, False, LOCALITY, True)


def prefetch_result(em: Emitter, root: ir.OpView, strip: Strip) -> None:
    """Ask for the lines that ``root`` stores sums of products to at ``strip``, if that pays."""
    lane, dims = lane_of(strip), memory_dims(root)
    if lane is None or dims[lane] != root.base.type.rank - 1 or not should_prefetch_result(em, root):
        return
    axis, last = strip[lane], em.index(root.base.type.shape[-1] - 1)
    for key in keys_of(strip):
        start = memory_indices(em, root, dims, strip, key)
        for line in range(0, axis.lanes, LINE // bytes_of(root.base.type.element_type)):
            column = em.plus(start[-1], line)
            with em.here():
                column = column if axis.limit is None else arith.MinSIOp(column, last).result
                memref.PrefetchOp(root.base, [*start[:-1], column], True, _TO_L1, True)


def should_prefetch_result(em: Emitter, root: ir.OpView) -> bool:
    """Whether sums go from registers to rows far apart of a result that the caches hold, but not L2."""
    shape = root.base.type.shape
    if DYNAMIC in shape or not is_far_apart(root) or not contraction_loops(em.layout, root):
        return False
    in_buffer = any(isinstance(each, Sums) for each in em.scratches.values())
    return not in_buffer and LEAST_BYTES <= prod(shape) * bytes_of(root.base.type.element_type) < LARGE
