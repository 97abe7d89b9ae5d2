"""Waits for phases of an mbarrier. Section 9.7.13.15 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..machine import Group, Machine
from ..mbarriers import MARK, NEVER, PHASE, report
from ..ptx import TYPES, Array, Instruction
from ..registry import Step, control
from .control import taken
from .mbarrier import MBARRIER, by_place, object_place, states


def _sought(x: Context, places: Array, phase: Array, *, parity: bool) -> tuple[Array, Array]:
    """The phases that states or parities mean; for which each lane has looked in vain last.

    A parity means the phase that goes on, or the one before.
    """
    sought, before = np.full((2, x.count), NEVER)
    for place, rows in by_place(places):
        state = x.batch.objects.states.get(place)
        if state is not None:
            mine, now = phase[rows].astype(np.int64), state.phase
            sought[rows] = now - ((mine ^ now) & 1) if parity else (mine & (MARK - 1)) >> PHASE
            before[rows] = state.in_vain[x.lanes.take(x.batch.shape.thread)[rows]]
    return sought, before


def _remember(x: Context, places: Array, sought: Array) -> None:
    """Lanes have looked in vain for these phases."""
    for place, rows in by_place(places):
        state = x.batch.objects.states.get(place)
        if state is not None:
            state.in_vain[x.lanes.take(x.batch.shape.thread)[rows]] = sought[rows]


def _seen(
    x: Context, i: Instruction, places: Array, sought: Array, before: Array, early: Array, *, parity: bool
) -> Array:
    """Whether lanes see that the phases that they have ``sought`` are over; who looks ``early`` may not.

    A lane that has looked in vain for a phase of the same parity still means that one, unless it knows
    otherwise that it is over.
    """
    done = np.ones(x.count, np.bool_)
    for place, state, rows in states(x, i, places):
        now, mine, last = state.phase, sought[rows], before[rows]
        over = mine < now
        old = mine + 1 < now
        if old.any():
            detail = f"a state of phase {int(mine[old][0])}, and {now} are over: only the phase that"
            detail += " goes on and the one before can be waited for"
            report(x, i, rows[old], detail, "mbarrier-phase")
        missed = ~over & (last != NEVER) & (last < mine) & ((mine - last) % 2 == 0) & parity
        hasty = over & early[rows] & (now > 0)
        if missed.any() or hasty.any():
            known = x.batch.launch.watch.mbarrier_known(x, place, rows)
            missed &= ~known
            over &= known | ~hasty
        if missed.any():
            detail = "the phase that was waited for is over, and so is another: nobody waits for this thread"
            report(x, i, rows[missed], detail, "mbarrier-phase")
        done[rows] = over | missed
    return done


@control("mbarrier.test_wait", "mbarrier.try_wait", section=MBARRIER + ".test_wait", kind="mbarrier")
def test_wait(i: Instruction, d: Decoder) -> Step:
    """Whether a phase is over; try_wait may suspend the thread until it is, or for some time only.

    A lane's first look at a phase comes too early, unless the lane knows by other ways that it is over. In
    the schedule ``random`` that holds for the first look at an instruction, and for some others; a try_wait
    gives up there when nobody else can go on.
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
        places, phases = place_of(x, "sync"), x.dense(phase(x))
        sought, before = _sought(x, places, phases, parity=parity)
        again = sought == before
        early = ~again & machine.hasty(i)
        if not early.all():
            x.batch.copies.settle(places)
            sought, _ = _sought(x, places, phases, parity=parity)
        done = _seen(x, i, places, sought, before, early, parity=parity)
        if not relaxed:
            x.batch.launch.watch.mbarrier_wait(x, places, done)
        stays = ~done & ~early & blocks
        for told in (True, False):
            late = stays & (again == told)
            if late.any():
                _sleep(machine, Group(group.frame, group.pc, lanes.where(late)), places[late], told=told)
        if stays.all():
            return
        goes = ~stays
        x.enter(lanes.where(goes))
        _remember(x, places[goes], np.where(done, NEVER, sought)[goes])
        write(x, done[goes])
        machine.move(group, group.pc + 1, x.lanes)

    def _sleep(machine: Machine, group: Group, places: Array, *, told: bool) -> None:
        """Lanes are suspended: all of them have been ``told`` before that the phase is not over, or none."""
        x = Context(machine.batch, group.frame, group.lanes)
        ready, why = _waits(machine, places)

        def give_up() -> bool:
            if told:
                return False
            sought, _ = _sought(x, places, x.dense(phase(x)), parity=parity)
            _remember(x, places, sought)
            write(x, np.zeros(x.count, np.bool_))
            machine.move(group, group.pc + 1)
            return True

        machine.sleep(group, ready, why, give_up)

    return step


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
