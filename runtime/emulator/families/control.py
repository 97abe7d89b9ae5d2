"""Branches, calls, returns, and the end of a thread."""

from __future__ import annotations

import numpy as np

from ..batch import Frame
from ..builtins import BUILTINS
from ..context import Context
from ..decode import Decoder
from ..lanes import Lanes
from ..machine import Group, Machine, split
from ..operands import Read
from ..ptx import TYPES, Arguments, Instruction, Name, Operand
from ..registry import Step, control

FLOW = "9.7.12 Control Flow"


@control("bra", section=FLOW + ": bra")
def bra(i: Instruction, d: Decoder) -> Step:
    """Goes to a label."""
    target, guard = d.label(i, i.operands[0]), d.guard(i)

    def step(machine: Machine, group: Group) -> None:
        if guard is None:
            machine.move(group, target)
            return
        x = Context(machine.batch, group.frame, group.lanes)
        yes, no = machine.part(group, x.dense(guard(x)))
        if yes is not None:
            machine.move(group, target, yes)
        if no is not None:
            machine.move(group, group.pc + 1, no)

    return step


@control("brx", section=FLOW + ": brx.idx")
def brx(i: Instruction, d: Decoder) -> Step:
    """Goes to one of a list of labels."""
    read, guard = d.read(i.operands[0], TYPES["u32"]), d.guard(i)
    targets = d.label_list(i, i.operands[1])

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        index = x.dense(read(x))
        bad = index >= len(targets)
        if bad.any():
            x.report(i, "trap", f"an index outside of the {len(targets)} targets", bad)
            index = np.minimum(index, np.uint32(len(targets) - 1))
        for number, some in split(lanes, index):
            machine.move(group, targets[number], some)

    return step


def taken(machine: Machine, group: Group, guard: Read | None) -> Lanes | None:
    """The lanes whose guard holds; the others go on behind the instruction."""
    if guard is None:
        return group.lanes
    x = Context(machine.batch, group.frame, group.lanes)
    yes, no = machine.part(group, x.dense(guard(x)))
    if no is not None:
        machine.move(group, group.pc + 1, no)
    return yes


@control("exit", section=FLOW + ": exit")
def exit_(i: Instruction, d: Decoder) -> Step:
    """Ends the thread."""
    guard = d.guard(i)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is not None:
            machine.exit(lanes)

    return step


@control("trap", section="9.7.19 Miscellaneous: trap")
def trap(i: Instruction, d: Decoder) -> Step:
    """Ends the kernel with an error."""
    guard = d.guard(i)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is not None:
            x = Context(machine.batch, group.frame, lanes)
            x.report(i, "trap", "the kernel executed trap", np.ones(lanes.count, np.bool_))
            machine.exit(lanes)

    return step


@control("ret", section=FLOW + ": ret")
def ret(i: Instruction, d: Decoder) -> Step:
    """Returns from a function; from a kernel it ends the thread."""
    guard = d.guard(i)

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        if group.frame.depth == 0:
            machine.exit(lanes)
            return
        sites = machine.batch.sites[group.frame.depth]
        for number, some in split(lanes, lanes.take(sites)):
            machine.batch.launch.call_sites[number].back(machine, group.frame, some)

    return step


class CallSite:
    """A call: what goes in, what comes out, where to go on."""

    def __init__(self, i: Instruction, d: Decoder, at: int) -> None:
        operands = list(i.operands)
        self.program = d.program
        self.at = at
        self.instruction = i
        self.outs: tuple[Operand, ...] = ()
        self.ins: tuple[Operand, ...] = ()
        if isinstance(operands[0], Arguments):
            self.outs = operands.pop(0).items  # type: ignore[union-attr]
        self.callee = operands[0]
        if len(operands) > 1 and isinstance(operands[1], Arguments):
            self.ins = operands[1].items
        self.number = d.loaded.next_site()
        self.decoder = d

    def enter(self, machine: Machine, group: Group, lanes: Lanes, name: str) -> None:
        """Copy the arguments to the frame of function ``name``, and go there."""
        batch, caller = machine.batch, group.frame
        batch.launch.call_sites[self.number] = self
        program = batch.launch.loaded.program(name)
        depth = caller.depth + 1
        if depth >= batch.launch.depth:
            x = Context(batch, caller, lanes)
            x.report(
                self.instruction, "trap", f"calls nest deeper than {depth}", np.ones(lanes.count, np.bool_)
            )
            machine.exit(lanes)
            return
        frame = batch.frame(program, depth)
        for register in program.tracked:
            if register in frame.defined:
                frame.defined[register][lanes.index] = False
        if frame.program.frame_size:
            _forget(machine, frame, lanes)
        for source, parameter in zip(self.ins, program.function.params, strict=True):
            _copy(machine, caller, source, frame, Name(parameter.name), lanes, parameter.size)
        sites = batch.sites.setdefault(depth, np.zeros(batch.shape.lanes, np.int64))
        sites[lanes.index] = self.number
        machine.place(Group(frame, 0, lanes))

    def back(self, machine: Machine, frame: Frame, lanes: Lanes) -> None:
        """Copy the results to the caller's frame, and go on there."""
        caller = machine.batch.frame(self.program, frame.depth - 1)
        for target, result in zip(self.outs, frame.program.function.returns, strict=True):
            _copy(machine, frame, Name(result.name), caller, target, lanes, result.size)
        machine.place(Group(caller, self.at + 1, lanes))


def _columns(machine: Machine) -> np.ndarray:
    return machine.batch.local.data.reshape(-1, machine.batch.local_size)


def _written(machine: Machine) -> np.ndarray:
    written = machine.batch.local.written
    assert written is not None
    return written.reshape(-1, machine.batch.local_size)


def _forget(machine: Machine, frame: Frame, lanes: Lanes) -> None:
    """The variables of a new frame have no values."""
    _written(machine)[lanes.index, frame.base : frame.base + frame.program.frame_size] = 0


def _copy(
    machine: Machine, source: Frame, what: Operand, target: Frame, to: Operand, lanes: Lanes, size: int
) -> None:
    """Copy a parameter from a frame to another, in registers or in memory."""
    assert isinstance(what, Name) and isinstance(to, Name)
    here = source.program.layout.get(what.text)
    there = target.program.layout.get(to.text)
    if here is not None and there is not None:
        for bytes_of in (_columns(machine), _written(machine)):
            values = bytes_of[lanes.index, source.base + here : source.base + here + size]
            bytes_of[lanes.index, target.base + there : target.base + there + size] = values
        return
    registers = list(source.program.function.registers)
    number = registers.index(what.text)
    goal = list(target.program.function.registers).index(to.text)
    if target.regs[goal] is None:
        target.regs[goal] = np.zeros(machine.shape.lanes, target.program.dtypes[goal])
    target.regs[goal][lanes.index] = source.regs[number][lanes.index]


@control("call", section=FLOW + ": call")
def call(i: Instruction, d: Decoder) -> Step:
    """Calls a function, by its name or by its address."""
    guard = d.guard(i)
    site = CallSite(i, d, d.at)
    callee = site.callee
    if isinstance(callee, Name) and not d.is_register(callee):
        return _direct(d, site, callee.text, guard)
    read = d.read(callee, TYPES["u64"])
    d.program.calls += [name for name, f in d.loaded.module.functions.items() if f.body and not f.entry]

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        x = Context(machine.batch, group.frame, lanes)
        for address, some in split(lanes, x.dense(read(x))):
            name = d.loaded.name_at(address)
            if name is None:
                y = Context(machine.batch, group.frame, some)
                y.report(i, "trap", f"a call to {address:#x}, no function", np.ones(some.count, np.bool_))
                machine.exit(some)
            else:
                site.enter(machine, group, some, name)

    return step


def _direct(d: Decoder, site: CallSite, name: str, guard: Read | None) -> Step:
    function = d.loaded.module.functions.get(name)
    builtin = BUILTINS.get(name)
    if function is not None and function.body:
        d.program.calls.append(name)
    elif builtin is None:
        raise d.fail(f"function {name!r}, which the module does not define")

    def step(machine: Machine, group: Group) -> None:
        lanes = taken(machine, group, guard)
        if lanes is None:
            return
        if function is not None and function.body:
            site.enter(machine, group, lanes, name)
            return
        assert builtin is not None
        builtin(machine, group, lanes, site.instruction, site.ins, site.outs)

    return step
