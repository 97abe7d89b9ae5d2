"""vector.multi_reduction: in each thread's registers, then over lanes, then over warps.

The order is fixed by the layout: registers by a tree of neighbours, lanes by butterflies, warps by a tree
(many of them by a chain, where no order changes the result), the op's own accumulator last, from the left.
All threads that hold an element of the result get the same bits.

Elements of 8 or 16 bits go as many at once as a word holds (`in_words`): on sm_80 maxima of the columns of
256x512 f16 take 24 shuffles and 96 instructions, not 48 and 224.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from ....dialects.layouts import LANE_BITS, Position
from ...combining import are_exact, kept_dims, kind_of, reduced_dims
from ..layouts.tiles import sizes_of
from .combine import chain, combine, in_words, neutral, shuffle, tree
from .emitter import Emitter
from .exchange import exchange
from .fragment import Fragment
from .partials import MOST
from .registry import rule


@rule("vector.multi_reduction")
def emit_reduction(em: Emitter, op: ir.Operation) -> None:
    """The reduced tile, or scalar."""
    source, result = op.operands[0], op.results[0]
    fragment = em.fragment(source)
    assert fragment.layout is not None
    layout = fragment.layout
    kind, kept, gone = kind_of(op), kept_dims(op), reduced_dims(op)
    groups: dict[Position, list[ir.Value]] = {}
    for position, value in fragment.values.items():
        value = masked(em, source, gone, position, value, kind)
        groups.setdefault(tuple(position[dim] for dim in kept), []).append(value)
    bits = [bit for bit, step in enumerate(layout.bits) if any(step[dim] for dim in gone)]
    lanes = [bit for bit in bits if bit < LANE_BITS]
    totals = dict(zip(groups, _totals(em, kind, list(groups.values()), lanes), strict=True))
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


def masked(
    em: Emitter, source: ir.Value, dims: Sequence[int], position: Position, value: ir.Value, kind: str
) -> ir.Value:
    """A value of ``source``, or the neutral element in threads for which it lies outside of its ``dims``."""
    build, sizes, layout = em.build, sizes_of(source), em.fragment(source).layout
    assert layout is not None
    inside: ir.Value | bool = True
    for dim in dims:
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
    """
    parts, lanes = exchange(em, list(totals.values()), warps, owns)
    # Many totals come beside the elements that wait for them: in a chain ptxas needs a few of them at a time.
    many = sum(map(len, parts)) > MOST and are_exact(kind, parts[0][0].type)
    join = chain if many else tree
    return dict(zip(totals, _totals(em, kind, parts, lanes, join), strict=True))


def _totals(
    em: Emitter,
    kind: str,
    values: Sequence[list[ir.Value]],
    lanes: Sequence[int],
    join: Callable[..., ir.Value] = tree,
) -> list[ir.Value]:
    """Of each element what a thread has, and the lanes that differ in these bits."""
    words = in_words(em.build, kind, values) if lanes else None
    if words is None:
        return [over_lanes(em, kind, join(em.build, kind, some), lanes) for some in values]
    found = [over_lanes(em, kind, join(em.build, kind, some), lanes) for some in words]
    return [one for word in found for one in em.build.elements(word)]


def over_lanes(em: Emitter, kind: str, value: ir.Value, bits: Sequence[int]) -> ir.Value:
    """The total of what the lanes have that differ in these bits."""
    for bit in bits:
        value = combine(em.build, kind, value, shuffle(em.build, value, 1 << bit))
    return value
