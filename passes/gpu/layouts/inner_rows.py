"""Windows beside each other along a row of memory: a thread has as many as begin in one of its accesses.

Of windows of 7 at every other place of f16 a thread has four. Its own part of a row, eight places, is one
access; what the windows take before it and behind it, three places and two, the lanes beside have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from mlir import ir

from ..threads.grid import Loops
from ..turns.reads import depends_on
from .access import WIDE, Access
from .linear import linear_of
from .windows import along_row

WORD = 4  # bytes, that lanes have from each other at once


def windows_each(
    forall: ir.Operation, reads: Sequence[Access], column: int, tasks: Sequence[Mapping[ir.Value, int]]
) -> int:
    """The windows beside each other that a thread should have; 1 if rows do not allow for more.

    The loop ``column`` leads from one to the next, ``tasks`` are the inner loops' places in each. All that
    is read lies in rows of whole accesses, in a window's place of which only the loop and numbers are.
    """
    variable = forall.regions[0].blocks[0].arguments[column]
    count, changing = Loops.of(forall).static_counts()[column] or 0, depends_on(forall, column)
    found = {_windows(access, variable, count, changing, tasks) for access in reads}
    return found.pop() if len(found) == 1 else 1


def row_dim(access: Access, column: ir.Value, numbers: Mapping[ir.Value, int]) -> int | None:
    """The first dim of a buffer that windows along ``column`` run along; None if there are none."""
    dims = (dim for dim, at in enumerate(access.indices) if column in linear_of(at, numbers).terms)
    return next(dims, None)


def _windows(
    access: Access,
    column: ir.Value,
    count: int,
    changing: Collection[ir.Value],
    tasks: Sequence[Mapping[ir.Value, int]],
) -> int:
    """Those of a thread by one access; ``count`` are in a row, ``changing`` is what they do not share."""
    kind, wide = ir.MemRefType(access.buffer.type), WIDE // access.element_bytes
    dim = row_dim(access, column, tasks[0])
    outside = {memory for memory, inside in zip(access.dims, access.in_bounds, strict=True) if not inside}
    if dim is None or any(memory > dim for memory in outside):
        return 1
    if kind.element_type.width < 8 or access.element_bytes > WORD:
        return 1
    outer = [linear_of(index, numbers) for numbers in tasks for index in access.indices[:dim]]
    places = [along_row(access, dim, numbers) for numbers in tasks]
    if any(value in changing for place in outer for value in place.terms):
        return 1
    step, row = places[0].terms.get(column, 0), prod(kind.shape[dim:])
    if step < 1 or wide % step or any(place.terms != {column: step} for place in places):
        return 1
    windows = wide // step
    if row % wide or count % windows or count * step > row:
        return 1
    starts = [place.constant for place in places]
    first, last = min(starts), max(starts) + step * (windows - 1)
    if first >= 0 and last < wide:
        return 1  # they do not overlap: each is a thread's
    return windows if -wide <= first and last < 2 * wide else 1
