"""mlopt.convert_layout: a tile changes hands, through shared memory unless each thread has what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from mlir import ir

from ..layouts.access import bytes_of
from ..layouts.tiles import sizes_of
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .passage import Passage, find_passage
from .registry import rule
from .shared import Region
from .stored import stored_type


@dataclass(frozen=True)
class Turn:
    """A tile on its way through shared memory."""

    op: ir.Operation
    passage: Passage
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
        wanted = positions_of(turn.passage.target, turn.op.results[0])
        values = dict(turn.passage.load(em, turn.base, wanted, turn.element))  # before others have its bytes
        em.set_fragment(turn.op.results[0], Fragment(turn.passage.target, values))
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
    sizes, size = tuple(sizes_of(result)), bytes_of(stored_type(element))
    passage = find_passage(fragment.layout, target, sizes, size, em.shared.room)
    if 0 < em.shared.used < passage.bytes:
        passage = passage.without_padding()  # which would take more than the kernel has, for nothing
    region = em.shared.alloc(passage.bytes)
    base = em.shared.pointer(region)
    em.shared.writes(region)
    passage.store(em, fragment, base)
    return Turn(op, passage, region, base, element)
