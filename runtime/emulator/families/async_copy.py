"""cp.async: copies from global to shared memory that a thread does not wait for. Section 9.7.9.25."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import access
from ..asynchronous import Copy
from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..mbarriers import advance, arrivals, report
from ..memory import SHARED_WINDOW
from ..ptx import TYPES, Array, Instruction, Memory, Name, Not, Number
from ..registry import Run, Step, control, instruction
from .control import taken
from .mbarrier import MBARRIER, object_place, states
from .memory import memory_space

ASYNC = "9.7.9.25 Data Movement and Conversion: Asynchronous copy"


@instruction("cp.async", section=ASYNC + ": cp.async", kind="async copy")
def cp_async(i: Instruction, d: Decoder) -> Run:
    """Starts a copy of 4, 8 or 16 bytes; what is beyond the source's size becomes zeros."""
    to, source, size_operand = i.operands[:3]
    if not isinstance(to, Memory) or not isinstance(source, Memory) or not isinstance(size_operand, Number):
        raise d.fail("two addresses and a size are expected")
    if not i.has("ca", "cg"):
        raise d.fail("without .ca or .cg")
    size = int(size_operand.value)
    if size not in (4, 8, 16) or (i.has("cg") and size != 16):
        raise d.fail(f"of {size} bytes")
    target, origin = d.address(to), d.address(source)
    generic = memory_space(i, d, to) == "generic"
    more = list(i.operands[3:])
    if any(mod.endswith("cache_hint") for mod in i.mods):
        more.pop()
    length = ignored = None
    if more:
        last = more[0]
        if isinstance(last, Not) or (isinstance(last, Name) and _is_predicate(d, last)):
            ignored = d.read(last, TYPES["pred"])
        else:
            length = d.read(last, TYPES["u32"])
    unit = min(size, 8)

    def run(x: Context) -> None:
        lanes = x.lanes
        places, addresses = target(x), origin(x)
        if generic:
            places = places - np.uint64(SHARED_WINDOW)
        wanted = np.full(x.count, size, np.int64)
        if length is not None:
            wanted = np.minimum(x.dense(length(x)).astype(np.int64), size)
        if ignored is not None:
            wanted = np.where(ignored(x), 0, wanted)
        words = _source(x, i, addresses, size, wanted)
        read = np.where(wanted > 0, addresses, np.uint64(0))  # nobody writes at 0
        parts = access.resolve(x, i, "shared", places, size)
        x.batch.launch.watch.access(x, i, "shared", "copy", places, size, parts)
        for part in parts:
            if part.rows is not None:
                mask = np.zeros(lanes.count, np.bool_)
                mask[part.rows] = True
                x.enter(lanes.where(mask))
            some = words if part.rows is None else [word[part.rows] for word in words]
            sources = read if part.rows is None else read[part.rows]
            x.batch.copies.issue(x, i, part.addresses.astype(np.int64), size, some, sources)
        x.enter(lanes)

    def _source(x: Context, i: Instruction, addresses: Array, size: int, wanted: Array) -> list[Array]:
        """The bytes to be copied, with zeros beyond ``wanted``; only bytes that are wanted are read."""
        if (wanted == size).all():
            return access.load(x, i, "global", addresses, unit, size // unit)
        lanes = x.lanes
        out = [np.zeros(lanes.count, f"u{unit}") for _ in range(size // unit)]
        full = wanted == size
        if full.any():
            x.enter(lanes.where(full))
            for whole, some in zip(
                out, access.load(x, i, "global", addresses[full], unit, size // unit), strict=True
            ):
                whole[full] = some
        rows = np.stack(out, axis=1).view(np.uint8)
        for byte in range(int(wanted[~full].max(initial=0))):
            mine = ~full & (wanted > byte)
            if mine.any():
                x.enter(lanes.where(mine))
                rows[mine, byte] = access.load(x, i, "global", addresses[mine] + np.uint64(byte), 1, 1)[0]
        x.enter(lanes)
        words = np.ascontiguousarray(rows).view(f"u{unit}")
        return [np.ascontiguousarray(words[:, element]) for element in range(size // unit)]

    return run


def _is_predicate(d: Decoder, name: Name) -> bool:
    return d.is_register(name) and d.width(name) == 1


@instruction("cp.async.commit_group", section=ASYNC + ": cp.async.commit_group", kind="async copy")
def commit(i: Instruction, d: Decoder) -> Run:
    """Makes a group of the copies since the last one."""
    return lambda x: x.batch.copies.commit(x.lanes)


@instruction(
    "cp.async.wait_group", "cp.async.wait_all", section=ASYNC + ": cp.async.wait_group", kind="async copy"
)
def wait(i: Instruction, d: Decoder) -> Run:
    """Waits for all groups but the last few, or for everything."""
    keep = -1
    if i.has("wait_group"):
        count = i.operands[0]
        if not isinstance(count, Number):
            raise d.fail("a number of groups that is no constant")
        keep = int(count.value)
    return lambda x: x.batch.copies.wait(x, keep)


@control("cp.async.mbarrier", section=MBARRIER + "; cp.async.mbarrier.arrive", kind="mbarrier")
def copy_arrive(i: Instruction, d: Decoder) -> Step:
    """Arrives at an mbarrier when all copies that the thread has started are complete.

    They are complete when somebody looks at the mbarrier: nobody may know earlier.
    """
    guard = d.guard(i)
    place_of = object_place(i, d, i.operands[0])
    pays = i.has("noinc")

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        copies = x.batch.copies
        for place, state, rows in states(x, i, place_of(x, "sync")):
            if not pays:  # without .noinc the arrival is one more than the object was made for
                state.pending += len(rows)
            mask = np.zeros(lanes.count, np.bool_)
            mask[rows] = True
            some = lanes.where(mask)
            y = Context(machine.batch, group.frame, some)
            copies.defer(place, _later(y, i, place, copies.take(some)))
        machine.move(group, group.pc + 1, lanes)
        machine.poll()

    return step


def _later(x: Context, i: Instruction, place: int, copies: list[Copy]) -> Callable[[], None]:
    """The arrival of lanes at an object, when their copies are complete."""

    def arrive_now() -> None:
        x.batch.copies.arrive(x, copies)
        state = x.batch.objects.states.get(place)
        rows = np.arange(x.count)
        if state is None:
            report(x, i, rows, "copies arrive at an object that is not initialised any more")
            return
        for row in arrivals(x, place, rows, tells=True):
            if not state.pending:
                report(x, i, rows[row:], "more arrivals than the mbarrier expects in this phase")
            state.pending = max(0, state.pending - 1)
            advance(x, place, state)

    return arrive_now
