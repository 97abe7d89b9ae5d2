"""The totals of warps, through shared memory: each thread learns those of its elements."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import LANE_BITS
from ..layouts.access import bytes_of
from .emitter import Emitter
from .partials import Partials
from .stored import load_stored, store_stored, stored_type


def exchange(
    em: Emitter, totals: Sequence[ir.Value], warps: Sequence[int], owns: Sequence[int]
) -> tuple[list[list[ir.Value]], Sequence[int]]:
    """For each of a thread's totals those of all warps, in the order of the bits ``warps``.

    ``owns`` are the thread bits that tell elements apart. Of many warps, or totals, lanes with the same
    element have some each: the lane bits that stand for the first of ``warps`` come with them. All would take
    registers.
    """
    build = em.build
    element = totals[0].type
    stored = stored_type(element)
    bits = LANE_BITS + em.warps.bit_length() - 1
    how = Partials(len(totals), bytes_of(stored), bits, tuple(owns), tuple(warps))
    region = em.shared.alloc(how.elements * how.size)
    base = em.shared.pointer(region)
    mine, ours = (build.offset(base, stored, em.thread(each, 0)) for each in (how.writes, how.reads))
    em.shared.writes(region)
    # All lanes that have the total store it, to one place: a branch would cost more, and let LLVM move
    # loads behind it.
    for number, (at,) in enumerate(how.writes.register_positions):
        some = totals[number * how.wide : (number + 1) * how.wide]
        store_stored(build, some, build.offset(mine, stored, at), how.wide * how.size)
    em.shared.reads(region)
    parts: list[ir.Value] = []
    for (at,) in how.reads.register_positions:
        pointer = build.offset(ours, stored, at)
        parts += load_stored(build, pointer, element, how.width, how.width * how.size)
    em.shared.free(region)
    each = how.wide << len(warps) - len(how.lanes)  # of a lane's warps, and as many as a store has
    mixed = [parts[first : first + each] for first in range(0, len(parts), each)]
    return [some[one :: how.wide] for some in mixed for one in range(how.wide)], how.lanes
