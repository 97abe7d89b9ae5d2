"""mlopt.convert_layout: a tile changes hands, through shared memory unless each thread has what it needs.

How the tile lies in shared memory is chosen by counting passes over its banks (`arrangement`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from mlir import ir

from ....dialects.layouts import Layout, Position
from ..layouts.access import bytes_of
from ..layouts.tiles import sizes_of
from .arrangement import Arrangement, best_arrangement
from .builder import Number, Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .registry import rule
from .shared import Region
from .stored import load_stored, store_stored, stored_type


@dataclass(frozen=True)
class Turn:
    """A tile on its way through shared memory."""

    op: ir.Operation
    fragment: Fragment
    target: Layout
    how: Arrangement
    region: Region
    base: ir.Value
    element: ir.Type


@rule("mlopt.convert_layout")
def emit_convert(em: Emitter, op: ir.Operation) -> None:
    """Other registers' names, or a way through shared memory.

    Conversions in a row share a barrier, as far as there is room for them.
    """
    if em.is_emitted(op.results[0]):
        return
    turns: list[Turn] = []
    for each in _in_a_row(em, op):
        if turns and _bytes(em, each) > em.shared.room:
            break
        turn = _start(em, each)
        turns += [turn] if turn is not None else []
    for turn in turns:
        em.shared.reads(turn.region)
        wanted = positions_of(turn.target, turn.op.results[0])
        values = _load(em, turn.how, turn.target, wanted, turn.base, turn.element)
        em.set_fragment(turn.op.results[0], Fragment(turn.target, values))
    for turn in turns:
        em.shared.free(turn.region)


def _in_a_row(em: Emitter, op: ir.Operation) -> list[ir.Operation]:
    """The conversions from ``op`` on, of tiles that are there."""
    found: list[ir.Operation] = []
    for other in op.block.operations:
        if other.operation == op or found:
            if other.operation.name != op.name or not em.is_emitted(other.operands[0]):
                break
            found.append(other.operation)
    return found


def _bytes(em: Emitter, op: ir.Operation) -> int:
    """What a tile takes in shared memory, at least."""
    tile = op.results[0]
    return prod(sizes_of(tile)) * bytes_of(stored_type(em.element(tile.type)))


def _start(em: Emitter, op: ir.Operation) -> Turn | None:
    """Store a tile in shared memory; None if each thread has what it needs already."""
    source, result = op.operands[0], op.results[0]
    fragment, target = em.fragment(source), em.layout(result)
    if fragment.uniform or (fragment.layout is not None and fragment.layout.same_place(target)):
        values = {position: fragment[position] for position in positions_of(target, result)}
        em.set_fragment(result, Fragment(target, values))
        return None
    assert fragment.layout is not None
    element = em.element(source.type)
    stored = stored_type(element)
    sizes, size = tuple(sizes_of(result)), bytes_of(stored)
    how = best_arrangement(fragment.layout, target, sizes, size, em.shared.room)
    region = em.shared.alloc(how.elements * how.element_bytes)
    base = em.shared.pointer(region)
    em.shared.writes(region)
    _store(em, how, fragment, base, stored)
    return Turn(op, fragment, target, how, region, base, element)


def _first(em: Emitter, how: Arrangement, layout: Layout, base: ir.Value, stored: ir.Type) -> ir.Value:
    """The address of the thread's position."""
    place: Number = 0
    for dim, stride in enumerate(how.strides):
        place = em.build.add(place, em.build.mul(em.thread(layout, dim), stride))
    if how.gap:
        groups = em.build.div(em.thread(layout, how.rows), how.group)
        place = em.build.add(place, em.build.mul(groups, how.gap))
    return em.build.offset(base, stored, place)


def _members(position: Position, inner: int, width: int) -> list[Position]:
    return [(*position[:inner], position[inner] + step, *position[inner + 1 :]) for step in range(width)]


def _groups(
    em: Emitter, how: Arrangement, layout: Layout, positions: Iterable[Position]
) -> dict[Truth, list[Position]]:
    """Where accesses begin, by whether they are within the tile."""
    width = how.width(layout)
    groups: dict[Truth, list[Position]] = {}
    for position in positions:
        if position[how.inner] % width == 0:
            inside: Truth = True
            for dim, size in enumerate(how.sizes):
                if position[dim] + layout.thread_reach(dim) >= size:
                    inside = em.build.both(inside, em.below(layout, dim, position[dim], size))
            groups.setdefault(inside, []).append(position)
    return groups


def _store(em: Emitter, how: Arrangement, fragment: Fragment, base: ir.Value, stored: ir.Type) -> None:
    layout = fragment.layout
    assert layout is not None
    first = _first(em, how, layout, base, stored)
    width = how.width(layout)
    acts = em.only(layout.copies)

    def store(positions: list[Position]) -> list[ir.Value]:
        for position in positions:
            values = [fragment[member] for member in _members(position, how.inner, width)]
            pointer = em.build.offset(first, stored, how.place(position))
            store_stored(em.build, values, pointer, width * how.element_bytes)
        return []

    for inside, positions in _groups(em, how, layout, fragment.values).items():
        em.choose(em.build.both(acts, inside), [], partial(store, positions))


def _load(
    em: Emitter,
    how: Arrangement,
    layout: Layout,
    wanted: Sequence[Position],
    base: ir.Value,
    element: ir.Type,
) -> dict[Position, ir.Value]:
    stored = stored_type(element)
    first = _first(em, how, layout, base, stored)
    width = how.width(layout)
    values: dict[Position, ir.Value] = {}

    def load(positions: list[Position]) -> list[ir.Value]:
        loaded: list[ir.Value] = []
        for position in positions:
            pointer = em.build.offset(first, stored, how.place(position))
            loaded += load_stored(em.build, pointer, element, width, width * how.element_bytes)
        return loaded

    for inside, positions in _groups(em, how, layout, wanted).items():
        members = [member for position in positions for member in _members(position, how.inner, width)]
        nothing = [em.build.constant(element, 0)] * len(members)
        loaded = em.choose(inside, [element] * len(members), partial(load, positions), partial(list, nothing))
        values.update(zip(members, loaded, strict=True))
    return {position: values[position] for position in wanted}
