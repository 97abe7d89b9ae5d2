"""mbarrier: barriers in shared memory. Section 9.7.13.15 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import access
from ..asynchronous import Copy
from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..mbarriers import COUNT, State
from ..memory import SHARED_WINDOW
from ..operands import Read
from ..ptx import TYPES, Array, Instruction, Memory, Operand
from ..registry import Run, Step, control, instruction
from .control import taken
from .memory import memory_space

MBARRIER = "9.7.13.15 Parallel Synchronization and Communication: mbarrier"
Change = Callable[[Context, int, int], int]


def shared_places(x: Context, i: Instruction, addresses: Array, generic: bool, kind: str) -> Array:
    """Byte offsets of mbarrier objects in the batch's shared memory; -1 for bad addresses."""
    inside = addresses - np.uint64(SHARED_WINDOW) if generic else addresses
    parts = access.resolve(x, i, "shared", inside, 8)
    out = np.full(x.count, -1, np.int64)
    for part in parts:
        out[slice(None) if part.rows is None else part.rows] = part.addresses.view(np.int64)
    x.batch.launch.watch.access(x, i, "shared", kind, inside, 8, parts)
    return out


def object_address(i: Instruction, d: Decoder, operand: Operand) -> tuple[Read, bool]:
    """Reads the address of an mbarrier object, and whether it is a generic one."""
    if not isinstance(operand, Memory):
        raise d.fail("an address in brackets is expected")
    space = memory_space(i, d, operand)
    if space == "global":
        raise d.fail("outside of shared memory")
    return d.address(operand), space == "generic"


def change_each(x: Context, i: Instruction, places: Array, change: Change) -> Array:
    """Change each lane's object in turn by ``change(x, bits, row)``; gives the old bits."""
    view = x.batch.shared.view(8)
    old = np.zeros(x.count, np.uint64)
    bad = np.zeros(x.count, np.bool_)
    for row, place in enumerate(places.tolist()):
        if place < 0:
            continue
        word = int(view[place // 8])
        old[row] = word
        if State.unpack(word) is None:
            bad[row] = True
        else:
            view[place // 8] = change(x, word, row)
    if bad.any():
        x.report(i, "mbarrier", f"{i.opcode}.{i.mods[0]} on an object that is not initialised", bad)
    return old


@instruction("mbarrier.init", section=MBARRIER + ".init", kind="mbarrier")
def init(i: Instruction, d: Decoder) -> Run:
    """Makes an mbarrier object for so many arrivals."""
    address, generic = object_address(i, d, i.operands[0])
    count = d.read(i.operands[1], TYPES["u32"])

    def run(x: Context) -> None:
        expected = x.dense(count(x)).astype(np.int64)
        bad = (expected < 1) | (expected > COUNT)
        if bad.any():
            x.report(i, "mbarrier", f"a count of {int(expected[bad][0])}, not in 1…{COUNT}", bad)
        places = shared_places(x, i, address(x), generic, "store")
        shared = x.batch.shared
        for place, number in zip(places.tolist(), expected.tolist(), strict=True):
            if place >= 0:
                shared.view(8)[place // 8] = State(number & COUNT, number & COUNT, 0, 0).pack()
                shared.written_view(8)[place // 8] = access.WRITTEN[8]

    return run


@instruction("mbarrier.inval", section=MBARRIER + ".inval", kind="mbarrier")
def inval(i: Instruction, d: Decoder) -> Run:
    """Makes the memory of an mbarrier object free for other use."""
    address, generic = object_address(i, d, i.operands[0])

    def run(x: Context) -> None:
        places = shared_places(x, i, address(x), generic, "store")
        change_each(x, i, places, lambda x, word, row: 0)

    return run


@control("mbarrier.arrive", "mbarrier.arrive_drop", section=MBARRIER + ".arrive", kind="mbarrier")
def arrive(i: Instruction, d: Decoder) -> Step:
    """Arrives: one pending arrival less, or as many as a count says."""
    guard = d.guard(i)
    operands = list(i.operands)
    write = None if isinstance(operands[0], Memory) else d.write(operands.pop(0), TYPES["b64"])
    address, generic = object_address(i, d, operands.pop(0))
    if any(mod.startswith("shared::cluster") for mod in i.mods):
        raise d.fail("in another block's shared memory, which sm_90 has")
    expects = i.has("expect_tx")
    number = d.read(operands[0], TYPES["u32"]) if operands else None
    drops = i.has("arrive_drop")

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        given = np.ones(x.count, np.int64) if number is None else x.dense(number(x)).astype(np.int64)
        counts = np.ones(x.count, np.int64) if expects else given
        places = shared_places(x, i, address(x), generic, "sync")
        over = np.zeros(x.count, np.bool_)

        def change(x: Context, word: int, row: int) -> int:
            state = State.unpack(word)
            assert state is not None
            if expects:
                state.bytes += int(given[row])
            count = int(counts[row])
            if drops:
                state.expected = max(0, state.expected - 1)
            over[row] = count > state.pending
            state.pending = max(0, state.pending - count)
            x.batch.launch.watch.mbarrier_arrive(x, int(places[row]), row)
            if state.advance():
                x.batch.launch.watch.mbarrier_complete(x.batch, int(places[row]))
            return state.pack()

        old = change_each(x, i, places, change)
        if over.any():
            x.report(i, "mbarrier", "more arrivals than the mbarrier expects in this phase", over)
        if write is not None:
            write(x, old)
        machine.move(group, group.pc + 1, lanes)
        machine.poll()

    return step


@control("cp.async.mbarrier", section=MBARRIER + "; cp.async.mbarrier.arrive", kind="mbarrier")
def copy_arrive(i: Instruction, d: Decoder) -> Step:
    """Arrives at an mbarrier when all copies that the thread has started are complete.

    They are complete when somebody looks at the mbarrier: nobody may know earlier.
    """
    guard = d.guard(i)
    address, generic = object_address(i, d, i.operands[0])
    pays = i.has("noinc")

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        places = shared_places(x, i, address(x), generic, "sync")
        if not pays:  # without .noinc the arrival is one more than the object was made for
            change_each(x, i, places, _add_pending)
        copies = x.batch.copies
        for place in np.unique(places[places >= 0]).tolist():
            rows = np.flatnonzero(places == place)
            some = lanes.where(places == place)
            mine = copies.take(some)
            y = Context(machine.batch, group.frame, some)
            copies.defer(place, _later(y, i, place, len(rows), mine))
        machine.move(group, group.pc + 1, lanes)
        machine.poll()

    return step


def _add_pending(x: Context, word: int, row: int) -> int:
    state = State.unpack(word)
    assert state is not None
    state.pending += 1
    return state.pack()


def _later(x: Context, i: Instruction, place: int, count: int, copies: list[Copy]) -> Callable[[], None]:
    """The arrival of ``count`` lanes at an object, when their copies are complete."""

    def arrive_now() -> None:
        x.batch.copies.arrive(x, copies)
        watch = x.batch.launch.watch

        def change(x: Context, word: int, row: int) -> int:
            state = State.unpack(word)
            assert state is not None
            state.pending = max(0, state.pending - 1)
            watch.mbarrier_arrive(x, place, row)
            if state.advance():
                watch.mbarrier_complete(x.batch, place)
            return state.pack()

        change_each(x, i, np.full(count, place), change)

    return arrive_now


@instruction("mbarrier.pending_count", section=MBARRIER + ".pending_count", kind="mbarrier")
def pending_count(i: Instruction, d: Decoder) -> Run:
    """The pending arrivals in a state that arrive gave."""
    write, read = d.write(i.operands[0], TYPES["u32"]), d.read(i.operands[1], TYPES["u64"])
    return lambda x: write(x, (read(x) & np.uint64(COUNT)).astype(np.uint32))


def completed(x: Context, i: Instruction, places: Array, phase: Array, parity: bool) -> Array:
    """Whether the phase that a state, or a parity, means is over."""
    view = x.batch.shared.view(8)
    words = view[np.maximum(places, 0) // 8]
    bad = (places >= 0) & (words >> np.uint64(63) == 0)
    if bad.any():
        x.report(i, "mbarrier", "a wait on an object that is not initialised", bad)
    current = (words >> np.uint64(62)) & np.uint64(1)
    wanted = phase & np.uint64(1) if parity else (phase >> np.uint64(62)) & np.uint64(1)
    found: Array = (current != wanted) | bad | (places < 0)
    return found


@control("mbarrier.test_wait", "mbarrier.try_wait", section=MBARRIER + ".test_wait", kind="mbarrier")
def test_wait(i: Instruction, d: Decoder) -> Step:
    """Whether a phase is over; try_wait may suspend the thread until it is."""
    guard = d.guard(i)
    write = d.write(i.operands[0], TYPES["pred"])
    address, generic = object_address(i, d, i.operands[1])
    parity, blocks = i.has("parity"), i.has("try_wait")
    kind = TYPES["u32"] if parity else TYPES["u64"]
    phase = d.read(i.operands[2], kind)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        places = shared_places(x, i, address(x), generic, "sync")
        x.batch.copies.settle(places)
        done = completed(x, i, places, x.dense(phase(x)).astype(np.uint64), parity)
        x.batch.launch.watch.mbarrier_wait(x, places, done)
        if blocks and not done.all():
            late = lanes.where(~done)
            machine.sleep(Group(group.frame, group.pc, late), _changed(machine, places[~done]))
            if not done.any():
                return
            x.enter(lanes.where(done))
            done = np.ones(x.count, np.bool_)
        write(x, done)
        machine.move(group, group.pc + 1, x.lanes)

    return step


def _changed(machine: Machine, places: Array) -> Callable[[], bool]:
    """Whether any of the objects has changed since now."""
    at = np.maximum(places, 0) // 8
    view = machine.batch.shared.view(8)
    before = view[at]
    return lambda: bool((view[at] != before).any())
