"""Runs a batch of blocks: groups of lanes at one instruction each, barriers, and who goes next.

A *group* is the lanes of a frame that stand at the same instruction. It runs straight on to the
next branch, barrier or label; there it is split, parked or merged with whom it meets. A *unit* is
a set of lanes that is scheduled as one: all lanes of the batch in the schedule ``together`` (the
fast one), a warp in the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .barriers import Barriers
from .batch import Batch, Frame
from .cluster_barrier import ClusterBarrier
from .context import Context
from .ending import report_left
from .lanes import Lanes
from .ptx import Instruction
from .stuck import report_stuck

FAIR = 256  # so many turns in a row may go to the groups in front before the others get one
PATIENCE = 1024  # turns of a warp that runs ahead: it may wait for another one
SCHEDULES = ("together", "round-robin", "ahead", "random")


class Group:
    """Lanes of a frame at one instruction."""

    __slots__ = ("frame", "lanes", "pc")

    def __init__(self, frame: Frame, pc: int, lanes: Lanes) -> None:
        self.frame = frame
        self.pc = pc
        self.lanes = lanes

    @property
    def key(self) -> tuple[int, int, str]:
        """Its place in the order: the deepest calls first, then by the order of the instructions."""
        program = self.frame.program
        return (-self.frame.depth, program.order[self.pc], program.name)


@dataclass(frozen=True, slots=True)
class Sleeper:
    """A group that is kept until ``ready`` says that it may look again.

    ``why`` says what it waits for: the kind of finding if that never comes, and words. ``give_up`` lets
    the group go on without it, or gives False.
    """

    group: Group
    ready: Callable[[], bool]
    why: Callable[[], tuple[str, str]]
    give_up: Callable[[], bool]


class Unit:
    """Groups that are scheduled as one."""

    def __init__(self) -> None:
        self.groups: dict[tuple[int, int, str], Group] = {}
        self.turns = 0

    def add(self, group: Group) -> None:
        key = group.key
        known = self.groups.get(key)
        if known is not None:
            known.lanes = known.lanes.merge(group.lanes)
        else:
            self.groups[key] = group

    def take(self) -> Group:
        """The group whose turn it is."""
        groups = self.groups
        if len(groups) == 1:
            return groups.popitem()[1]
        self.turns += 1
        if self.turns % FAIR:
            return groups.pop(min(groups))
        oldest = next(iter(groups))
        return groups.pop(oldest)


class Machine:
    """Runs the lanes of one batch to their ends."""

    def __init__(self, batch: Batch, schedule: str, seed: int, limit: int) -> None:
        self.batch = batch
        self.shape = batch.shape
        self.limit = limit
        self.together = schedule == "together"
        self.units = [Unit() for _ in range(1 if self.together else batch.shape.warps)]
        self.choose = _choosers(schedule, random.Random(seed), self.units)
        self.budget = random.Random(seed + 1) if schedule == "random" else None
        self.barriers = Barriers(self)
        self.cluster_barrier = ClusterBarrier(self)
        self.parked: dict[tuple[int, tuple[int, int, str]], Group] = {}
        self.sleeping: list[Sleeper] = []
        self.hurried: set[int] = set()  # instructions that somebody has not waited at

    def run(self) -> None:
        """Until all lanes have ended, or none can go on."""
        batch = self.batch
        entry = batch.frame(batch.launch.program, 0)
        self.place(Group(entry, 0, self.shape.everyone))
        steps = 0
        while batch.alive_count:
            unit = self.choose()
            if unit is None:
                if self.give_up():
                    continue
                report_stuck(self)
                return
            self.execute(unit.take())
            steps += 1
            if steps > self.limit:
                report_stuck(self, endless=True)
                return
        report_left(batch)

    def execute(self, group: Group) -> None:
        """Run a group to the end of its straight run of instructions."""
        program = group.frame.program
        pc, lanes = group.pc, group.lanes
        if pc >= len(program.ends):
            self.exit(lanes)
            return
        end = program.ends[pc]
        stop = end if self.budget is None else min(end, pc + self.budget.randrange(1, 9))
        x = Context(self.batch, group.frame, lanes)
        for run in program.body[pc:stop]:
            run(x)  # type: ignore[misc]
        if stop > pc:
            program.lanes_run[pc:stop] += lanes.count
            program.warps_run[pc:stop] += lanes.warps
        group.pc = stop
        step = program.control[stop] if stop == end and end < len(program.ends) else None
        if step is None or (stop > pc and stop in program.joins):
            self.place(group)
            return
        program.lanes_run[end] += lanes.count
        program.warps_run[end] += lanes.warps
        self.batch.launch.clock += 1 + stop - pc
        step(self, group)

    # -- groups --------------------------------------------------------------------------------

    def place(self, group: Group) -> None:
        """Let a group run from its instruction on."""
        if self.together:
            self.units[0].add(group)
            return
        for warp, lanes in split(group.lanes, group.lanes.warp):
            self.units[warp].add(Group(group.frame, group.pc, lanes))

    def move(self, group: Group, pc: int, lanes: Lanes | None = None) -> None:
        """Let these lanes of a group run on at another instruction of its function."""
        self.place(Group(group.frame, pc, group.lanes if lanes is None else lanes))

    def part(self, group: Group, mask: np.ndarray) -> tuple[Lanes | None, Lanes | None]:
        """The lanes for which ``mask`` holds, and the others; None where there are none."""
        if mask.all():
            return group.lanes, None
        if not mask.any():
            return None, group.lanes
        return group.lanes.where(mask), group.lanes.where(~mask)

    def exit(self, lanes: Lanes) -> None:
        """These lanes have ended: who waits for them need not any more."""
        self.batch.exit(lanes)
        self.wake()
        self.barriers.recheck()
        self.cluster_barrier.recheck()

    def wake(self) -> None:
        """Let the parked groups look again whether they may go on."""
        parked, self.parked = self.parked, {}
        for group in parked.values():
            program = group.frame.program  # it was counted when it came
            program.lanes_run[group.pc] -= group.lanes.count
            program.warps_run[group.pc] -= group.lanes.warps
            self.place(group)

    def poll(self) -> bool:
        """Let those go on that wait for memory and find it as they wish."""
        if not self.sleeping:
            return False
        waiting, self.sleeping = self.sleeping, []
        woken = False
        for sleeper in waiting:
            if sleeper.ready():
                self.place(sleeper.group)
                woken = True
            else:
                self.sleeping.append(sleeper)
        return woken

    def hasty(self, instruction: Instruction) -> bool:
        """Whether who may wait or go on goes on; in ``random`` by chance, but for who is there first."""
        first = id(instruction) not in self.hurried
        self.hurried.add(id(instruction))
        return self.budget is None or first or self.budget.random() < 0.5

    def give_up(self) -> bool:
        """Nobody can go on: let those go on without what they wait for that may; says whether any does."""
        waiting, self.sleeping = self.sleeping, []
        self.sleeping += [sleeper for sleeper in waiting if not sleeper.give_up()]
        return len(self.sleeping) < len(waiting)

    def sleep(
        self,
        group: Group,
        ready: Callable[[], bool],
        why: Callable[[], tuple[str, str]],
        give_up: Callable[[], bool] = lambda: False,
    ) -> None:
        """Keep a group, see `Sleeper`."""
        self.sleeping.append(Sleeper(group, ready, why, give_up))

    def _unit(self, lanes: Lanes, width: int) -> int:
        """A number for those of so many warps that meet each other."""
        block, inside = divmod(int(lanes.warp[0]), self.shape.warps_in_block)
        return 0 if self.together else block * self.shape.warps_in_block + inside // width

    def park(self, group: Group, lanes: Lanes, width: int = 1) -> None:
        """Keep lanes at a group's instruction until others of their ``width`` warps arrive there."""
        unit = self._unit(lanes, width)
        key = (unit, group.key)
        known = self.parked.get(key)
        self.parked[key] = Group(group.frame, group.pc, known.lanes.merge(lanes) if known else lanes)

    def unpark(self, group: Group, width: int = 1) -> Group:
        """A group with the lanes that are parked at its instruction."""
        if not self.parked:
            return group
        known = self.parked.pop((self._unit(group.lanes, width), group.key), None)
        return group if known is None else Group(group.frame, group.pc, known.lanes.merge(group.lanes))

    def gather(self, group: Group, lanes: Lanes) -> Lanes | None:
        """Those of a group's lanes whose warps are whole; others are kept until the rest has come."""
        group = self.unpark(Group(group.frame, group.pc, lanes))
        missing = (self.batch.alive_in_warp & ~group.lanes.present)[group.lanes.warp] != 0
        here, early = self.part(group, ~missing)
        if early is not None:
            self.park(group, early)
        return here


def split(lanes: Lanes, by: np.ndarray) -> Iterable[tuple[int, Lanes]]:
    """The lanes by the value that ``by`` has for each."""
    if len(by) and (by == by[0]).all():
        yield int(by[0]), lanes
        return
    for value in np.unique(by):
        yield int(value), lanes.where(by == value)


def _choosers(schedule: str, chance: random.Random, units: list[Unit]) -> Callable[[], Unit | None]:
    """The function that says which unit goes next; None when no group can run."""
    if schedule == "together":
        return lambda: units[0] if units[0].groups else None
    place = 0

    def round_robin() -> Unit | None:
        nonlocal place
        for ahead in range(1, len(units) + 1):
            unit = units[(place + ahead) % len(units)]
            if unit.groups:
                place = (place + ahead) % len(units)
                return unit
        return None

    turns = 0

    def ahead() -> Unit | None:
        nonlocal place, turns
        turns += 1
        if turns > PATIENCE or not units[place].groups:
            turns = 0
            return round_robin()
        return units[place]

    def at_random() -> Unit | None:
        ready = [unit for unit in units if unit.groups]
        return chance.choice(ready) if ready else None

    return {"round-robin": round_robin, "ahead": ahead, "random": at_random}[schedule]
