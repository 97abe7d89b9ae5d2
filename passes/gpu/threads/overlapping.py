"""Loads of windows that overlap along memory: a thread's part of a row at once, and the rest from beside.

What a window takes beyond the thread's own part the lane beside has, but for the first or last lane of a row:
there it is the padding, or an element that is loaded by itself. Rows that several windows of a thread share
are loaded once. In the twin for pointers that are not aligned the elements of a part come one by one.

Measured: a maximum of 3x3 at every other place of 4x16x64x64 f32 has 144 instructions for eight results a
thread, where it had 104 for four, and asks for 1.10 times what memory moves, where it asked for 2.96.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout, Position
from ..layouts.access import WIDE
from ..layouts.linear import Linear, linear_of
from ..layouts.tiles import sizes_of
from ..layouts.windows import along_row, overlap_of
from .builder import Number, Truth
from .combine import from_beside
from .memory import Place
from .windows import nearest


@dataclass(frozen=True)
class Rows:
    """The rows of a tile whose windows overlap, as a thread loads them.

    ``dim``: the tile's dim along a row; ``size``: its elements; ``step``: from one to the next in memory;
    ``run``: those of a thread's part; ``lanes``: how many of the lowest bits of a lane's number lead from
    part to part; ``known``: the variables of loops that are being written out.
    """

    place: Place
    dim: int
    size: int
    step: int
    run: int
    lanes: int
    known: dict[ir.Value, int]

    @property
    def own(self) -> int:
        """The elements in memory of a thread's part."""
        return self.run * self.step

    @property
    def wide(self) -> int:
        """The elements of an access."""
        return WIDE // self.place.access.element_bytes

    @property
    def strides(self) -> list[int]:
        """The strides of the buffer's dims, whose sizes are known."""
        return [stride for stride in self.place.strides() if isinstance(stride, int)]

    def part(self, position: Position) -> Position:
        """The register at which the thread's part of a row begins that has a position."""
        at = position[self.dim]
        return (*position[: self.dim], at - at % self.run, *position[self.dim + 1 :])

    def start(self) -> Linear:
        """How far the tile begins from its row's first element."""
        return along_row(self.place.access, self.place.access.dims[self.dim], self.known)


def overlapping_rows(place: Place) -> Rows | None:
    """The rows of a tile whose windows overlap, if a thread has whole accesses of them; else None.

    All lanes take part in what they exchange: no thread has a task of its own. Nobody may write to the buffer
    meanwhile.
    """
    em, access, layout = place.em, place.access, place.layout
    if em.alone or not em.in_pieces or not place.buffer.constant or place.buffer.is_shared:
        return None
    overlap = overlap_of(access)
    if overlap is None:
        return None
    dim = overlap.dim
    run, size = layout.run(dim), sizes_of(access.tile)[dim]
    lanes = _lanes_along(layout, dim, run)
    if run * overlap.step * access.element_bytes % WIDE or size % run or lanes is None:
        return None
    return Rows(place, dim, size, overlap.step, run, lanes, _known(place))


def load_overlapping(rows: Rows, positions: Sequence[Position]) -> dict[Position, ir.Value]:
    """The elements at some positions; padding where there is no memory."""
    distance, values = rows.start().constant, dict[Position, ir.Value]()
    for position in positions:
        side, at = divmod(position[rows.dim] % rows.run * rows.step + distance, rows.own)
        part = rows.part(position)
        values[position] = _own(rows, part, at) if side == 0 else _beside(rows, part, side, at)
    return values


def _own(rows: Rows, part: Position, at: int) -> ir.Value:
    """An element of the thread's part of a row."""
    place, em = rows.place, rows.place.em
    first = at - at % rows.wide
    further, pointer = _begin(rows, part, first)

    def load() -> list[ir.Value]:
        build, kind, inside = em.build, place.buffer.element, _row_inside(rows, part)
        address = _within_memory(rows, build.offset(pointer, kind, further), part)
        if inside is not True:
            address = nearest(place, address, part, but=rows.dim)
        loaded = _load_access(rows, address)
        if inside is True:
            return loaded
        kept, padding = build.truth(inside), build.constant(kind, place.access.padding)
        return [build.op("arith.select", [kept, value, padding], kind) for value in loaded]

    return em.once(("part", pointer, further), load)[at % rows.wide]


def _load_access(rows: Rows, address: ir.Value) -> list[ir.Value]:
    """The elements of an access, one by one where it is not aligned."""
    em, kind, size = rows.place.em, rows.place.buffer.element, rows.place.access.element_bytes
    if em.aligned:
        em.wide = True
        return em.build.load(address, kind, rows.wide, WIDE, constant=True)
    pointers = [em.build.offset(address, kind, at) for at in range(rows.wide)]
    return [value for each in pointers for value in em.build.load(each, kind, 1, size, constant=True)]


def _beside(rows: Rows, part: Position, side: int, at: int) -> ir.Value:
    """An element of the part of the lane before (``side`` is -1) or behind; without one, what is there."""
    place, em, kind = rows.place, rows.place.em, rows.place.buffer.element
    further, pointer = _begin(rows, part, side * rows.own + at)

    def make() -> ir.Value:
        build, ragged = em.build, not place.access.in_bounds[rows.dim]
        value, is_end = from_beside(build, _own(rows, part, at), side), _is_end(rows, part, side)
        inside: Truth = True
        if ragged:
            padding = build.constant(kind, place.access.padding)
            value = build.op("arith.select", [build.truth(is_end), padding, value], kind)
            memory = place.access.dims[rows.dim]
            column = build.add(_column(rows, part, side), side * rows.own + at)
            inside = build.less(column, build.mul(place.buffer.sizes[memory], rows.step))
        address = build.offset(pointer, kind, further)
        there = build.both(build.both(inside, is_end), _row_inside(rows, part, beyond=True))
        size = place.access.element_bytes
        return em.choose(
            there, [kind], lambda: build.load(address, kind, 1, size, constant=True), lambda: [value]
        )[0]

    return em.once(("beside", pointer, further), make)


def _begin(rows: Rows, part: Position, further: int) -> tuple[int, ir.Value]:
    """A place in a row: a number, and the address that it is added to, one for all rows of the thread."""
    place, em = rows.place, rows.place.em
    memory, start = place.access.dims[rows.dim], Linear()
    for at, (index, stride) in enumerate(zip(place.access.indices, rows.strides, strict=True)):
        found = linear_of(index, rows.known)
        start = start.plus(Linear(0 if at >= memory else found.constant, found.terms), stride)
    further += sum(at * rows.strides[dim] for at, dim in zip(part, place.access.dims, strict=True))
    key = ("parts", place.buffer.pointer, place.access.dims, place.layout, frozenset(start.terms.items()))
    return start.constant + further, em.once(key, lambda: _base(rows, start))


def _base(rows: Rows, start: Linear) -> ir.Value:
    """The address of a thread's first part; the thread's own share apart, since starts change in loops."""
    place, build = rows.place, rows.place.em.build
    own: Number = 0
    for dim, memory in enumerate(place.access.dims):
        own = build.add(own, build.mul(place.em.thread(place.layout, dim), rows.strides[memory]))
    begins: Number = 0
    for value, factor in start.terms.items():
        begins = build.add(begins, build.mul(place.em.number(value), factor))
    near = build.offset(place.buffer.pointer, place.buffer.element, own)
    return build.offset(near, place.buffer.element, begins)


def _within_memory(rows: Rows, address: ir.Value, part: Position) -> ir.Value:
    """An address; of a thread that is beyond the tile one that is in memory.

    Not the tile's nearest row: the row below the tile's last one may be another window's. Along dims that
    reach beyond memory the nearest place is found in any case.
    """
    place, build = rows.place, rows.place.em.build
    access = place.access
    moved: Number = 0
    for dim, (at, size) in enumerate(zip(part, sizes_of(access.tile), strict=True)):
        memory = access.dims[dim]
        inside = access.in_bounds[dim] or dim == rows.dim
        if not inside or at + place.layout.thread_reach(dim) < size:
            continue
        here = build.add(place.em.thread(place.layout, dim), at)
        last: Number = size - rows.run
        if dim != rows.dim:
            here = build.add(here, place.em.number(access.indices[memory]))
            last = build.sub(place.buffer.sizes[memory], 1)
        missing = build.sub(build.least(here, last), here)
        moved = build.add(moved, build.mul(missing, rows.strides[memory]))
    return build.offset(address, place.buffer.element, moved)


def _row_inside(rows: Rows, part: Position, beyond: bool = False) -> Truth:
    """Whether a row is in memory; that of a thread beyond the tile is asked for if ``beyond``."""
    place, em = rows.place, rows.place.em
    found: Truth = True
    for dim, (at, memory) in enumerate(zip(part, place.access.dims, strict=True)):
        size = sizes_of(place.access.tile)[dim]
        ragged = not place.access.in_bounds[dim]
        if dim != rows.dim and (ragged or (beyond and at + place.layout.thread_reach(dim) >= size)):
            start = em.number(place.access.indices[memory])
            inside = em.below(place.layout, dim, at, place.buffer.sizes[memory], start)
            found = em.build.both(found, inside)
    return found


def _is_end(rows: Rows, part: Position, side: int) -> Truth:
    """Whether no lane beside has the next part of the row."""
    em, layout, build = rows.place.em, rows.place.layout, rows.place.em.build

    def lane_is(number: int) -> Truth:
        own = em.thread(_only_bits(layout, range(rows.lanes)), rows.dim)
        return True if isinstance(own, int) else build.equal(own, build.number(number * rows.run))

    def make() -> Truth:
        if side < 0:
            return lane_is(0)
        if _is_on_lanes(rows):
            return lane_is(_last_lane(rows))
        own = build.add(em.thread(layout, rows.dim), part[rows.dim])
        last = build.equal(build.number(own), build.number(rows.size - rows.run))
        end = lane_is((1 << rows.lanes) - 1)
        return end if end is True else build.op("arith.ori", [last, build.truth(end)])

    return em.once(("end", layout, rows.dim, part[rows.dim], side), make)


def _column(rows: Rows, part: Position, side: int) -> Number:
    """How far from its row's first element the part of the lane at an end begins."""
    em, build, start = rows.place.em, rows.place.em.build, rows.start()
    found: Number = part[rows.dim] * rows.step
    if _is_on_lanes(rows):
        found += (0 if side < 0 else _last_lane(rows)) * rows.own
    else:
        found = build.add(build.mul(em.thread(rows.place.layout, rows.dim), rows.step), found)
    for value, factor in start.terms.items():
        found = build.add(found, build.mul(em.number(value), factor))
    return found


def _is_on_lanes(rows: Rows) -> bool:
    """Whether the lanes have a row of the tile among them."""
    return rows.place.layout.covered[rows.dim] == rows.run << rows.lanes


def _last_lane(rows: Rows) -> int:
    """The last lane that has a part of a row."""
    return min(1 << rows.lanes, rows.size // rows.run) - 1


def _lanes_along(layout: Layout, dim: int, run: int) -> int | None:
    """How many of a lane's lowest bits lead from part to part of a row; None if others do, too."""
    count = 0
    while count < LANE_BITS and layout.bits[count] == tuple(
        run << count if at == dim else 0 for at in range(layout.rank)
    ):
        count += 1
    return None if any(step[dim] for step in layout.bits[count:LANE_BITS]) else count


def _only_bits(layout: Layout, kept: range) -> Layout:
    """The layout without what the other bits of a thread's number add."""
    none = (0,) * layout.rank
    bits = tuple(step if bit in kept else none for bit, step in enumerate(layout.bits))
    return Layout(layout.rank, layout.registers, bits)


def _known(place: Place) -> dict[ir.Value, int]:
    """The variables of the loops around an access that are being written out."""
    found, loop = dict[ir.Value, int](), place.access.op.parent.operation
    while loop.name == "scf.for":
        variable = loop.regions[0].blocks[0].arguments[0]
        number = place.em.number(variable)
        if isinstance(number, int):
            found[variable] = number
        loop = loop.parent.operation
    return found
