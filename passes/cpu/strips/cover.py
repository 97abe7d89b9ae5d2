"""Loops that cover the positions of a dim by strips.

Full strips go in one scf.for. What is left over is
- covered by a last strip that overlaps the one before, where doing a position twice is
  harmless (stores of values that depend on their own position alone) and there are enough
  positions: no second copy of the loop's body;
- else one masked strip of lanes, or single positions of an unrolled dim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mlir import ir
from mlir.dialects import arith

from .bounds import Extent
from .emitter import Emitter
from .fragment import Axis

Body = Callable[[Axis, list[ir.Value]], list[ir.Value]]
Join = Callable[[Sequence[ir.Value], Sequence[ir.Value]], list[ir.Value]]


@dataclass(frozen=True)
class Cover:
    """How a dim is covered: ``count`` unrolled positions a strip, or vectors of ``lanes``.

    So many strips at its start and at its end as ``apart`` says are emitted apart, where they are.
    """

    dim: int
    count: int = 1
    lanes: int = 0
    apart: tuple[int, int] = (0, 0)

    @property
    def width(self) -> int:
        """Positions in a full strip."""
        return self.count * max(self.lanes, 1)


@dataclass(frozen=True)
class Inside:
    """A place in a nest for a write: its covers, their extents, the axes chosen in those that are around."""

    root: ir.OpView
    covers: Sequence[Cover]
    extents: Mapping[int, Extent]
    axes: Mapping[int, Axis]


def known_extent(size: int) -> Extent:
    """The extent of a dim that lies inside memory entirely."""
    return Extent(size, None, size, size, size)


def cover(
    em: Emitter, extent: Extent, how: Cover, once: bool, carried: Sequence[ir.Value], body: Body
) -> list[ir.Value]:
    """Emit ``body`` for each strip of a dim; it takes and returns the loop-carried values.

    ``once``: each position must be visited exactly once, in ascending order.
    """
    width, lanes, values = how.width, how.lanes, list(carried)
    full = Axis(None, 0, how.count, lanes, None, extent.bound)
    if extent.static is not None and extent.static <= width:
        return body(_part(full, extent.static), values)
    if extent.static is None and extent.most <= width and lanes:
        return body(Axis(None, 0, how.count, lanes, extent.value, extent.bound), values)
    if extent.static is not None and how.apart != (0, 0):
        return _cover_apart(em, extent.static, how, full, values, body)
    whole = extent.multiple % width == 0
    total = em.index(extent.static) if extent.static is not None else extent.value
    assert total is not None
    if whole or (not once and extent.least >= width):
        last = None if whole else _last_start(em, extent, total, width)
        return _loop(em, em.index(0), total, width, last, full, values, body)
    if extent.static is not None:
        main = extent.static // width * width
        if main == width:
            values = body(full, values)
        else:
            values = _loop(em, em.index(0), em.index(main), width, None, full, values, body)
        return body(
            _part(Axis(None, main, how.count, lanes, None, extent.bound), extent.static - main), values
        )
    step = em.index(width)
    with em.here():
        main_end = arith.SubIOp(total, arith.RemUIOp(total, step).result).result
    values = _loop(em, em.index(0), main_end, width, None, full, values, body)
    if not lanes:
        single = Axis(None, 0, 1, 0, None, extent.bound)
        return _loop(em, main_end, total, 1, None, single, values, body)
    return _masked_rest(em, main_end, total, full, values, body)


def cover_blocks(
    em: Emitter,
    size: int,
    how: Cover,
    block: int,
    carried: Sequence[ir.Value],
    start: Callable[[Sequence[ir.Value]], list[ir.Value]],
    body: Body,
    join: Join,
) -> list[ir.Value]:
    """Strips in blocks of ``block``, each with carried values of its own, then joined to those before.

    A block's are first what ``start`` makes of those before.
    """
    width = how.width
    step, full = block * width, Axis(None, 0, how.count, how.lanes)
    whole, main = size // step * step, size // width * width
    with em.loop(em.index(0), em.index(whole), em.index(step), carried) as loop:
        first = loop.induction_variable
        before = list(loop.inner_iter_args)
        apart = _loop(em, first, em.plus(first, step), width, None, full, start(before), body)
        em.close(join(before, apart))
    values = list(loop.results)
    if main > whole:
        rest = _loop(em, em.index(whole), em.index(main), width, None, full, start(values), body)
        values = join(values, rest)
    if size > main:
        values = body(_part(replace(full, offset=main), size - main), values)
    return values


def _cover_apart(
    em: Emitter, size: int, how: Cover, full: Axis, values: list[ir.Value], body: Body
) -> list[ir.Value]:
    """Strips at known positions before and after a loop over the others; the last two share what is left.

    Few positions have few sums, which would wait for one another.
    """
    width, (before, after) = how.width, how.apart
    count, rest = divmod(size, width)
    end = max(count - max(after, 1 if rest else 0), before)
    for strip in range(min(before, count)):
        values = body(replace(full, offset=strip * width), values)
    if end > before:
        start, stop = em.index(before * width), em.index(end * width)
        values = _loop(em, start, stop, width, None, full, values, body)
    starts = [strip * width for strip in range(end, count)]
    if rest:
        starts.append(size - (width + rest) // 2 if starts else count * width)
    for first, following in pairwise([*starts, size]):
        values = body(_part(replace(full, offset=first), following - first), values)
    return values


def _part(full: Axis, size: int) -> Axis:
    """A strip of ``size`` positions, not more than the full one."""
    if not full.lanes:
        return Axis(full.base, full.offset, size, 0, None, full.bound)
    count = -(-size // full.lanes)
    limit = None if size % full.lanes == 0 else size
    return Axis(full.base, full.offset, count, full.lanes, limit, full.bound)


def _last_start(em: Emitter, extent: Extent, total: ir.Value, width: int) -> ir.Value:
    if extent.static is not None:
        return em.index(extent.static - width)
    step = em.index(width)
    with em.here():
        return arith.SubIOp(total, step).result


def _loop(
    em: Emitter,
    start: ir.Value,
    end: ir.Value,
    width: int,
    last: ir.Value | None,
    full: Axis,
    values: list[ir.Value],
    body: Body,
) -> list[ir.Value]:
    with em.loop(start, end, em.index(width), values) as loop:
        base = loop.induction_variable
        if last is not None:
            with em.here():
                base = em.place(arith.MinSIOp(base, last).result)
        axis = Axis(base, 0, full.count, full.lanes, None, full.bound)
        handed = body(axis, list(loop.inner_iter_args))
        if values:
            em.close(handed)
    return list(loop.results)


def _masked_rest(
    em: Emitter, start: ir.Value, end: ir.Value, full: Axis, values: list[ir.Value], body: Body
) -> list[ir.Value]:
    """A loop of at most one turn: nothing is done if nothing is left over."""
    with em.loop(start, end, em.index(full.count * full.lanes), values) as loop:
        base = loop.induction_variable
        with em.here():
            limit = em.place(arith.SubIOp(end, base).result)
        handed = body(Axis(base, 0, full.count, full.lanes, limit, full.bound), list(loop.inner_iter_args))
        if values:
            em.close(handed)
    return list(loop.results)
