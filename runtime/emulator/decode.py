"""A function of a module, decoded once into closures: what `Machine` runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arity, modifiers, needs, registry, sections
from .context import Context
from .definite import maybe_unset
from .errors import EmulatorError, unsupported
from .flow import weak_topological_order
from .operands import Read
from .ptx import (
    TYPES,
    Array,
    Function,
    Instruction,
    Name,
    Not,
    Operand,
)
from .registry import Entry, Run, Step
from .symbols import Symbols

if TYPE_CHECKING:
    from .loaded import Loaded

# What the families run into where an operand is of another kind than the ISA says.
_MALFORMED = (KeyError, IndexError, AttributeError, TypeError, ValueError, StopIteration, AssertionError)
_LACKS = "this form of it, which lacks a modifier or has an operand of another kind"
ENDS = {"exit", "ret", "trap"}  # no instruction follows, unless they are guarded


@dataclass(slots=True)
class Program:
    """A decoded function. ``order`` ranks its instructions; ``ends`` is where a straight run stops.

    At ``joins`` lanes may come from elsewhere: who runs into one lets the others come, too.
    """

    name: str
    function: Function
    dtypes: list[np.dtype[Any]] = field(default_factory=list)
    body: list[Run | None] = field(default_factory=list)
    control: list[Step | None] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    joins: frozenset[int] = frozenset()
    kinds: list[str] = field(default_factory=list)
    layout: dict[str, int] = field(default_factory=dict)
    frame_size: int = 0
    calls: list[str] = field(default_factory=list)
    tracked: list[int] = field(default_factory=list)
    awaited: int = 0  # how many registers wgmma uses
    lanes_run: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    warps_run: Array = field(default_factory=lambda: np.zeros(0, np.int64))


class Decoder(Symbols):
    """Decodes one function; the families of instructions ask it for their operands."""

    def __init__(self, loaded: Loaded, function: Function) -> None:
        super().__init__(loaded, function, Program(function.name, function), maybe_unset(function))
        self._lay_out()

    def _lay_out(self) -> None:
        """Give the variables of the function their places in local memory, or its kernel's shared memory."""
        place = 0
        for variable in self.function.variables.values():
            if variable.space == "shared":
                continue
            if self.function.entry and variable in self.function.params:
                continue
            place = -(-place // variable.align) * variable.align
            self.program.layout[variable.name] = place
            place += variable.size
        self.program.frame_size = -(-place // 16) * 16
        registers = self.function.registers
        wide = next((name for name, kind in registers.items() if kind.bits > 64), "")
        if wide:
            raise EmulatorError(
                f"the emulator has no registers of 128 bits: {wide}", where=f"function {self.function.name}"
            )
        self.program.dtypes = [kind.raw for kind in registers.values()]

    # -- decoding ------------------------------------------------------------------------------

    def decode(self) -> Program:
        """Decode every instruction. Raises `UnsupportedInstructionError` for what no family defines."""
        program, code = self.program, self.function.code
        program.tracked = [self.index[name] for name in self.unset if name in self.index]
        program.awaited = len(self.awaited)
        for at, instruction in enumerate(code):
            self.at, self.instruction = at, instruction
            entry = self.entry = registry.find(instruction)
            if entry is None:
                raise unsupported(instruction, sections.section(instruction))
            program.kinds.append(entry.kind)
            count = arity.odd(entry.opcode, instruction)
            if count:
                raise self.fail(count)
            try:
                self._decode_one(program, instruction, entry)
            except _MALFORMED as error:
                raise self.fail(modifiers.odd(entry.opcode, instruction) or _LACKS) from error
            odd = modifiers.odd(entry.opcode, instruction)
            if odd:
                raise self.fail(odd)
            needs.check_instruction(instruction, self.loaded.module)
        program.lanes_run = np.zeros(len(code), np.int64)
        program.warps_run = np.zeros(len(code), np.int64)
        self._arrange(program)
        return program

    def _decode_one(self, program: Program, instruction: Instruction, entry: Entry) -> None:
        guard = self.guard(instruction)
        if entry.control is not None:
            program.body.append(None)
            program.control.append(entry.control(instruction, self))
            return
        assert entry.decode is not None
        run = entry.decode(instruction, self)
        if entry.sync:
            from .synchronize import synchronized

            program.body.append(None)
            program.control.append(synchronized(instruction, self, run, guard))
            return
        program.body.append(run if guard is None else _guarded(run, guard, program, self.at))
        program.control.append(None)

    def guard(self, instruction: Instruction) -> Read | None:
        """Reads the predicate under which an instruction runs."""
        guard = instruction.guard
        if guard is None:
            return None
        if isinstance(guard, Not):
            read = self.read(guard.name, TYPES["pred"])
            return lambda x: ~read(x)
        return self.read(guard, TYPES["pred"])

    def _arrange(self, program: Program) -> None:
        """Find the basic blocks, their order, and where straight runs of instructions stop."""
        code, function = self.function.code, self.function
        program.joins = frozenset(function.labels.values())
        leaders = {0, *program.joins}
        leaders |= {at + 1 for at, step in enumerate(program.control) if step is not None}
        starts = sorted(start for start in leaders if start < len(code))
        number = {start: block for block, start in enumerate(starts)}
        limits = [*starts[1:], len(code)]
        successors: list[list[int]] = []
        for limit in limits:
            last = limit - 1
            targets = [number[target] for target in self.targets(code[last]) if target < len(code)]
            if self.falls_through(code[last]) and limit < len(code):
                targets.insert(0, number[limit])
            successors.append(targets)
        program.order = [0] * (len(code) + 1)
        rank = 0
        placed = weak_topological_order(successors) if starts else []
        for block in placed + [block for block in range(len(starts)) if block not in set(placed)]:
            for at in range(starts[block], limits[block]):
                program.order[at] = rank
                rank += 1
        program.order[len(code)] = rank
        program.ends = [0] * len(code)
        for start, limit in zip(starts, limits, strict=True):
            last = limit - 1 if program.control[limit - 1] is not None else limit
            for at in range(start, limit):
                program.ends[at] = last

    def targets(self, instruction: Instruction) -> list[int]:
        """Where a branch may go."""
        if instruction.opcode == "bra":
            return [self.label(instruction, instruction.operands[0])]
        if instruction.opcode == "brx":
            return self.label_list(instruction, instruction.operands[1])
        return []

    def falls_through(self, instruction: Instruction) -> bool:
        """Whether the next instruction may follow."""
        if instruction.guard is not None:
            return True
        return instruction.opcode not in ENDS and instruction.opcode not in ("bra", "brx")

    def label(self, instruction: Instruction, operand: Operand) -> int:
        """The place of a label."""
        assert isinstance(operand, Name)
        place = self.function.label(instruction.scope, operand.text)
        if place is None:
            raise EmulatorError(
                f"no label {operand.text!r} in {self.function.name}", where=f"PTX line {instruction.line}"
            )
        return place

    def label_list(self, instruction: Instruction, operand: Operand) -> list[int]:
        """The places of a ``.branchtargets`` list."""
        assert isinstance(operand, Name)
        listed = self.function.branch_targets(instruction.scope, operand.text)
        if listed is None:
            raise EmulatorError(
                f"no .branchtargets {operand.text!r} in {self.function.name}",
                where=f"PTX line {instruction.line}",
            )
        return [self.label(instruction, Name(name)) for name in listed]


def _guarded(run: Run, guard: Read, program: Program, at: int) -> Run:
    def guarded(x: Context) -> None:
        mask = x.dense(guard(x))
        lanes = x.lanes
        inside = lanes.where(mask)
        if inside is lanes:
            run(x)
            return
        program.lanes_run[at] -= lanes.count - inside.count
        if inside.count:
            x.enter(inside)
            run(x)
            x.enter(lanes)

    return guarded
