"""vector.compressstore: the elements of a tile that count, side by side in shared memory.

What is emitted for a tile that lanes run along, of which a thread has two neighbours and then two more::

    vote.ballot.b32 of each register          of the lanes before this one, and of the warp, how many count
    st.shared [totals], …                     a warp's totals, for each group of neighbours
    barrier
    ld.shared …, [totals]                     those of the groups and warps before it
    st.shared [list + place], element         if it counts
    barrier

Elements keep their order: those of a thread's neighbours, of the lanes, of the warps, then of the next group.
A layout that does not run so is refused. Barriers before and behind it are its own: nobody reads the list of
an earlier step any more, all may read this one.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout, Position
from ...base import PassError
from ...constants import integer_of
from ..layouts.access import bytes_of
from ..layouts.tiles import sizes_of
from .builder import Builder
from .emitter import Emitter
from .fragment import positions_of
from .registry import rule

_ALL = -1  # lanes
_WORD_BYTES, _WIDE = 4, 16


@rule("vector.compressstore")
def emit_compress(em: Emitter, op: ir.Operation) -> None:
    """Each thread finds the places of its elements, and stores those that count."""
    memory, *indices, mask, tile = op.operands
    buffer = em.buffers[memory]
    if len(indices) != 1 or integer_of(indices[0]) != 0 or not buffer.is_shared:
        raise PassError(
            op, "distribute: a vector.compressstore is to the beginning of a list in shared memory"
        )
    fragment, truths = em.fragment(tile), em.operand(mask)
    layout = fragment.layout
    assert layout is not None, "a tile without a layout is one scalar"
    if not can_compress(layout):
        raise PassError(
            op, "distribute: a vector.compressstore of a tile that lanes and warps do not run along"
        )
    build, word = em.build, ir.IntegerType.get_signless(32)
    groups = _groups(layout, positions_of(layout, tile))
    counts = {
        position: _counts(em, layout, position, truths[position], sizes_of(tile)[0])
        for group in groups
        for position in group
    }
    before = build.op("nvvm.read.ptx.sreg.lanemask.lt", [], word)
    ballots = {position: _ballot(build, count) for position, count in counts.items()}
    totals = [_sum(build, [_bits(build, ballots[each]) for each in group]) for group in groups]
    starts = _before(em, totals)
    if em.warps == 1:
        em.shared.barrier()  # an earlier step's readers; else that of the totals is behind them
    size = bytes_of(buffer.element)
    for group, start in zip(groups, starts, strict=True):
        lower = [_bits(build, build.op("arith.andi", [ballots[each], before])) for each in group]
        place = _sum(build, [start, *lower])
        for position in group:
            pointer = build.offset(buffer.pointer, buffer.element, place)

            def store(pointer: ir.Value = pointer, position: Position = position) -> list[ir.Value]:
                build.store([fragment[position]], pointer, size)
                return []

            em.choose(counts[position], [], store)
            place = build.op("arith.addi", [place, build.op("arith.extui", [counts[position]], word)])
    em.shared.barrier()


def can_compress(layout: Layout) -> bool:
    """Whether positions grow with the lane, then the warp; other thread bits make copies."""
    steps = [step[0] for step in layout.bits if step[0]]
    lanes = [step[0] for step in layout.bits[:LANE_BITS]]
    used = sum(1 for step in lanes if step)
    return layout.rank == 1 and steps == sorted(steps) and all(lanes[:used]) and not any(lanes[used:])


def _groups(layout: Layout, positions: Sequence[Position]) -> list[list[Position]]:
    """A thread's neighbours, no other thread's between them: first those that come first."""
    least = min((step[0] for step in layout.bits if step[0]), default=1 << 31)
    groups: dict[int, list[Position]] = {}
    for position in sorted(positions):
        groups.setdefault(position[0] // least, []).append(position)
    return list(groups.values())


def _counts(em: Emitter, layout: Layout, position: Position, truth: ir.Value, size: int) -> ir.Value:
    """Whether an element counts, is inside of the tile, and no other thread's."""
    build = em.build
    inside = em.only(layout.copies)
    if position[0] + layout.thread_reach(0) >= size:
        inside = build.both(inside, em.below(layout, 0, position[0], size))
    return build.truth(build.both(truth, inside))


def _ballot(build: Builder, truth: ir.Value) -> ir.Value:
    """The lanes of the warp for which this holds, a bit for each."""
    word = ir.IntegerType.get_signless(32)
    kind = {"kind": ir.Attribute.parse("#nvvm<vote_sync_kind ballot>")}
    return build.op("nvvm.vote.sync", [build.constant(word, _ALL), truth], word, kind)


def _bits(build: Builder, value: ir.Value) -> ir.Value:
    return build.op("llvm.intr.ctpop", [value])


def _sum(build: Builder, values: Sequence[ir.Value]) -> ir.Value:
    total = values[0]
    for value in values[1:]:
        total = build.op("arith.addi", [total, value])
    return total


def _before(em: Emitter, totals: Sequence[ir.Value]) -> list[ir.Value]:
    """For each group how many elements come before this warp's part of it: of all warps, by their totals."""
    build, word, warps = em.build, ir.IntegerType.get_signless(32), em.warps
    zero = build.constant(word, 0)
    if warps == 1:
        return [_sum(build, [zero, *totals[:number]]) for number in range(len(totals))]
    region = em.shared.alloc(len(totals) * warps * _WORD_BYTES)
    base = em.shared.pointer(region)
    shift = build.constant(word, LANE_BITS)
    warp = em.at_entry("warp", lambda: build.op("arith.shrui", [em.thread_number, shift]))
    em.shared.writes(region)
    for number, total in enumerate(totals):  # all lanes have it, and store it to one place
        build.store([total], build.offset(build.offset(base, word, number * warps), word, warp), _WORD_BYTES)
    em.shared.reads(region)
    width = min(warps, _WIDE // _WORD_BYTES)
    found: list[ir.Value] = []
    for first in range(0, len(totals) * warps, width):
        pointer = build.offset(base, word, first)
        found += build.load(pointer, word, width, width * _WORD_BYTES, constant=False)
    em.shared.free(region)
    starts, start = [], zero
    for number in range(len(totals)):
        own = found[number * warps : (number + 1) * warps]
        lower = zero
        for other, total in enumerate(own):
            is_before = build.compare(6, build.constant(word, other), warp)  # unsigned less than
            counted = build.op("arith.select", [is_before, total, zero], word)
            lower = build.op("arith.addi", [lower, counted])
        starts.append(build.op("arith.addi", [start, lower]))
        start = _sum(build, [start, *own])
    return starts
