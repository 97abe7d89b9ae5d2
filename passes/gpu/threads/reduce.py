"""vector.multi_reduction: in each thread's registers, then over lanes, then over warps.

The order is fixed by the layout: registers by a tree of neighbours, lanes by butterflies, warps by a tree,
the op's own accumulator last, from the left. All threads that hold an element of the result get the same
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout, Position
from ...combining import kept_dims, kind_of, reduced_dims
from ..layouts.access import WIDE, bytes_of
from ..layouts.tiles import sizes_of
from .builder import Number
from .combine import combine, neutral, shuffle, tree
from .emitter import Emitter, build_bits
from .fragment import Fragment
from .registry import rule
from .stored import load_stored, store_stored, stored_type

MANY = 8  # totals of warps, from which on lanes add them up


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
    A thread's totals lie side by side, or those of one element if it has no other. Of many it loads one
    then, and lanes add them up: all at once would take registers, and longer.
    """
    build = em.build
    values = list(totals.values())
    element = values[0].type
    stored = stored_type(element)
    count, slots, size = 1 << len(warps), 1 << len(owns), bytes_of(stored)
    region = em.shared.alloc(len(values) * slots * count * size)
    base = em.shared.pointer(region)
    slot, warp = _packed(em, owns), _packed(em, warps)
    alone = len(values) == 1
    strides = (count, 1) if alone else (len(values), slots * len(values))  # of slots, and of warps
    slot = build.mul(slot, strides[0])
    mine = build.offset(base, stored, build.add(slot, build.mul(warp, strides[1])))
    em.shared.writes(region)
    # All lanes that have the total store it, to one place: a branch would cost more, and let LLVM move
    # loads behind it.
    wide = gcd(len(values), WIDE // size)
    for first in range(0, len(values), wide):
        pointer = build.offset(mine, stored, first)
        store_stored(build, values[first : first + wide], pointer, wide * size)
    em.shared.reads(region)
    lanes = [bit for bit in range(LANE_BITS) if bit not in owns][: len(warps)]
    if alone and count >= MANY and len(lanes) == len(warps):
        pointer = build.offset(base, stored, build.add(slot, _packed(em, lanes)))
        (part,) = load_stored(build, pointer, element, 1, size)
        results = [_over_lanes(em, kind, part, lanes)]
    elif alone:
        results = [tree(build, kind, _loaded(em, build.offset(base, stored, slot), element, count))]
    else:
        ours = [build.offset(base, stored, build.add(slot, strides[1] * each)) for each in range(count)]
        parts = [_loaded(em, pointer, element, len(values)) for pointer in ours]
        results = [tree(build, kind, list(each)) for each in zip(*parts, strict=True)]
    em.shared.free(region)
    return dict(zip(totals, results, strict=True))


def _loaded(em: Emitter, pointer: ir.Value, element: ir.Type, count: int) -> list[ir.Value]:
    """So many neighbours in shared memory."""
    stored = stored_type(element)
    size = bytes_of(stored)
    wide = gcd(count, WIDE // size)
    found: list[ir.Value] = []
    for first in range(0, count, wide):
        at = em.build.offset(pointer, stored, first)
        found += load_stored(em.build, at, element, wide, wide * size)
    return found


def _over_lanes(em: Emitter, kind: str, value: ir.Value, bits: Sequence[int]) -> ir.Value:
    """The total of what the lanes have that differ in these bits."""
    for bit in bits:
        value = combine(em.build, kind, value, shuffle(em.build, value, 1 << bit))
    return value


def _packed(em: Emitter, bits: list[int]) -> Number:
    """The thread bits next to each other, as a number."""
    total: Number = 0
    at = 0
    while at < len(bits):
        count = 1
        while at + count < len(bits) and bits[at + count] == bits[at] + count:
            count += 1
        total = em.build.add(total, em.build.mul(build_bits(em, bits[at], count), 1 << at))
        at += count
    return total
