"""st.async and red.async: stores to a block of the cluster that arrive at an mbarrier there."""

from __future__ import annotations

import numpy as np

from ..bulk import Change
from ..context import Context
from ..decode import Decoder
from ..ptx import RAW, TYPES, Instruction
from ..registry import Step, control
from .atomic import ATOMIC, OPERATIONS
from .bulk import Lane, barrier_places, combine_of, each_lane, shared_offset, shared_place
from .mbarrier import object_place


@control("st.async", section="9.7.9 Data Movement and Conversion: st.async", kind="store")
def st_async(i: Instruction, d: Decoder) -> Step:
    """Stores to a block of the cluster; the bytes arrive at an mbarrier there."""
    return _sent(i, d)


@control("red.async", section=ATOMIC + ": red.async", kind="atomic")
def red_async(i: Instruction, d: Decoder) -> Step:
    """Changes memory of a block of the cluster in one step; its bytes arrive at an mbarrier there."""
    kind = i.types[-1]
    combine = combine_of(next(mod for mod in i.mods if mod in OPERATIONS), kind, d)
    return _sent(i, d, Change(combine, kind.bytes))


def _sent(i: Instruction, d: Decoder, change: Change | None = None) -> Step:
    kind = i.types[-1]
    there, place_of = shared_offset(d, i.operands[0]), object_place(i, d, i.operands[2], remote=True)
    reads = d.reads(i.operands[1], TYPES[f"b{kind.bits}"])
    size = kind.bytes * len(reads)

    def send(x: Context) -> None:
        places, barriers = there(x), barrier_places(x, i, place_of)
        values = np.stack([x.dense(read(x)) for read in reads], axis=1).astype(RAW[kind.bits])
        stride = x.batch.shared_stride
        for row in range(x.count):
            lane, barrier = Lane(x, row), int(barriers[row])
            place = shared_place(lane, i, int(places[row]), size, size, remote=True)
            if min(place, barrier) < 0:
                continue
            if place // stride != barrier // stride:
                lane.report(i, "mbarrier", "a store to a block that arrives at an mbarrier of another block")
            data = values[row].view(np.uint8)
            x.batch.bulk.load(lane.x, i, place, data, barrier, barrier // stride, size, change)

    return each_lane(i, d, send)
