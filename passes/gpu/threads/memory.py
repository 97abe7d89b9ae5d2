"""Addresses and guards of a tile's accesses to memory, shared by reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.layouts import Layout, Position
from ...divisors import divisor
from ..layouts.access import Access
from ..layouts.tiles import sizes_of
from .builder import Number, Truth
from .emitter import Buffer, Emitter


@dataclass(frozen=True)
class Place:
    """One tile's accesses in one layout: ``width`` elements at a time along the tile's dim ``inner``.

    Of short rows ``rows`` at once, along the dim ``outer``. ``together``: of how many neighbours, from a
    multiple of their number on, all are inside or none is, so that accesses of them have one condition.
    """

    em: Emitter
    access: Access
    layout: Layout
    buffer: Buffer
    width: int
    inner: int | None
    rows: int
    outer: int | None
    together: int

    @property
    def count(self) -> int:
        """The elements of an access."""
        return self.width * self.rows

    @property
    def alignment(self) -> int:
        """What divides the address of each access."""
        return self.count * self.access.element_bytes

    def alignment_at(self, position: Position) -> int:
        """What divides the address of the access at a register's position.

        A single element of a loop that is written out may be the first of two neighbours, at an even place:
        LLVM loads both at once then. No more than that: of three in four it would load the fourth, too. Of
        windows that lie side by side all four are loaded.
        """
        if self.width > 1 or not (self.em.in_pieces and self.em.aligned):
            return self.alignment
        for count in (self.access.beside(self.layout), 2):
            if count > 1 and self._is_multiple(position, count):
                self.em.wide = True
                return count * self.alignment
        return self.alignment

    def _is_multiple(self, position: Position, count: int) -> bool:
        """Whether all threads' elements of a register lie a multiple of ``count`` after the buffer."""
        strides = self.strides()
        known = 0
        for index, stride in zip(self.access.indices, strides, strict=True):
            number = self.em.number(index)
            if not isinstance(stride, int):
                return False
            if isinstance(number, int):
                known += number * stride
            elif divisor(index) * stride % count:
                return False
        for dim, memory in enumerate(self.access.dims):
            stride = strides[memory]
            assert isinstance(stride, int), "sizes are known"
            known += position[dim] * stride
            if any(step[dim] * stride % count for step in self.layout.bits):
                return False
        return known % count == 0

    def leads(self, position: Position) -> bool:
        """Whether an access begins at this register."""
        starts_row = self.inner is None or position[self.inner] % self.width == 0
        return starts_row and (self.outer is None or position[self.outer] % self.rows == 0)

    def members(self, position: Position) -> list[Position]:
        """The registers of the access that begins at ``position``."""
        if self.inner is None:
            return [position]
        return [
            tuple(
                at + (step if dim == self.inner else row if dim == self.outer else 0)
                for dim, at in enumerate(position)
            )
            for row in range(self.rows)
            for step in range(self.width)
        ]

    def pointer(self, position: Position, own: Truth = True) -> ir.Value:
        """The address of the element at a register's position; the first thread's where ``own`` is false."""
        build, access = self.em.build, self.access
        strides = self.strides()
        start = tuple(self.em.number(index) for index in access.indices)
        thread = tuple(self._thread(dim, own) for dim in range(len(position)))
        first = self.em.once(
            (self.buffer.pointer, access.dims, start, thread), lambda: self._first(start, thread)
        )
        further: Number = 0
        for at, memory in zip(position, access.dims, strict=True):
            further = build.add(further, build.mul(strides[memory], at))
        return build.offset(first, self.buffer.element, further)

    def _thread(self, dim: int, own: Truth) -> Number:
        """What the thread adds to positions along a dim; 0 where ``own`` is false."""
        em, thread = self.em, self.em.thread(self.layout, dim)
        if not (isinstance(own, ir.Value) and isinstance(thread, ir.Value)):
            return thread
        zero = em.build.number(0)
        return em.once(
            ("own", own, thread), lambda: em.build.op("arith.select", [own, thread, zero], zero.type)
        )

    def _first(self, start: Sequence[Number], thread: Sequence[Number]) -> ir.Value:
        """The address of the thread's first element; its own part apart, since starts change in loops."""
        build, strides = self.em.build, self.strides()
        begins: Number = 0
        for index, stride in zip(start, strides, strict=True):
            begins = build.add(begins, build.mul(index, stride))
        own: Number = 0
        for number, memory in zip(thread, self.access.dims, strict=True):
            own = build.add(own, build.mul(number, strides[memory]))
        near = build.offset(self.buffer.pointer, self.buffer.element, own)
        return build.offset(near, self.buffer.element, begins)

    def strides(self) -> tuple[Number, ...]:
        """The strides of the buffer's dims, in elements."""

        def make() -> tuple[Number, ...]:
            strides: list[Number] = []
            stride: Number = 1
            for size in reversed(self.buffer.sizes):
                strides.append(stride)
                stride = self.em.build.mul(stride, size)
            return tuple(reversed(strides))

        return self.em.once(("strides", self.buffer.pointer), make)

    # -- guards --

    def by_condition(self, positions: Sequence[Position], writes: bool) -> dict[Truth, list[Position]]:
        """The accesses that begin at ``positions``, by what must hold for all of their elements."""
        found: dict[Truth, list[Position]] = {}
        for position in filter(self.leads, positions):
            first = self.first_together(position)
            found.setdefault(self.inside(first, self.together, writes), []).append(position)
        return found

    def first_together(self, position: Position) -> Position:
        """The first register of those that have one condition with that at ``position``."""
        return tuple(at - at % self.together if dim == self.inner else at for dim, at in enumerate(position))

    def inside(self, position: Position, width: int, writes: bool) -> Truth:
        """Whether the ``width`` elements from a register's position on may be accessed.

        A write stays within the tile and within memory; a read need only stay within memory.
        """
        sizes = sizes_of(self.access.tile)
        holds: Truth = True
        for dim, at in enumerate(position):
            span = width if dim == self.inner else self.rows if dim == self.outer and width > 1 else 1
            over = at + span + self.layout.thread_reach(dim) > sizes[dim]
            ragged = not self.access.in_bounds[dim]
            if at + span > sizes[dim] and (writes or not ragged):
                return False
            if over and (writes or not ragged):
                holds = self._both(holds, self.em.below(self.layout, dim, at + span - 1, sizes[dim]))
            if ragged:
                memory = self.access.dims[dim]
                start = self.em.number(self.access.indices[memory])
                holds = self._both(
                    holds, self.em.below(self.layout, dim, at + span - 1, self.buffer.sizes[memory], start)
                )
        return holds

    def _both(self, one: Truth, other: Truth) -> Truth:
        """Whether both hold: one value for the same two, by which accesses find that they share a branch."""
        return self.em.once(("both", one, other), lambda: self.em.build.both(one, other))

    def may_straddle(self) -> bool:
        """Whether an access may begin inside and end outside."""
        if self.inner is None or self.width == 1:
            return False
        if sizes_of(self.access.tile)[self.inner] % self.width:
            return True
        return not self.access.rests_on_size and not _ends_whole(
            self.access, self.buffer, self.inner, self.width
        )


def place_of(em: Emitter, access: Access, layout: Layout) -> Place:
    """How a tile's elements are accessed in a layout: as wide as registers and memory allow."""
    inner = access.contiguous()
    buffer = em.buffers[access.buffer]
    width, rows = 1, 1
    if inner is not None and (em.aligned or buffer.is_shared):
        width, rows = min(layout.run(inner), access.width()), access.rows_in(layout)
        if width > 1 and not buffer.is_shared:
            em.wide = True
            if access.rests_on_size:
                em.multiples.add(buffer)
    outer = access.order()[1] if rows > 1 else None
    together = width
    if inner is not None and width == 1:
        neighbours = min(layout.run(inner), access.width())
        together = neighbours if _ends_whole(access, buffer, inner, neighbours) else 1
    return Place(em, access, layout, buffer, width, inner, rows, outer, together)


def _ends_whole(access: Access, buffer: Buffer, inner: int, count: int) -> bool:
    """Whether the tile, and memory where it ends within the tile, have a multiple of ``count`` neighbours."""
    if sizes_of(access.tile)[inner] % count:
        return False
    size = buffer.sizes[access.dims[inner]]
    return access.in_bounds[inner] or (isinstance(size, int) and size % count == 0)
