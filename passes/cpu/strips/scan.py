"""vector.scan: the loop over a row's strips carries the totals so far.

Where the lanes lie along the row, each native register is scanned by itself, in as many steps as its lanes
have bits: in each step the upper half of a block of lanes takes the last total of the lower half (of four
lanes a, b, c, d first a, a+b, c, c+d, then a, a+b, a+b+c, a+b+c+d). What comes before a register in its
strip is joined of the registers' own totals, and what comes before the strip is carried: one op a strip
waits for the one before. Where the lanes lie across columns, the totals of a task's columns so far are in
its scratch, and each row is joined to them.

The order of a row's ops depends on the width of the registers alone: no thread, and no other row, changes
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from mlir import ir
from mlir.dialects import arith, math, vector

from ...base import PassError
from ...combining import LOGADDEXP, kind_of, rows_of_scan, scanned_dim
from .bounds import Extent
from .cover import Cover, cover
from .dims import Dim
from .emitter import Emitter
from .fragment import UNIT, Axis, Fragment, Strip, element_of, is_vector, keys_of, lane_of, sizes_of
from .layout import Layout
from .registry import rule
from .scratch import Buffer
from .types import combine, widest
from .vectors import spread

_Of = TypeVar("_Of")
_TERMS = 16  # of atanh(r) up to r = 1/3: the next one is 2e-17 of it
# Kinds that leave what is joined to itself as it is.
_OF_ITSELF = ("maximumf", "minimumf", "maxsi", "minsi", "maxui", "minui", "and", "or")


def scans_behind(layout: Layout, values: Iterable[ir.Value]) -> list[ir.OpView]:
    """The scans, of more than one element, that tiles are made from."""
    found = {op.operation: op for value in values for op in layout.made_from(value)}
    return [
        op
        for op in found.values()
        if op.operation.name == "vector.scan" and sizes_of(op.source)[scanned_dim(op)] != 1
    ]


def dim_along(layout: Layout, tile: ir.Value, scans: Sequence[ir.OpView]) -> int:
    """The dim of a tile that all ``scans`` run along."""
    known = {layout.classes.of(scan.source, scanned_dim(scan)) for scan in scans}
    dims = layout.classes.all_of(tile)
    if len(known) != 1 or not known <= set(dims):
        raise PassError(
            scans[0], "strip-mine: what is made of scans has no dim along the rows of all of them"
        )
    return dims.index(known.pop())


def cover_scanned(
    em: Emitter,
    extent: Extent,
    how: Cover,
    scans: Sequence[ir.OpView],
    body: Callable[[Axis], object],
) -> None:
    """Emit ``body`` for each strip along the rows of ``scans``; the emitter has their totals up to it."""
    along_lanes = scans if how.lanes else []

    def step(axis: Axis, carried: list[ir.Value]) -> list[ir.Value]:
        em.totals.update(zip((scan.operation for scan in along_lanes), carried, strict=True))
        body(_here(em, axis))
        return [total for scan in along_lanes if isinstance(total := em.totals[scan.operation], ir.Value)]

    cover(em, extent, how, True, [_splat_start(em, scan, how.lanes) for scan in along_lanes], step)


def keep_columns(em: Emitter, scans: Sequence[ir.OpView], inner: set[Dim | None]) -> None:
    """Have scratch for the totals of columns, which lie along the dims of ``inner``."""
    for scan in scans:
        dims = em.layout.classes.all_of(scan.source)
        around = [at for at, dim in enumerate(dims) if dim not in inner]
        em.totals[scan.operation] = Columns(scan.results[0], around)


def start_columns(em: Emitter, scans: Sequence[ir.OpView], axis_of: Callable[[Dim | None], Axis]) -> None:
    """Store what the totals of columns are before the first row."""
    for scan in scans:
        strip = tuple(UNIT if dim is None else axis_of(dim) for dim in em.layout.classes.all_of(scan.source))
        start = em.emit(scan.initial_value, _of_row(scan, strip))
        totals = em.totals[scan.operation]
        assert isinstance(totals, Columns)
        totals.store(em, strip, Fragment({key: start[_of_row(scan, key)] for key in keys_of(strip)}))


class Columns(Buffer):
    """The totals of columns; there is no other way to have them."""

    most = None


def _uses(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    op = value.owner.opview
    return [(op.source, strip), (op.initial_value, _of_row(op, strip))]


@rule("vector.scan", uses=_uses)
def emit_scan(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """The totals up to each place of a strip; the next strip goes on from them."""
    op = value.owner.opview
    if value != op.results[0]:
        raise PassError(op, "strip-mine: the totals of whole rows are read")
    source = em.emit(op.source, strip)
    join = _Join(kind_of(op), element_of(value))
    if sizes_of(value)[scanned_dim(op)] == 1:
        start = em.emit(op.initial_value, _of_row(op, strip))
        with em.here():
            return Fragment({key: join(start[_of_row(op, key)], source[key]) for key in keys_of(strip)})
    totals = em.totals.get(op.operation)
    lane = lane_of(strip)
    if isinstance(totals, Columns):
        before = totals.load(em, strip)
        with em.here():
            found = Fragment({key: join(before[key], source[key]) for key in keys_of(strip)})
        totals.store(em, strip, found)
        return found
    if totals is None or lane is None or lane != scanned_dim(op):
        raise PassError(op, "strip-mine: a scan is read outside of the loop along its rows")
    (key,) = keys_of(strip)
    with em.here():
        row, em.totals[op.operation] = _scan_row(join, totals, spread(source[key], strip[lane].lanes))
    return Fragment({key: row})


class _Join:
    """Joins what comes before with what follows."""

    def __init__(self, kind: str, element: ir.Type) -> None:
        self.kind, self.element = kind, element

    def __call__(self, before: ir.Value, own: ir.Value) -> ir.Value:
        vectors = [each.type.shape[0] for each in (before, own) if is_vector(each)]
        if vectors:
            before, own = spread(before, vectors[0]), spread(own, vectors[0])
        if self.kind == LOGADDEXP:
            return self._log_add_exp(before, own)
        return combine(self.kind, before, own, self.element)

    def _log_add_exp(self, before: ir.Value, own: ir.Value) -> ir.Value:
        """max + log1p(exp(min - max)); infinities stay."""
        high, low = arith.maximumf(before, own), arith.minimumf(before, own)
        same = arith.cmpf(arith.CmpFPredicate.OEQ, high, low)
        apart = arith.select(same, self._number(0, high), arith.subf(low, high))
        return arith.addf(high, self._log1p(math.exp(apart)))

    def _log1p(self, x: ir.Value) -> ir.Value:
        """log(1 + x) = 2 atanh(x / (2 + x)) for x in [0, 1], to the last bits of f64: what is 0 stays."""
        ratio = arith.divf(x, arith.addf(x, self._number(2, x)))
        power = arith.mulf(ratio, ratio)
        sums = [self._number(2 / (2 * term + 1), x) for term in range(_TERMS)]
        while len(sums) > 1:  # neighbours first: few ops wait for one another
            sums = [math.fma(high, power, low) for low, high in zip(sums[::2], sums[1::2], strict=True)]
            power = arith.mulf(power, power)
        return arith.mulf(ratio, sums[0])

    def _number(self, number: float, like: ir.Value) -> ir.Value:
        constant = arith.ConstantOp(self.element, ir.FloatAttr.get(self.element, number)).result
        return spread(constant, like.type.shape[0]) if is_vector(like) else constant


def _scan_row(join: _Join, before: ir.Value, source: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The totals of a strip, and those after it; each lane of ``before``, a register, is the total before."""
    (lanes,), (width,) = source.type.shape, before.type.shape
    made = [_shuffled(source, source, range(first, first + width)) for first in range(0, lanes, width)]
    half = 1
    while half < width:
        is_upper = [lane % (2 * half) >= half for lane in range(width)]
        below = [lane - lane % (2 * half) + half - 1 for lane in range(width)]
        if join.kind in _OF_ITSELF:
            below = [below[lane] if upper else lane for lane, upper in enumerate(is_upper)]
        joined = _side_by_side(join, [_shuffled(each, each, below) for each in made], made)
        if join.kind not in _OF_ITSELF:
            kept = [lane + width * upper for lane, upper in enumerate(is_upper)]
            joined = [_shuffled(*pair, kept) for pair in zip(made, joined, strict=True)]
        made, half = joined, 2 * half
    totals = [_shuffled(each, each, [width - 1] * width) for each in made]
    half = 1
    while half < len(totals):
        upper = [at for at in range(len(totals)) if at % (2 * half) >= half]
        lower = [totals[at - at % (2 * half) + half - 1] for at in upper]
        joined = _side_by_side(join, lower, [totals[at] for at in upper])
        for at, total in zip(upper, joined, strict=True):
            totals[at] = total
        half *= 2
    starts = [before, *_side_by_side(join, [before] * len(totals), totals)]
    return _concat(_side_by_side(join, starts[:-1], made)), starts[-1]


def _side_by_side(join: _Join, before: Sequence[ir.Value], own: Sequence[ir.Value]) -> list[ir.Value]:
    """Registers joined in pairs, by ops on all of them: the processor has several at hand while it waits."""
    joined = join(_concat(before), _concat(own))
    width = own[0].type.shape[0]
    return [_shuffled(joined, joined, range(at * width, (at + 1) * width)) for at in range(len(own))]


def _concat(registers: Sequence[ir.Value]) -> ir.Value:
    while len(registers) > 1:
        registers = [
            _shuffled(low, high, range(2 * low.type.shape[0]))
            for low, high in zip(registers[::2], registers[1::2], strict=True)
        ]
    return registers[0]


def _shuffled(left: ir.Value, right: ir.Value, lanes: Iterable[int]) -> ir.Value:
    return vector.ShuffleOp(left, right, list(lanes)).result


def _splat_start(em: Emitter, scan: ir.OpView, lanes: int) -> ir.Value:
    """The total before a row's first element, in each lane of a register, or of a strip that has fewer."""
    width = min(em.vector_bits // widest([element_of(scan.source)]), lanes)
    (start,) = em.emit(scan.initial_value, tuple(UNIT for _ in rows_of_scan(scan))).values.values()
    with em.here():
        return spread(start, width)


def _of_row(scan: ir.OpView, along: tuple[_Of, ...]) -> tuple[_Of, ...]:
    """What there is for each dim of a scan, without that for the dim it runs along."""
    return tuple(along[dim] for dim in rows_of_scan(scan))


def _here(em: Emitter, axis: Axis) -> Axis:
    """An axis that belongs to the innermost loop, where the totals are that it goes on from."""
    if axis.base is not None:
        return axis
    kind = ir.IndexType.get()
    with em.here():
        zero = arith.ConstantOp(kind, ir.IntegerAttr.get(kind, 0)).result
    return replace(axis, base=em.place(zero))
