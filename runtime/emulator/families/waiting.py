"""Waits for phases of an mbarrier. Section 9.7.13.15 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..mbarriers import MARK, PHASE, report
from ..ptx import TYPES, Array, Instruction
from ..registry import Step, control
from .control import taken
from .mbarrier import MBARRIER, by_place, object_place, states


def completed(x: Context, i: Instruction, places: Array, phase: Array, parity: bool) -> Array:
    """Whether the phase that a state, or a parity, means is over."""
    done = np.ones(x.count, np.bool_)
    waited = x.batch.objects.waited
    index = x.lanes.index
    for place, state, rows in states(x, i, places):
        now, mine = state.phase, index[rows]
        if parity:
            over = (phase[rows] & np.uint64(1)) != now & 1
        else:
            wanted = (phase[rows] & np.uint64(MARK - 1)) >> np.uint64(PHASE)
            over = wanted < now
            old = (wanted != now) & (wanted + np.uint64(1) != now)
            if old.any():
                detail = f"a state of phase {int(wanted[old][0])}, and {now} are over: only the phase that"
                detail += " goes on and the one before can be waited for"
                report(x, i, rows[old], detail, "mbarrier-phase")
        again = waited[0, mine] == place
        missed = again & (waited[1, mine] + 1 < now)
        if missed.any():
            detail = "the phase that was waited for is over, and so is another: nobody waits for this thread"
            report(x, i, rows[missed], detail, "mbarrier-phase")
            over = over | missed
        waited[0, mine] = np.where(over, -1, place)
        waited[1, mine] = np.where(again, waited[1, mine], now)
        done[rows] = over
    return done


@control("mbarrier.test_wait", "mbarrier.try_wait", section=MBARRIER + ".test_wait", kind="mbarrier")
def test_wait(i: Instruction, d: Decoder) -> Step:
    """Whether a phase is over; try_wait may suspend the thread until it is, or for some time only.

    That time is over when nobody else can go on, and in the schedule ``random`` at any time: once for each
    phase.
    """
    guard = d.guard(i)
    write = d.write(i.operands[0], TYPES["pred"])
    place_of = object_place(i, d, i.operands[1])
    parity, blocks, relaxed = i.has("parity"), i.has("try_wait"), i.has("relaxed")
    kind = TYPES["u32"] if parity else TYPES["u64"]
    phase = d.read(i.operands[2], kind)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        places = place_of(x, "sync")
        stays = _refused(x, places) if blocks else np.zeros(x.count, np.bool_)
        waits = blocks and (stays.any() or not machine.hasty())
        if waits or not blocks:
            x.batch.copies.settle(places)
        done = completed(x, i, places, x.dense(phase(x)).astype(np.uint64), parity)
        if not relaxed:
            x.batch.launch.watch.mbarrier_wait(x, places, done)
        if waits and not done.all():
            for late in (~done & stays, ~done & ~stays):
                if late.any():
                    _sleep(machine, Group(group.frame, group.pc, lanes.where(late)), places[late])
            if not done.any():
                return
            x.enter(lanes.where(done))
            done = np.ones(x.count, np.bool_)
        elif blocks:
            _refuse(x, places, ~done)
        write(x, done)
        machine.move(group, group.pc + 1, x.lanes)

    def _sleep(machine: Machine, group: Group, places: Array) -> None:
        """Lanes are suspended; all of them have been refused before, or none."""
        x = Context(machine.batch, group.frame, group.lanes)
        ready, why = _waits(machine, places)

        def give_up() -> bool:
            if _refused(x, places).any():
                return False
            every = np.ones(x.count, np.bool_)
            _refuse(x, places, every)
            write(x, ~every)
            machine.move(group, group.pc + 1)
            return True

        machine.sleep(group, ready, why, give_up)

    return step


def _refused(x: Context, places: Array) -> Array:
    """Which lanes have been told that the phase is not over."""
    found = np.zeros(x.count, np.bool_)
    objects = x.batch.objects
    for place, rows in by_place(places):
        if place in objects.states:
            found[rows] = objects.refused(place)[x.lanes.index[rows]]
    return found


def _refuse(x: Context, places: Array, late: Array) -> None:
    """These lanes are told."""
    for place, rows in by_place(places):
        if place in x.batch.objects.states:
            x.batch.objects.refused(place)[x.lanes.index[rows[late[rows]]]] = True


def _waits(machine: Machine, places: Array) -> tuple[Callable[[], bool], Callable[[], tuple[str, str]]]:
    """Whether there is news of any of the objects, and what they lack: a kind of finding, and words."""
    objects, deferred = machine.batch.objects.states, machine.batch.copies.deferred
    before = {place: objects[place].phase for place, _ in by_place(places)}

    def ready() -> bool:
        return any(
            place in deferred or place not in objects or objects[place].phase != phase
            for place, phase in before.items()
        )

    def why() -> tuple[str, str]:
        for place in before:
            state = objects.get(place)
            if state is None:
                continue
            if state.bytes and not state.pending:
                more = "bytes that no copy brings" if state.bytes > 0 else "bytes too many that came"
                return "transaction-count", f"an mbarrier with {abs(state.bytes)} {more}"
            if state.pending:
                return "deadlock", f"an mbarrier with {state.pending} arrivals to come"
        return "deadlock", "an mbarrier"

    return ready, why
