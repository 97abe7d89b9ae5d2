"""vector.transfer_read: each thread loads its elements, up to 16 bytes at once."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import Layout, Position
from ..layouts.access import HALVES, access_of, is_copied, is_halved
from .builder import Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .memory import Place, place_of
from .registry import rule


@rule("vector.transfer_read")
def emit_read(em: Emitter, op: ir.Operation) -> None:
    """Loads, with the padding value where there is no memory; those of one condition together."""
    if is_halved(op) or is_copied(op):
        return  # vector.deinterleave loads what it keeps, and mlopt.async_copy everything
    result = op.results[0]
    layout = em.layout(result)
    wanted = positions_of(layout, result)
    acts = em.only(layout.copies) if _only_passes(em, op) else True
    em.set_fragment(result, Fragment(layout, load_positions(em, op, layout, wanted, acts)))


def _only_passes(em: Emitter, op: ir.Operation) -> bool:
    """Whether what is read only goes through shared memory, where the first of its copies stores it."""
    layout = em.layout(op.results[0])
    return all(
        use.owner.name == "mlopt.convert_layout" and not layout.same_place(em.layout(use.owner.results[0]))
        for use in op.results[0].uses
    )


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
        values = load_positions(em, read, layout.spread_out(row, 2), list(places.values()))
        em.set_fragment(result, Fragment(layout, {each: values[place] for each, place in places.items()}))


def load_positions(
    em: Emitter, op: ir.Operation, layout: Layout, wanted: Sequence[Position], acts: Truth = True
) -> dict[Position, ir.Value]:
    """The elements at the positions ``wanted`` of what ``op`` reads; padding where ``acts`` does not hold."""
    place = place_of(em, access_of(op), layout)
    if place.count == 1:
        acts = True  # LLVM packs single elements in all threads, from registers that would have no value
    groups: dict[Truth, list[Position]] = {}
    for position in wanted:
        if place.leads(position):
            groups.setdefault(place.inside(position, place.width, writes=False), []).append(position)
    values: dict[Position, ir.Value] = {}
    for whole, positions in groups.items():
        members = [member for position in positions for member in place.members(position)]
        values.update(zip(members, _load(place, acts, whole, positions), strict=True))
    return {position: values[position] for position in wanted}


def _load(place: Place, acts: Truth, whole: Truth, positions: Sequence[Position]) -> list[ir.Value]:
    """The elements of some accesses of threads that ``acts``, all possible if ``whole`` holds."""
    em, kind = place.em, place.buffer.element
    build, size = em.build, place.access.element_bytes
    padding = build.constant(kind, place.access.padding)
    constant = place.buffer.constant
    # Addresses are computed outside of the branch, where others find them.
    pointers = [place.pointer(position) for position in positions]

    def together() -> list[ir.Value]:
        loads = [
            build.load(pointer, kind, place.count, place.alignment_at(position), constant)
            for position, pointer in zip(positions, pointers, strict=True)
        ]
        return [value for load in loads for value in load]

    def one_by_one() -> list[ir.Value]:
        return [one(member) for position in positions for member in place.members(position)]

    def one(position: Position) -> ir.Value:
        pointer = place.pointer(position)
        inside = place.inside(position, 1, writes=False)
        return em.choose(
            inside, [kind], lambda: build.load(pointer, kind, 1, size, constant), lambda: [padding]
        )[0]

    kinds, nothing = [kind] * (len(positions) * place.count), [padding] * (len(positions) * place.count)
    if not place.may_straddle():
        return em.choose(build.both(acts, whole), kinds, together, lambda: nothing)
    return em.choose(acts, kinds, lambda: em.choose(whole, kinds, together, one_by_one), lambda: nothing)
