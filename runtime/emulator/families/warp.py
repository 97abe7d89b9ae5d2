"""Exchange within a warp: shfl, vote, match, redux, activemask. Sections 9.7.9 and 9.7.13."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..ptx import TYPES, Array, Instruction, Not, Pair
from ..registry import Run, instruction

WARP = "9.7.13 Parallel Synchronization and Communication"
_ONE = np.uint32(1)


@instruction("shfl.sync", section="9.7.9 Data Movement and Conversion: shfl.sync", kind="warp", sync=True)
def shfl(i: Instruction, d: Decoder) -> Run:
    """Each lane reads a register of another lane of its warp."""
    b32 = TYPES["b32"]
    to = i.operands[0]
    write = d.write(to.first if isinstance(to, Pair) else to, b32)
    inside = d.write(to.second, TYPES["pred"]) if isinstance(to, Pair) else None
    value, where, limits = (d.read(operand, b32) for operand in i.operands[1:4])
    mode = next(mod for mod in i.mods if mod in ("up", "down", "bfly", "idx"))

    def run(x: Context) -> None:
        lane = x.lanes.lane.astype(np.int64)
        c = x.dense(limits(x)).astype(np.int64)
        by = x.dense(where(x)).astype(np.int64) & 31
        clamp, segment = c & 31, (c >> 8) & 31
        most = (lane & segment) | (clamp & ~segment)
        least = lane & segment
        if mode == "up":
            source = lane - by
            valid = source >= most
        elif mode == "down":
            source = lane + by
            valid = source <= most
        elif mode == "bfly":
            source = lane ^ by
            valid = source <= most
        else:
            source = least | (by & ~segment)
            valid = source <= most
        source = np.where(valid, source, lane)
        bits = x.dense(value(x))
        if x.lanes.whole:
            rows = x.lanes.index + (source - lane)
            outside = (source >= 32) | (
                x.batch.shape.members[x.lanes.warp] >> source.astype(np.uint32) & _ONE == 0
            )
            found = _whole_lookup(x, bits, rows, outside)
        else:
            found, outside = _lookup(x, bits, source)
        if outside.any():
            x.report(i, "inactive-lane", "shfl.sync reads a lane that does not take part", outside)
        write(x, found)
        if inside is not None:
            inside(x, valid)

    return run


def _whole_lookup(x: Context, bits: Array, rows: Array, outside: Array) -> Array:
    """The value of lane ``rows`` (a number in the batch) for each lane; all lanes of the warps run."""
    rows = np.where(outside, x.lanes.index, rows)
    if x.sel is None:
        return bits[rows]
    return bits[np.searchsorted(x.lanes.index, rows)]


def _lookup(x: Context, bits: Array, source: Array) -> tuple[Array, Array]:
    """The value of lane ``source`` of the same warp, and whether that lane does not run."""
    whole = np.zeros(x.batch.shape.lanes + 32, bits.dtype)
    whole[x.lanes.index] = bits
    present = (x.lanes.present[x.lanes.warp] >> source.astype(np.uint32)) & _ONE
    rows = x.lanes.index + (source - x.lanes.lane)
    return whole[rows], present == 0


def _by_warp(x: Context, predicate: Array) -> Array:
    """For each warp of the batch, the bits of the lanes for which a predicate holds."""
    bits = np.zeros(x.batch.shape.warps, np.uint32)
    values = predicate.astype(np.uint32) << x.lanes.lane
    bits[x.lanes.warp[x.lanes.starts]] = np.bitwise_or.reduceat(values, x.lanes.starts)
    return bits


def _groups(x: Context, mask: Array) -> bool:
    """Whether all lanes of each warp name all lanes that run: then a warp is one group."""
    return bool((mask & x.lanes.present[x.lanes.warp] == x.lanes.present[x.lanes.warp]).all())


@instruction("vote.sync", section=WARP + ": vote.sync", kind="warp", sync=True)
def vote(i: Instruction, d: Decoder) -> Run:
    """What the lanes that a mask names say: all, any, the same, or as bits."""
    pred = TYPES["pred"]
    mode = next(mod for mod in i.mods if mod in ("all", "any", "uni", "ballot"))
    write = d.write(i.operands[0], TYPES["b32"] if mode == "ballot" else pred)
    source = i.operands[1]
    read = d.read(source.name if isinstance(source, Not) else source, pred)
    negated = isinstance(source, Not)
    mask_of = d.read(i.operands[2], TYPES["b32"])

    def run(x: Context) -> None:
        value = x.dense(read(x))
        yes = _by_warp(x, ~value if negated else value)[x.lanes.warp]
        named = x.dense(mask_of(x)) & x.lanes.present[x.lanes.warp]
        said = yes & named
        if mode == "ballot":
            write(x, said)
        elif mode == "all":
            write(x, said == named)
        elif mode == "any":
            write(x, said != 0)
        else:
            write(x, (said == named) | (said == 0))

    return run


@instruction("match", section=WARP + ": match.sync", kind="warp", sync=True)
def match(i: Instruction, d: Decoder) -> Run:
    """The lanes that have the same value."""
    kind = i.types[-1]
    to = i.operands[0]
    write = d.write(to.first if isinstance(to, Pair) else to, TYPES["b32"])
    same = d.write(to.second, TYPES["pred"]) if isinstance(to, Pair) else None
    read, mask_of = d.read(i.operands[1], kind), d.read(i.operands[2], TYPES["b32"])
    every = i.has("all")

    def run(x: Context) -> None:
        value = x.dense(read(x))
        named = x.dense(mask_of(x)) & x.lanes.present[x.lanes.warp]
        whole = np.zeros((x.batch.shape.warps, 32), kind.dtype)
        whole[x.lanes.warp, x.lanes.lane] = value
        equal = whole[x.lanes.warp] == value[:, None]
        bits = (equal.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(
            np.uint32
        ) & named
        if not every:
            write(x, bits)
            return
        all_same = bits == named
        write(x, np.where(all_same, named, np.uint32(0)))
        if same is not None:
            same(x, all_same)

    return run


@instruction("redux", section=WARP + ": redux.sync", kind="warp", sync=True)
def redux(i: Instruction, d: Decoder) -> Run:
    """A reduction over the lanes that a mask names."""
    kind = i.types[-1]
    if kind.kind == "f":
        raise d.fail("of floats, which sm_100 has")
    write, read, mask_of = (
        d.write(i.operands[0], kind),
        d.read(i.operands[1], kind),
        d.read(i.operands[2], TYPES["b32"]),
    )
    apply: Any = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[i.mods[1]]

    def run(x: Context) -> None:
        value = x.dense(read(x))
        mask = x.dense(mask_of(x))
        if _groups(x, mask):
            per_warp = np.zeros(x.batch.shape.warps, kind.dtype)
            per_warp[x.lanes.warp[x.lanes.starts]] = apply.reduceat(value, x.lanes.starts).astype(kind.dtype)
            write(x, per_warp[x.lanes.warp])
            return
        key = x.lanes.warp.astype(np.int64) << 32 | mask.astype(np.int64)
        names, inverse = np.unique(key, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        starts = np.searchsorted(inverse[order], np.arange(len(names)))
        write(x, apply.reduceat(value[order], starts).astype(kind.dtype)[inverse])

    return run


@instruction("activemask", section=WARP + ": activemask", kind="warp")
def activemask(i: Instruction, d: Decoder) -> Run:
    """The lanes of the warp that run this instruction now."""
    write = d.write(i.operands[0], TYPES["b32"])
    return lambda x: write(x, x.lanes.present[x.lanes.warp])


@instruction("elect", section=WARP + ": elect.sync", kind="warp", sync=True)
def elect(i: Instruction, d: Decoder) -> Run:
    """Chooses one of the lanes that a mask names: the lowest."""
    to = i.operands[0]
    if not isinstance(to, Pair):
        raise d.fail("without a predicate")
    lane, chosen = d.write(to.first, TYPES["b32"]), d.write(to.second, TYPES["pred"])
    mask_of = d.read(i.operands[1], TYPES["b32"])

    def run(x: Context) -> None:
        named = x.dense(mask_of(x)) & x.lanes.present[x.lanes.warp]
        lowest = np.bitwise_count((named & (~named + _ONE)) - _ONE).astype(np.uint32)
        lane(x, lowest)
        chosen(x, x.lanes.lane == lowest)

    return run
