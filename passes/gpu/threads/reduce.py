"""vector.multi_reduction: in each thread's registers, then over lanes, then over warps.

The order is fixed by the layout: registers by a tree of neighbours, lanes by butterflies, warps by a tree,
the op's own accumulator last, from the left. All threads that hold an element of the result get the same
bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout, Position
from ...combining import kept_dims, kind_of, reduced_dims
from ..layouts.access import bytes_of
from ..layouts.tiles import sizes_of
from .combine import combine, neutral, shuffle, tree
from .emitter import Emitter
from .fragment import Fragment
from .partials import Partials
from .registry import rule
from .stored import load_stored, store_stored, stored_type


@rule("vector.multi_reduction")
def emit_reduction(em: Emitter, op: ir.Operation) -> None:
    """The reduced tile, or scalar."""
    source, result = op.operands[0], op.results[0]
    fragment = em.fragment(source)
    assert fragment.layout is not None
    layout = fragment.layout
    kind, kept = kind_of(op), kept_dims(op)
    groups: dict[Position, list[ir.Value]] = {}
    for position, value in fragment.values.items():
        value = _masked(em, op, layout, position, value, kind)
        groups.setdefault(tuple(position[dim] for dim in kept), []).append(value)
    totals = {position: tree(em.build, kind, values) for position, values in groups.items()}
    gone = reduced_dims(op)
    bits = [bit for bit, step in enumerate(layout.bits) if any(step[dim] for dim in gone)]
    lanes = [bit for bit in bits if bit < LANE_BITS]
    totals = {position: _over_lanes(em, kind, value, lanes) for position, value in totals.items()}
    warps = [bit for bit in bits if bit >= LANE_BITS]
    if warps:
        owns = [bit for bit, step in enumerate(layout.bits) if any(step[dim] for dim in kept)]
        totals = _across_warps(em, kind, totals, warps, owns)
    start = em.operand(op.operands[1])
    values = {position: combine(em.build, kind, start[position], total) for position, total in totals.items()}
    if isinstance(result.type, ir.VectorType):
        em.set_fragment(result, Fragment(em.layout(result), values))
    else:
        em.set_scalar(result, values[()])


def _masked(
    em: Emitter, op: ir.Operation, layout: Layout, position: Position, value: ir.Value, kind: str
) -> ir.Value:
    """The value, or the neutral element in threads for which it lies outside of the reduced dims."""
    build, sizes = em.build, sizes_of(op.operands[0])
    inside: ir.Value | bool = True
    for dim in reduced_dims(op):
        if position[dim] + layout.thread_reach(dim) >= sizes[dim]:
            inside = build.both(inside, em.below(layout, dim, position[dim], sizes[dim]))
    if isinstance(inside, bool):
        return value
    return build.op("arith.select", [inside, value, neutral(build, kind, value.type)], value.type)


def _across_warps(
    em: Emitter, kind: str, totals: dict[Position, ir.Value], warps: list[int], owns: list[int]
) -> dict[Position, ir.Value]:
    """Each warp's totals into shared memory; then every thread adds up those of its elements.

    ``warps`` are the thread bits to reduce over, ``owns`` those that tell elements of the result apart.
    Of many warps lanes with the same element load some each, and add them up: all would take registers.
    """
    build = em.build
    values = list(totals.values())
    element = values[0].type
    stored = stored_type(element)
    bits = LANE_BITS + em.warps.bit_length() - 1
    how = Partials(len(values), bytes_of(stored), bits, tuple(owns), tuple(warps))
    region = em.shared.alloc(how.elements * how.size)
    base = em.shared.pointer(region)
    mine, ours = (build.offset(base, stored, em.thread(each, 0)) for each in (how.writes, how.reads))
    em.shared.writes(region)
    # All lanes that have the total store it, to one place: a branch would cost more, and let LLVM move
    # loads behind it.
    for number, (at,) in enumerate(how.writes.register_positions):
        some = values[number * how.wide : (number + 1) * how.wide]
        store_stored(build, some, build.offset(mine, stored, at), how.wide * how.size)
    em.shared.reads(region)
    parts: list[ir.Value] = []
    for (at,) in how.reads.register_positions:
        pointer = build.offset(ours, stored, at)
        parts += load_stored(build, pointer, element, how.width, how.width * how.size)
    em.shared.free(region)
    each = how.wide << len(warps) - len(how.lanes)  # of a lane's warps, and as many as a store has
    mixed = [parts[first : first + each] for first in range(0, len(parts), each)]
    results = [tree(build, kind, some[one :: how.wide]) for some in mixed for one in range(how.wide)]
    results = [_over_lanes(em, kind, result, how.lanes) for result in results]
    return dict(zip(totals, results, strict=True))


def _over_lanes(em: Emitter, kind: str, value: ir.Value, bits: Sequence[int]) -> ir.Value:
    """The total of what the lanes have that differ in these bits."""
    for bit in bits:
        value = combine(em.build, kind, value, shuffle(em.build, value, 1 << bit))
    return value
