"""cp.async.bulk and cp.reduce.async.bulk: copies that one thread starts for many bytes. Section 9.7.9.25."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import access
from ..access import Part
from ..bulk import Change, Combine, Fetch, Store, fetch, global_parts
from ..clusters import RANK
from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..memory import SHARED_WINDOW
from ..operands import Read
from ..ptx import RAW, TYPES, Array, Instruction, Memory, Number, Operand, Type
from ..registry import Run, Step, control, instruction
from .atomic import OPERATIONS, update
from .control import taken
from .mbarrier import object_place, states

ELSEWHERE = "a copy to a block that arrives at an mbarrier of another block"
BULK = "9.7.9.25 Data Movement and Conversion: Asynchronous copy: cp.async.bulk"


class Lane:
    """What each lane of an instruction does on its own: ``x`` has that lane alone."""

    def __init__(self, x: Context, row: int) -> None:
        self.x = Context(x.batch, x.frame, x.lanes.where(np.arange(x.count) == row))
        self.row = row
        self.number = int(x.lanes.index[row])
        self.block = int(x.lanes.block[row])

    def report(self, i: Instruction, kind: str, detail: str) -> None:
        """A finding about this lane."""
        self.x.report(i, kind, detail, np.ones(1, np.bool_))


def each_lane(i: Instruction, d: Decoder, act: Callable[[Context], None]) -> Step:
    """A step for an instruction whose lanes act one by one, after which who waits may look again."""
    guard = d.guard(i)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        act(Context(machine.batch, group.frame, lanes))
        machine.move(group, group.pc + 1, lanes)
        machine.poll()

    return step


def shared_offset(d: Decoder, operand: Operand) -> Read:
    """Addresses in the window of shared memory, from such ones or from generic ones."""
    read = d.address(operand)

    def offset(x: Context) -> Array:
        found = read(x)
        return np.where(found >> np.uint64(40) == 1, found - np.uint64(SHARED_WINDOW), found)

    return offset


def shared_place(
    lane: Lane, i: Instruction, address: int, size: int, align: int, *, remote: bool = False
) -> int:
    """Where ``size`` bytes are in the batch's shared memory; -1 if they are not, which is reported."""
    x, where = lane.x, "shared::cluster" if remote else "shared"
    found = np.array([address], np.uint64)
    if address % align:
        detail = f"a bulk copy whose address in shared memory is not a multiple of {align}"
        x.report(i, "misaligned", detail, np.ones(1, np.bool_), found, "shared")
        return -1
    inside = address & ((1 << RANK) - 1) if remote else address
    if inside + size > x.batch.launch.shared_size:
        detail = f"a bulk copy of {size} bytes, shared memory has {x.batch.launch.shared_size} bytes"
        x.report(i, "out-of-bounds", detail, np.ones(1, np.bool_), found, "shared")
        return -1
    parts = access.resolve(x, i, where, found, 1)
    return int(parts[0].addresses[0]) if parts else -1


def multicast(
    lane: Lane, i: Instruction, mask: int | None, place: int, barrier: int
) -> list[tuple[int, int]]:
    """The place and the barrier of a copy in each block that it goes to: the same offsets in all of them."""
    shape, stride = lane.x.batch.shape, lane.x.batch.shared_stride
    if place // stride != barrier // stride:
        lane.report(i, "mbarrier", ELSEWHERE)
    if mask is None:
        return [(place, barrier)]
    if mask >> shape.cluster or not mask:
        lane.report(i, "cluster", f"a multicast to {mask:#x}, in a cluster of {shape.cluster} blocks")
    first = lane.block - lane.block % shape.cluster
    found, lifetimes = [], lane.x.batch.lifetimes
    for rank in [rank for rank in range(shape.cluster) if mask >> rank & 1]:
        start = (first + rank) * stride
        if lifetimes is not None and lifetimes.access(i, lane.x.lanes.index, np.array([first + rank])).any():
            lane.report(i, "cluster", access.NOT_BEGUN)
        states(lane.x, i, np.array([start + barrier % stride]))
        found.append((start + place % stride, start + barrier % stride))
    return found


def combine_of(operation: str, kind: Type, d: Decoder) -> Combine:
    """What a reduction makes of old bits and new ones; those of floats are in global memory."""
    change = update(operation, kind, d, "global")
    return lambda old, value: change(old, value, None).view(kind.raw)


def write_global(
    lane: Lane, i: Instruction, addresses: Array, unit: int, data: Array, combine: Combine | None
) -> tuple[Callable[[], None], Array, Array | None]:
    """What writes ``unit`` bytes of ``data`` to each address, when its time comes.

    And the good addresses, in order, with what is written there if ``combine`` does not say.
    """
    x = lane.x
    values = data.view(RAW[8 * unit])
    parts = global_parts(x, i, addresses, unit)
    for part, which in parts:
        mine = values[which]

        def unchanged(part: Part, mine: Array = mine) -> Array:
            return x.batch.bulk.written(part, unit) == mine

        if combine is None:
            x.batch.launch.watch.bulk(x, i, "global", "copy", part, unit, unchanged)
        else:
            x.batch.launch.watch.bulk(x, i, "global", "reduce", part, unit)
        if not part.allocation.writable:
            lane.report(i, "read-only", f"a write to {part.allocation.name}")

    def write() -> None:
        for part, which in parts:
            allocation = part.allocation
            if not allocation.writable:
                continue
            places, view = allocation.places(part.addresses, unit), allocation.view(unit)
            mine = values[which]
            view[places] = mine if combine is None else combine(view[places], mine)
            if allocation.written is not None:
                allocation.written_view(unit)[places] = access.WRITTEN[unit]

    if not parts:
        return write, addresses[:0], None
    good = np.concatenate([part.addresses for part, _ in parts])
    order = np.argsort(good, kind="stable")
    written = np.concatenate([values[which] for _, which in parts])[order]
    return write, good[order], written if combine is None else None


@control("cp.async.bulk", "cp.reduce.async.bulk", section=BULK, kind="async copy")
def bulk(i: Instruction, d: Decoder) -> Step:
    """Copies so many bytes, or adds them up, between global and shared memory or two blocks of a cluster."""
    spaces = [mod for mod in i.mods if mod in ("global", "shared::cta", "shared::cluster")]
    to, source = spaces[0], spaces[1]
    operands = list(i.operands)
    if i.has("cp_mask"):
        raise d.fail("with a mask of bytes, which sm_100 has")
    target, origin, size_of = (
        d.address(operands[0]),
        d.address(operands[1]),
        d.read(operands[2], TYPES["u32"]),
    )
    more = operands[3:]
    combine, unit = None, 8
    if i.has("reduce"):
        kind, operation = i.types[-1], next(mod for mod in i.mods if mod in OPERATIONS)
        if i.has("noftz") != (operation == "add" and kind.name in ("f16", "bf16")):
            raise d.fail(f"{operation} of {kind.name} {'with' if i.has('noftz') else 'without'} .noftz")
        combine, unit = combine_of(operation, kind, d), kind.bytes
    if to == "global":
        inside = shared_offset(d, operands[1])

        def store(x: Context) -> None:
            addresses, places, sizes = target(x), inside(x), x.dense(size_of(x))
            for row in range(x.count):
                _store(Lane(x, row), i, int(addresses[row]), int(places[row]), int(sizes[row]), combine, unit)

        return each_lane(i, d, store)
    place_of = object_place(i, d, more.pop(0), remote=True)
    mask_of = d.read(more.pop(0), TYPES["u16"]) if i.has("multicast::cluster") else None
    there = shared_offset(d, operands[0])
    if source == "global":

        def load(x: Context) -> None:
            addresses, places, sizes = origin(x), there(x), x.dense(size_of(x))
            masks = None if mask_of is None else x.dense(mask_of(x))
            barriers = barrier_places(x, i, place_of)
            for row in range(x.count):
                lane, size, address = Lane(x, row), int(sizes[row]), int(addresses[row])
                place = shared_place(lane, i, int(places[row]), size, 16, remote=True)
                if not _aligned(lane, i, address, size) or place < 0 or barriers[row] < 0:
                    continue
                starts = np.uint64(address) + np.arange(0, size, 16, dtype=np.uint64)
                words = np.concatenate([starts, starts + np.uint64(8)]).reshape(2, -1).T.reshape(-1)
                data = fetch(lane.x, i, words, 8)
                mask = None if masks is None else int(masks[row])
                for at, barrier in multicast(lane, i, mask, place, int(barriers[row])):
                    block = barrier // x.batch.shared_stride
                    x.batch.bulk.load(lane.x, i, at, data, barrier, block, source=Fetch(starts, 16))

        return each_lane(i, d, load)
    here = shared_offset(d, operands[1])
    change = None if combine is None else Change(combine, unit)

    def send(x: Context) -> None:
        sources, places, sizes = here(x), there(x), x.dense(size_of(x))
        barriers = barrier_places(x, i, place_of)
        for row in range(x.count):
            lane, size = Lane(x, row), int(sizes[row])
            place = shared_place(lane, i, int(places[row]), size, 16, remote=True)
            mine = shared_place(lane, i, int(sources[row]), size, 16)
            if not _aligned(lane, i, 0, size) or min(place, mine, barriers[row]) < 0:
                continue
            if place // x.batch.shared_stride != int(barriers[row]) // x.batch.shared_stride:
                lane.report(i, "mbarrier", ELSEWHERE)
            data = x.batch.bulk.take(lane.x, i, mine, size)
            block = int(barriers[row]) // x.batch.shared_stride
            reads = Fetch(np.zeros(0, np.uint64), 16, mine, size)
            x.batch.bulk.load(lane.x, i, place, data, int(barriers[row]), block, change=change, source=reads)

    return each_lane(i, d, send)


def barrier_places(x: Context, i: Instruction, place_of: Callable[[Context, str], Array]) -> Array:
    """The mbarriers at which lanes' copies arrive; reports those that are not initialised."""
    places = place_of(x, "sync")
    states(x, i, places)
    return places


def _aligned(lane: Lane, i: Instruction, address: int, size: int) -> bool:
    """Whether a copy's size and its address in global memory are multiples of 16."""
    if size % 16:
        lane.report(i, "misaligned", f"a bulk copy of {size} bytes, which is no multiple of 16")
    elif address % 16:
        detail = "a bulk copy whose address in global memory is not a multiple of 16"
        found = np.array([address], np.uint64)
        lane.x.report(i, "misaligned", detail, np.ones(1, np.bool_), found, "global")
    return not size % 16 and not address % 16 and size > 0


def _store(
    lane: Lane, i: Instruction, address: int, offset: int, size: int, combine: Combine | None, unit: int
) -> None:
    place = shared_place(lane, i, offset, size, 16)
    if not _aligned(lane, i, address, size) or place < 0:
        return
    bulk = lane.x.batch.bulk
    data = bulk.take(lane.x, i, place, size)
    addresses = np.uint64(address) + np.arange(0, size, unit, dtype=np.uint64)
    write, good, values = write_global(lane, i, addresses, unit, data, combine)
    bulk.store(Store(i, lane.number, place, size, good, unit, write, values))


@instruction("cp.async.bulk.commit_group", section=BULK + ".commit_group", kind="async copy")
def commit(i: Instruction, d: Decoder) -> Run:
    """Makes a group of the bulk copies since the last one."""
    return lambda x: x.batch.bulk.commit(x.lanes)


@instruction("cp.async.bulk.wait_group", section=BULK + ".wait_group", kind="async copy")
def wait(i: Instruction, d: Decoder) -> Run:
    """Waits for all groups of bulk copies but the last few; with .read until they have read their sources."""
    count = i.operands[0]
    if not isinstance(count, Number):
        raise d.fail("a number of groups that is no constant")
    keep, read = int(count.value), i.has("read")
    return lambda x: x.batch.bulk.wait(x.lanes, keep, read=read)


@instruction("cp.async.bulk.prefetch", section=BULK + ".prefetch", kind="other")
def prefetch(i: Instruction, d: Decoder) -> Run:
    """A hint for the L2 cache; its address must be right."""
    if not isinstance(i.operands[0], Memory):
        raise d.fail("an address in brackets is expected")
    origin, size_of = d.address(i.operands[0]), d.read(i.operands[1], TYPES["u32"])

    def run(x: Context) -> None:
        addresses, sizes = origin(x), x.dense(size_of(x))
        for row in range(x.count):
            lane, address, size = Lane(x, row), int(addresses[row]), int(sizes[row])
            if _aligned(lane, i, address, size):
                memory = lane.x.batch.launch.memory
                allocation = memory.find(address)
                end = address if allocation is None else allocation.end
                if address + size > end:
                    at = np.array([end], np.uint64)
                    detail = f"a bulk prefetch of {size} bytes, {memory.describe(end)}"
                    lane.x.report(i, "out-of-bounds", detail, np.ones(1, np.bool_), at, "global")

    return run
