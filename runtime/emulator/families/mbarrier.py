"""mbarrier: barriers in shared memory, and arrivals at them. Section 9.7.13.15 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import access
from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..mbarriers import COUNT, NEVER, State, advance, arrivals, report, transact
from ..memory import SHARED_WINDOW
from ..operands import Read
from ..ptx import TYPES, Array, Instruction, Memory, Name, Operand
from ..registry import Run, Step, control, instruction
from .control import taken
from .memory import memory_space

MBARRIER = "9.7.13.15 Parallel Synchronization and Communication: mbarrier"
Place = Callable[[Context, str], Array]


def object_place(i: Instruction, d: Decoder, operand: Operand, *, remote: bool = False) -> Place:
    """Byte offsets of mbarrier objects in the batch's shared memory; -1 for bad addresses.

    ``remote`` says that they may be another block's of the cluster.
    """
    if not isinstance(operand, Memory):
        raise d.fail("an address in brackets is expected")
    space = memory_space(i, d, operand)
    if space in ("global", "local"):
        raise d.fail("outside of shared memory")
    address: Read = d.address(operand)
    where = "shared::cluster" if remote and space != "shared" else "shared"

    def places(x: Context, kind: str) -> Array:
        inside = address(x)
        if space == "generic":
            inside = inside - np.uint64(SHARED_WINDOW)
        parts = access.resolve(x, i, where, inside, 8)
        out = np.full(x.count, -1, np.int64)
        for part in parts:
            out[slice(None) if part.rows is None else part.rows] = part.addresses.view(np.int64)
        x.batch.launch.watch.access(x, i, "shared", kind, inside, 8, parts)
        return out

    return places


def by_place(places: Array) -> list[tuple[int, Array]]:
    """The good places, each with the rows that have it."""
    first = int(places[0])
    if (places == first).all():
        return [(first, np.arange(len(places)))] if first >= 0 else []
    return [(place, np.flatnonzero(places == place)) for place in np.unique(places[places >= 0]).tolist()]


def states(x: Context, i: Instruction, places: Array) -> list[tuple[int, State, Array]]:
    """The objects at some places, each with its rows; reports those that are not initialised for a lane."""
    found: list[tuple[int, State, Array]] = []
    for place, rows in by_place(places):
        state = x.batch.objects.states.get(place)
        if state is None:
            report(x, i, rows, f"{i.opcode}.{i.mods[0]} on an object that is not initialised")
            continue
        found.append((place, state, rows))
        late = x.batch.launch.watch.mbarrier_unknown(x, rows, state)
        if late.any():
            detail = "the initialisation of the mbarrier is not ordered before this: a barrier is missing"
            if (x.lanes.block[rows] != state.block).any():
                detail += ", of the cluster, with .release or behind fence.mbarrier_init"
            report(x, i, rows[late], detail)
    return found


@instruction("mbarrier.init", section=MBARRIER + ".init", kind="mbarrier")
def init(i: Instruction, d: Decoder) -> Run:
    """Makes an mbarrier object for so many arrivals."""
    place_of = object_place(i, d, i.operands[0])
    count = d.read(i.operands[1], TYPES["u32"])

    def run(x: Context) -> None:
        expected = x.dense(count(x)).astype(np.int64)
        bad = (expected < 1) | (expected > COUNT)
        if bad.any():
            x.report(i, "mbarrier", f"a count of {int(expected[bad][0])}, not in 1…{COUNT}", bad)
        places = place_of(x, "store")
        batch = x.batch
        place_in_cluster = x.lanes.take(batch.shape.place)
        used = np.isin(places, list(batch.objects.states))
        if used.any():
            x.report(i, "mbarrier", "init of an object that is in use: mbarrier.inval comes first", used)
        time = batch.launch.watch.clock.now
        for row in np.flatnonzero(places >= 0).tolist():
            lane, block = int(x.lanes.index[row]), int(x.lanes.block[row])
            nobody = np.full(batch.shape.threads, NEVER)
            place = int(place_in_cluster[row])
            state = State(int(expected[row]) & COUNT, i, block, lane, place, time, nobody)
            batch.objects.add(int(places[row]), state)

    return run


@instruction("mbarrier.inval", section=MBARRIER + ".inval", kind="mbarrier")
def inval(i: Instruction, d: Decoder) -> Run:
    """Makes the memory of an mbarrier object free for other use."""
    place_of = object_place(i, d, i.operands[0])

    def run(x: Context) -> None:
        places = place_of(x, "store")
        for place, state, rows in states(x, i, places):
            if state.bytes or x.batch.copies.deferred.get(place):
                report(x, i, rows, "inval of an object at which copies have yet to arrive")
            x.batch.objects.remove(place)

    return run


@control("mbarrier.arrive", "mbarrier.arrive_drop", section=MBARRIER + ".arrive", kind="mbarrier")
def arrive(i: Instruction, d: Decoder) -> Step:
    """Arrives: one pending arrival less, or as many as a count says."""
    guard = d.guard(i)
    operands = list(i.operands)
    write = None if isinstance(operands[0], Memory) else d.write(operands[0], TYPES["b64"])
    sink = write is None or operands[0] == Name("_")
    if write is not None:
        operands.pop(0)
    if not sink and i.has("shared::cluster"):
        raise d.fail("with a state, of another block's object")
    place_of = object_place(i, d, operands.pop(0), remote=sink)
    expects, completes = i.has("expect_tx"), not i.has("noComplete")
    number = d.read(operands[0], TYPES["u32"]) if operands else None
    drops, relaxed = i.has("arrive_drop"), i.has("relaxed")
    if number is None and (expects or not completes):
        raise d.fail("with .expect_tx or .noComplete, and without a count")

    def one(x: Context, place: int, state: State, row: int, count: int) -> None:
        """One lane's arrivals."""
        if drops:
            state.expected -= count
        if count > state.pending:
            rows = np.array([row])
            report(x, i, rows, "more arrivals than the mbarrier expects in this phase")
        state.pending = max(0, state.pending - count)
        if not advance(x, place, state):
            return
        if not completes:
            report(x, i, np.array([row]), "an arrival with .noComplete that completes the phase")

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        given = np.ones(x.count, np.int64) if number is None else x.dense(number(x)).astype(np.int64)
        counts = np.ones(x.count, np.int64) if expects else given
        old = np.zeros(x.count, np.uint64)
        for place, state, rows in states(x, i, place_of(x, "sync")):
            if expects:
                transact(x, i, state, rows, int(given[rows].sum()))
            mine = counts[rows]
            if (mine < 1).any():
                report(x, i, rows[mine < 1], f"a count of {int(mine.min())}, not in 1…{COUNT}")
            before = np.cumsum(mine) - mine
            if before[-1] < state.pending:  # the last one may complete the phase, no other
                if not relaxed:
                    x.batch.launch.watch.mbarrier_arrive(x, place, rows)
                old[rows] = np.uint64(state.word()) - before.astype(np.uint64)
                state.pending -= int(before[-1])
                state.expected -= int(before[-1]) if drops else 0
                one(x, place, state, int(rows[-1]), int(mine[-1]))
                continue
            for row in arrivals(x, place, rows, tells=not relaxed):
                old[row] = state.word()
                one(x, place, state, row, int(counts[row]))
        if write is not None:
            write(x, old)
        machine.move(group, group.pc + 1, lanes)
        machine.poll()

    return step


@control("mbarrier.expect_tx", section=MBARRIER + ".expect_tx", kind="mbarrier")
def expect_tx(i: Instruction, d: Decoder) -> Step:
    """The phase waits for so many bytes more."""
    return _transaction(i, d, 1)


@control("mbarrier.complete_tx", section=MBARRIER + ".complete_tx", kind="mbarrier")
def complete_tx(i: Instruction, d: Decoder) -> Step:
    """So many bytes have come, says the thread itself."""
    return _transaction(i, d, -1)


def _transaction(i: Instruction, d: Decoder, sign: int) -> Step:
    guard = d.guard(i)
    place_of = object_place(i, d, i.operands[0], remote=True)
    number = d.read(i.operands[1], TYPES["u32"])

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        counts = x.dense(number(x)).astype(np.int64)
        for place, state, rows in states(x, i, place_of(x, "sync")):
            transact(x, i, state, rows, sign * int(counts[rows].sum()))
            advance(x, place, state)
        machine.move(group, group.pc + 1, lanes)
        machine.poll()

    return step


@instruction("mbarrier.pending_count", section=MBARRIER + ".pending_count", kind="mbarrier")
def pending_count(i: Instruction, d: Decoder) -> Run:
    """The pending arrivals in a state that arrive gave."""
    write, read = d.write(i.operands[0], TYPES["u32"]), d.read(i.operands[1], TYPES["u64"])
    return lambda x: write(x, (read(x) & np.uint64(COUNT)).astype(np.uint32))
