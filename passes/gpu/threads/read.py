"""vector.transfer_read: each thread loads its elements, up to 16 bytes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from mlir import ir

from ....dialects.layouts import Layout, Position
from ..layouts.access import HALVES, access_of, is_copied, is_halved
from ..layouts.overlaps import must_wait
from ..layouts.tiles import ELEMENTWISE
from .builder import Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .late import can_load_late, late_loads, should_load_late
from .memory import Place, place_of
from .overlapping import load_overlapping, overlapping_rows
from .registry import rule
from .windows import (
    can_load_first,
    can_load_nearest,
    load_first,
    load_nearest,
    should_load_first,
    should_load_nearest,
)


@rule("vector.transfer_read")
def emit_read(em: Emitter, op: ir.Operation) -> None:
    """Loads, with the padding value where there is no memory; those of one condition together.

    A barrier comes before a tile of what the task has written: other threads may have done that.
    """
    if is_halved(op) or is_copied(op):
        return  # vector.deinterleave loads what it keeps, and mlopt.async_copy everything
    buffer = em.buffers[op.operands[0]]
    if not (em.alone or em.arrived or buffer.constant or buffer.is_shared) and must_wait(op):
        em.shared.barrier()
    result = op.results[0]
    layout = em.layout(result)
    wanted = positions_of(layout, result)
    place = place_of(em, access_of(op), layout)
    if can_load_late(em, place) and should_load_late(place):
        em.set_fragment(result, Fragment(layout, late_loads(place, wanted, partial(_load, place, True))))
        return
    acts = em.only(layout.copies) if _only_passes(em, result, layout) else True
    em.set_fragment(result, Fragment(layout, load_positions(place, wanted, acts)))


def _only_passes(em: Emitter, value: ir.Value, layout: Layout) -> bool:
    """Whether what is read, and what is computed of its elements, only goes through shared memory.

    There the first of its copies stores it.
    """
    pending, seen = [value], {value}
    while pending:
        for reader in (use.owner.operation for use in pending.pop().uses):
            if reader.name.startswith(ELEMENTWISE):
                pending += [result for result in reader.results if result not in seen]
                seen.update(reader.results)
            elif reader.name != "mlopt.convert_layout" or layout.same_place(em.layout(reader.results[0])):
                return False
    return True


@rule(HALVES)
def emit_halves(em: Emitter, op: ir.Operation) -> None:
    """Every other element of a read, from where it lies: those between are not loaded."""
    for number, result in enumerate(op.results):
        if not list(result.uses):
            continue
        layout = em.layout(result)
        row = layout.rank - 1
        wanted = positions_of(layout, result)
        places = {each: (*each[:row], 2 * each[row] + number) for each in wanted}
        read = op.operands[0].owner.operation
        place = place_of(em, access_of(read), layout.spread_out(row, 2))
        values = load_positions(place, list(places.values()))
        em.set_fragment(result, Fragment(layout, {each: values[at] for each, at in places.items()}))


def load_positions(place: Place, wanted: Sequence[Position], acts: Truth = True) -> dict[Position, ir.Value]:
    """The elements at the positions ``wanted`` of what is read; padding where ``acts`` does not hold."""
    if place.count == 1:
        acts = True  # LLVM packs single elements in all threads, from registers that would have no value
    rows = overlapping_rows(place) if acts is True else None
    if rows is not None:
        return load_overlapping(rows, wanted)
    groups = place.by_condition(wanted, writes=False)
    values: dict[Position, ir.Value] = {}
    for whole, positions in groups.items():
        members = [member for position in positions for member in place.members(position)]
        values.update(zip(members, _load(place, acts, whole, positions), strict=True))
    parts = {whole: positions for whole, positions in groups.items() if whole is not True}
    if parts and place.may_straddle():
        values |= _fill_in(place, acts, parts, values)
    return {position: values[position] for position in wanted}


def _load(place: Place, acts: Truth, whole: Truth, positions: Sequence[Position]) -> list[ir.Value]:
    """The elements of some accesses, of threads that ``acts`` and where ``whole`` holds; else padding."""
    em, kind = place.em, place.buffer.element
    branches = acts is True and isinstance(whole, ir.Value)
    if branches and can_load_nearest(place, positions) and should_load_nearest(place):
        return load_nearest(place, whole, positions)
    if branches and can_load_first(place) and should_load_first(place):
        return load_first(place, positions)
    # Addresses are computed outside of the branch, where others find them.
    pointers = [place.pointer(position) for position in positions]

    def together() -> list[ir.Value]:
        loads = [
            em.build.load(pointer, kind, place.count, place.alignment_at(position), place.buffer.constant)
            for position, pointer in zip(positions, pointers, strict=True)
        ]
        return [value for load in loads for value in load]

    count = len(positions) * place.count
    nothing = [em.build.constant(kind, place.access.padding)] * count
    return em.choose(em.build.both(acts, whole), [kind] * count, together, lambda: nothing)


def _fill_in(
    place: Place,
    acts: Truth,
    parts: Mapping[Truth, Sequence[Position]],
    values: Mapping[Position, ir.Value],
) -> dict[Position, ir.Value]:
    """``values`` where some accesses, by what holds for all of one, may begin inside and end outside.

    What is there of these is loaded one by one. Behind one branch, and all whole ones before it: else an
    access would wait for the branch of another one.
    """
    em, kind, size = place.em, place.buffer.element, place.access.element_bytes
    build = em.build

    def load(position: Position) -> ir.Value:
        pointer = place.pointer(position)
        (loaded,) = build.load(pointer, kind, 1, size, place.buffer.constant)
        return loaded

    def one(position: Position) -> ir.Value:
        inside = build.both(acts, place.inside(position, 1, writes=False))
        return em.choose(inside, [kind], lambda: [load(position)], lambda: [values[position]])[0]

    def each(whole: Truth, members: Sequence[Position]) -> list[ir.Value]:
        kept = [values[member] for member in members]
        return em.choose(whole, [kind] * len(kept), lambda: kept, lambda: list(map(one, members)))

    own = {
        whole: [member for position in positions for member in place.members(position)]
        for whole, positions in parts.items()
    }
    every = reduce(build.both, own)
    found = [member for members in own.values() for member in members]
    kept = [values[member] for member in found]
    filled = em.choose(
        every,
        [kind] * len(kept),
        lambda: kept,
        lambda: [value for whole, members in own.items() for value in each(whole, members)],
    )
    return dict(zip(found, filled, strict=True))
