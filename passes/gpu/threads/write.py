"""vector.transfer_write: each element is stored by one of the threads that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from mlir import ir

from ....dialects.layouts import Position
from ...operations import defining_op
from ..layouts.access import access_of
from ..layouts.boxes import TILE
from ..layouts.overlaps import must_wait
from .builder import Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .memory import Place, place_of
from .registry import rule
from .streamed import store_result
from .tma_store import store_boxes


@rule("vector.transfer_write")
def emit_write(em: Emitter, op: ir.Operation) -> None:
    """Stores, up to 16 bytes at once, of what lies within the tile and within memory.

    A barrier comes before a tile that covers another one: other threads may have written or read that.
    """
    access = access_of(op)
    if em.aligned and defining_op(access.tile, TILE) is not None:
        store_boxes(em, op)
        return
    if not (em.alone or em.buffers[access.buffer].is_shared) and must_wait(op):
        em.shared.barrier()
    fragment = em.fragment(access.tile)
    layout = fragment.layout
    assert layout is not None
    place = place_of(em, access, layout)
    acts = em.only(layout.copies)
    groups = place.by_condition(positions_of(layout, access.tile), writes=True)
    for whole, positions in groups.items():
        _store(place, fragment, em.build.both(acts, whole), positions)
    parts = {whole: positions for whole, positions in groups.items() if whole is not True}
    if parts and place.may_straddle():
        _store_rest(place, fragment, acts, parts)


def _store(place: Place, fragment: Fragment, whole: Truth, positions: Sequence[Position]) -> None:
    """Store the elements of some accesses, if ``whole`` holds."""
    em = place.em
    pointers = [place.pointer(position) for position in positions]

    def together() -> list[ir.Value]:
        for position, pointer in zip(positions, pointers, strict=True):
            values = [fragment[member] for member in place.members(position)]
            store_result(em.build, place.buffer, values, pointer, place.alignment)
        return []

    em.choose(whole, [], together)


def _store_rest(
    place: Place, fragment: Fragment, acts: Truth, parts: Mapping[Truth, Sequence[Position]]
) -> None:
    """Of accesses that may begin inside and end outside what is inside, behind one branch for all."""
    em = place.em
    build, size = em.build, place.access.element_bytes

    def one(position: Position) -> None:
        pointer = place.pointer(position)

        def store() -> list[ir.Value]:
            store_result(build, place.buffer, [fragment[position]], pointer, size)
            return []

        em.choose(build.both(acts, place.inside(position, 1, writes=True)), [], store)

    def one_by_one(positions: Sequence[Position]) -> list[ir.Value]:
        for position in positions:
            for member in place.members(position):
                if member in fragment.values:
                    one(member)
        return []

    def each() -> list[ir.Value]:
        for whole, positions in parts.items():
            em.choose(whole, [], list, partial(one_by_one, positions))
        return []

    em.choose(reduce(build.both, parts), [], list, each)
