"""How a tile changes hands through shared memory: its arrangement there, its stores and its loads.

The arrangement is chosen by counting passes over the banks (`arrangements`). What tensor cores multiply is
loaded by matrices where it can be (`matrices`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd, prod

from mlir import ir

from ....dialects.layouts import Layout, Position
from ..layouts.access import WIDE
from .arrangement import Arrangement
from .arrangements import best_arrangement, cost
from .builder import Builder, Number, Truth
from .emitter import Emitter
from .fragment import Fragment
from .matrices import Matrices, matrices_of
from .matrix_loads import MatrixLoads
from .stored import load_stored, store_stored, stored_type


class ElementLoads(Mapping[Position, ir.Value]):
    """A fragment whose elements are loaded one by one, each where it is first wanted, as by `MatrixLoads`."""

    def __init__(
        self,
        build: Builder,
        wanted: Sequence[Position],
        pointer: Callable[[Position], ir.Value],
        element: ir.Type,
        size: int,
    ) -> None:
        self._build, self._wanted = build, frozenset(wanted)
        self._pointer, self._element, self._size = pointer, element, size
        self._loaded: dict[Position, ir.Value] = {}

    def __getitem__(self, position: Position) -> ir.Value:
        if position not in self._wanted:
            raise KeyError(position)
        if position not in self._loaded:
            address = self._pointer(position)
            (self._loaded[position],) = load_stored(self._build, address, self._element, 1, self._size)
        return self._loaded[position]

    def __iter__(self) -> Iterator[Position]:
        return iter(self._wanted)

    def __len__(self) -> int:
        return len(self._wanted)


@dataclass(frozen=True)
class Passage:
    """A tile that is stored in one layout and loaded in another, by matrices or not."""

    source: Layout
    target: Layout
    how: Arrangement
    matrices: Matrices | None

    @property
    def bytes(self) -> int:
        """What the tile takes, up to the next multiple of 16."""
        return -(-self.how.elements * self.how.element_bytes // WIDE) * WIDE

    def without_padding(self) -> Passage:
        """The same in rows that are swizzled, if they take no more passes over the banks than padded ones."""
        how = self.how
        room = prod(how.sizes) * how.element_bytes
        other = best_arrangement(self.source, self.target, how.sizes, how.element_bytes, room, how.inner)
        passes = [cost(each, self.source, self.target)[0] for each in (other, how)]
        return self if self.matrices is not None or passes[0] > passes[1] else replace(self, how=other)

    def store(self, em: Emitter, fragment: Fragment, base: ir.Value) -> None:
        """Each thread stores what it has; of copies, the first."""
        how, layout = self.how, self.source
        width = how.width(layout)
        element = next(iter(fragment.values.values())).type
        pointer = self.pointers(em, layout, base, stored_type(element))

        def store(positions: list[Position]) -> list[ir.Value]:
            for position in positions:
                values = [fragment[member] for member in _members(position, how.inner, width)]
                store_stored(em.build, values, pointer(position), width * how.element_bytes)
            return []

        for inside, positions in self.stores(em, fragment.values):
            em.choose(inside, [], partial(store, positions))

    def stores(self, em: Emitter, positions: Iterable[Position]) -> Iterator[tuple[Truth, list[Position]]]:
        """Where a thread's stores begin, by whether it makes them."""
        acts = em.only(self.source.copies)
        for inside, found in self._groups(em, self.source, positions).items():
            yield em.build.both(acts, inside), found

    def load(
        self, em: Emitter, base: ir.Value, wanted: Sequence[Position], element: ir.Type
    ) -> Mapping[Position, ir.Value]:
        """Each thread loads what it wants; zero beyond the tile."""
        if self.matrices is not None:
            pointer = self.pointers(em, self.matrices.rows, base, element)
            return MatrixLoads(em.build, self.matrices, pointer, element)
        how, layout = self.how, self.target
        pointer = self.pointers(em, layout, base, stored_type(element))
        width = how.width(layout)
        groups = self._groups(em, layout, wanted)
        if how.chunks > 1 and width == 1 and list(groups) == [True]:
            return ElementLoads(em.build, wanted, pointer, element, how.element_bytes)
        values: dict[Position, ir.Value] = {}

        def load(positions: list[Position]) -> list[ir.Value]:
            loaded: list[ir.Value] = []
            for position in positions:
                loaded += load_stored(em.build, pointer(position), element, width, width * how.element_bytes)
            return loaded

        for inside, positions in groups.items():
            members = [member for position in positions for member in _members(position, how.inner, width)]
            nothing = [em.build.constant(element, 0)] * len(members)
            loaded = em.choose(
                inside, [element] * len(members), partial(load, positions), partial(list, nothing)
            )
            values.update(zip(members, loaded, strict=True))
        return {position: values[position] for position in wanted}

    def pointers(
        self, em: Emitter, layout: Layout, base: ir.Value, stored: ir.Type
    ) -> Callable[[Position], ir.Value]:
        """The addresses of the thread's registers, by their positions."""
        how = self.how

        def pointer(position: Position) -> ir.Value:
            zone = how.zone(position)
            first = em.once(
                ("zone", base, layout, how, zone),
                lambda: em.build.offset(base, stored, self._own(em, layout, zone)),
            )
            return em.build.offset(first, stored, how.further(position))

        return pointer

    def _own(self, em: Emitter, layout: Layout, zone: int) -> Number:
        """Where the thread's own position lies in a zone."""
        build, how = em.build, self.how
        place: Number = 0
        for dim, stride in enumerate(how.strides):
            own = em.thread(layout, dim)
            if how.piece and dim == how.inner:
                place = build.add(place, build.mul(build.div(own, how.piece), how.skip))
            if how.chunks > 1 and dim == how.inner:
                own = build.xor(build.xor(own, self._turn(em, layout)), zone)
            place = build.add(place, build.mul(own, stride))
        if how.gap:
            groups = build.div(em.thread(layout, how.rows), how.group)
            place = build.add(place, build.mul(groups, how.gap))
        return place

    def _turn(self, em: Emitter, layout: Layout) -> Number:
        """By which bits the thread's place within a row differs from its column."""
        build, how = em.build, self.how
        row, count = em.thread(layout, how.rows), len(how.bits)
        turn: Number = 0
        starts = [at for at in range(count) if at == 0 or how.bits[at] != how.bits[at - 1] + 1]
        for at, end in zip(starts, [*starts[1:], count], strict=True):
            part = build.rem(build.div(row, 1 << how.bits[at]), 1 << (end - at))
            turn = build.add(turn, build.mul(part, how.chunk << at))
        return turn

    def _groups(
        self, em: Emitter, layout: Layout, positions: Iterable[Position]
    ) -> dict[Truth, list[Position]]:
        """Where accesses begin, by whether they are within the tile."""
        width = self.how.width(layout)
        groups: dict[Truth, list[Position]] = {}
        for position in positions:
            if position[self.how.inner] % width == 0:
                inside: Truth = True
                for dim, size in enumerate(self.how.sizes):
                    if position[dim] + layout.thread_reach(dim) >= size:
                        inside = em.build.both(inside, em.below(layout, dim, position[dim], size))
                groups.setdefault(inside, []).append(position)
        return groups


def find_passage(
    source: Layout, target: Layout, sizes: tuple[int, ...], size: int, room: int, inner: int | None = None
) -> Passage:
    """The best passage of a tile whose elements have ``size`` bytes, in about ``room`` bytes.

    By matrices if they can load the tile; of ways along ``inner``, if there is one.
    """
    found = []
    for one in matrices_of(target, sizes, size):
        if sizes[one.inner] * size % WIDE == 0:
            how = best_arrangement(source, one.rows, sizes, size, room, one.inner, one.rows)
            away = inner is not None and how.inner != inner
            found.append(((away, cost(how, source, one.rows)), Passage(source, target, how, one)))
    if found and all(away for (away, _), _ in found) and inner is not None:
        direct = _direct(source, target, sizes, size, room, inner)
        found += [] if direct is None else [((False, (0, 0)), direct)]
    if found:
        return min(found, key=lambda each: each[0])[1]
    return Passage(source, target, best_arrangement(source, target, sizes, size, room), None)


def _direct(
    source: Layout, target: Layout, sizes: tuple[int, ...], size: int, room: int, inner: int
) -> Passage | None:
    """A passage that cp.async can store, without a conflict, of which each element is loaded by itself."""
    if gcd(source.run(inner), sizes[inner]) * size % WIDE:
        return None
    how = best_arrangement(source, target, sizes, size, room, inner, source)
    stores, loads = how.stores(source), how.loads(target)
    conflicts = cost(how, source, target)[0] > stores.least + loads.least
    return None if conflicts else Passage(source, target, how, None)


def _members(position: Position, inner: int, width: int) -> list[Position]:
    return [(*position[:inner], position[inner] + step, *position[inner + 1 :]) for step in range(width)]
