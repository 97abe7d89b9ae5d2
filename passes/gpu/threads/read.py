"""vector.transfer_read: each thread loads its elements, up to 16 bytes at once."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import Position
from ..layouts.access import access_of
from .builder import Truth
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .memory import Place, place_of
from .registry import rule


@rule("vector.transfer_read")
def emit_read(em: Emitter, op: ir.Operation) -> None:
    """Loads, with the padding value where there is no memory; those of one condition together."""
    result = op.results[0]
    layout = em.layout(result)
    place = place_of(em, access_of(op), layout)
    wanted = positions_of(layout, result)
    groups: dict[Truth, list[Position]] = {}
    for position in wanted:
        if place.leads(position):
            groups.setdefault(place.inside(position, place.width, writes=False), []).append(position)
    values: dict[Position, ir.Value] = {}
    for whole, positions in groups.items():
        members = [member for position in positions for member in place.members(position)]
        values.update(zip(members, _load(place, whole, positions), strict=True))
    em.set_fragment(result, Fragment(layout, {position: values[position] for position in wanted}))


def _load(place: Place, whole: Truth, positions: Sequence[Position]) -> list[ir.Value]:
    """The elements of some accesses, all of which are possible if ``whole`` holds."""
    em, kind = place.em, place.buffer.element
    build, size = em.build, place.access.element_bytes
    padding = build.constant(kind, place.access.padding)
    constant = place.buffer.constant
    # Addresses are computed outside of the branch, where others find them.
    pointers = [place.pointer(position) for position in positions]

    def together() -> list[ir.Value]:
        loads = [
            build.load(pointer, kind, place.width, place.alignment_at(position), constant)
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

    count = len(positions) * place.width
    other = one_by_one if place.may_straddle() else lambda: [padding] * count
    return em.choose(whole, [kind] * count, together, other)
