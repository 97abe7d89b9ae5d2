"""How the families of instructions get at their operands while a function is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import needs
from .context import Context
from .definite import is_ever_written, names
from .errors import UnsupportedInstructionError, unsupported
from .operands import (
    Read,
    Write,
    checked_read,
    constant,
    noted_write,
    read_register,
    write_register,
)
from .ptx import (
    RAW,
    TYPES,
    Array,
    Function,
    Instruction,
    Memory,
    Name,
    Not,
    Number,
    Operand,
    Type,
    Variable,
    Vector,
)
from .registry import Entry
from .sections import precise
from .special import CLOCKS, SPECIAL
from .warpgroups import awaited, watched_read, watched_write

if TYPE_CHECKING:
    from .decode import Program
    from .loaded import Loaded

_WIDER = ("ld", "ldu", "st", "cvt")  # what takes registers that are wider than the type


class Symbols:
    """The names of one function, and the instruction that is being decoded."""

    def __init__(self, loaded: Loaded, function: Function, program: Program, unset: set[str]) -> None:
        self.loaded = loaded
        self.function = function
        self.program = program
        self.unset = unset
        self.awaited = awaited(function)
        self.index = {name: number for number, name in enumerate(function.registers)}
        self.parameters = {parameter.name for parameter in function.params} if function.entry else set()
        self.at = 0
        self.instruction: Instruction | None = None
        self.entry: Entry | None = None

    def fail(self, why: str) -> UnsupportedInstructionError:
        """The error for a form of the instruction at hand that its family does not know."""
        assert self.instruction is not None
        where = precise(self.instruction, self.entry.section) if self.entry else ""
        return unsupported(self.instruction, where, why)

    def read(self, operand: Operand, kind: Type) -> Read:
        """A function that gives an operand's value, as ``kind``: an array, or a scalar for all lanes."""
        if isinstance(operand, Number):
            value = constant(operand, kind)
            return _always(value)
        if isinstance(operand, Not):
            if kind.name != "pred":
                raise self.fail(f"a negated operand of {kind.name}")
            inner = self.read(operand.name, kind)
            return lambda x: ~inner(x)
        if not isinstance(operand, Name):
            raise self.fail(f"operand {operand} where a value is expected")
        if operand.text in self.index:
            return self._read_register(operand.text, kind)
        special = SPECIAL.get(operand.text)
        if special is not None:
            self._check_special(operand.text)
            return _read_special(operand.text, kind)
        if operand.text == "WARP_SZ":
            return _always(kind.dtype.type(32))
        return self.address_of(operand, kind)

    def _check_special(self, name: str) -> None:
        assert self.instruction is not None
        where = f"PTX line {self.instruction.line}: {self.instruction.text}"
        needs.check(name, self.loaded.module, where)

    def read_part(self, operand: Operand, kind: Type) -> Read:
        """The same for a part of what is packed: 0 for a register that nothing ever writes.

        So LLVM leaves a part open of which no bit is used.
        """
        name = operand.text if isinstance(operand, Name) else ""
        if name in self.unset and not is_ever_written(self.function, name):
            return _always(kind.dtype.type(0))
        return self.read(operand, kind)

    def _fitting(self, name: str, kind: Type) -> int:
        """The bits of a register; refuses one that is not as wide as ``kind``, as ptxas does.

        Loads, stores and conversions take wider ones, but for bf16 and for eight bits.
        """
        assert self.instruction is not None
        width, instruction = self.function.registers[name].bits, self.instruction
        if width == kind.bits:
            return width
        exact = kind.name in ("bf16", "bf16x2") or instruction.has("e4m3x2", "e5m2x2")
        wider = instruction.opcode in _WIDER and kind.bits > 1 and not exact
        if width < kind.bits or not wider:
            raise self.fail(f"{name}, a register of {width} bits, as .{kind.name}")
        return width

    def _read_register(self, name: str, kind: Type) -> Read:
        index, width = self.index[name], self._fitting(name, kind)
        read = read_register(index, width, kind)
        if name in self.unset:
            assert self.instruction is not None
            read = checked_read(read, index, self.program.dtypes[index], name, self.instruction)
        if name in self.awaited and not self.renames():
            assert self.instruction is not None
            read = watched_read(read, self.awaited[name], name, self.instruction)
        return read

    def renames(self) -> bool:
        """Whether the instruction is a wgmma, or moves a register that one uses: these are no accesses."""
        assert self.instruction is not None
        if self.instruction.opcode != "mov":
            return self.instruction.opcode == "wgmma"
        target, source = self.instruction.operands
        named = [*names(target), *names(source)]
        return all(name in self.index for name in named) and any(
            name in self.awaited for name in names(source)
        )

    def write(self, operand: Operand, kind: Type) -> Write:
        """A function that writes a value of type ``kind`` to a register."""
        if not isinstance(operand, Name):
            raise self.fail(f"operand {operand} where a register is expected")
        if operand.text == "_":
            return _drop
        index, width = self.index[operand.text], self._fitting(operand.text, kind)
        write = write_register(index, width, kind)
        if operand.text in self.unset:
            write = noted_write(write, index)
        if operand.text in self.awaited and not self.renames():
            assert self.instruction is not None
            write = watched_write(write, self.awaited[operand.text], operand.text, self.instruction)
        return write

    def reads(self, operand: Operand, kind: Type) -> list[Read]:
        """The same for each item of a vector, or for the one operand."""
        items = operand.items if isinstance(operand, Vector) else (operand,)
        return [self.read(item, kind) for item in items]

    def writes(self, operand: Operand, kind: Type) -> list[Write]:
        """The same for destinations."""
        items = operand.items if isinstance(operand, Vector) else (operand,)
        return [self.write(item, kind) for item in items]

    def is_register(self, operand: Operand) -> bool:
        """Whether an operand names a register of the function."""
        return isinstance(operand, Name) and operand.text in self.index

    def width(self, operand: Operand) -> int:
        """The bits of a register."""
        assert isinstance(operand, Name)
        return self.function.registers[operand.text].bits

    def variable(self, name: str) -> Variable | None:
        """A variable of the function or of the module."""
        return self.function.variables.get(name) or self.loaded.module.variables.get(name)

    def address_of(self, operand: Name, kind: Type) -> Read:
        """The address of a variable or function, in the variable's own state space."""
        loaded, name = self.loaded, operand.text
        place = self.program.layout.get(name)
        if place is not None:
            inner = place + operand.offset
            return lambda x: kind.dtype.type(x.frame.base + inner)
        if name in self.parameters:
            offset = loaded.parameter_offset(self.function, name) + operand.offset
            return lambda x: kind.dtype.type(x.batch.launch.parameters.base + offset)
        shared = loaded.shared_place(self.function, name)
        if shared is not None:
            total = shared + operand.offset
            return _always(kind.dtype.type(total))
        address = loaded.symbols.get(name)
        if address is None:
            what = (
                "neither declared nor a special register that is known" if name[0] == "%" else "not declared"
            )
            raise self.fail(f"{name!r} is {what}")
        whole = address + operand.offset
        return _always(kind.dtype.type(whole))

    def address(self, operand: Operand) -> Read:
        """The addresses that a memory operand gives, as unsigned 64-bit integers."""
        if not isinstance(operand, Memory):
            raise self.fail("an address in brackets is expected")
        base = operand.base
        if isinstance(base, Name) and base.text in self.index:
            width = self.width(base)
            read = self.read(Name(base.text), TYPES[f"u{width}"])
            offset = RAW[width].type(base.offset & ((1 << width) - 1))

            def moved(x: Context) -> Array:
                value = read(x)
                if offset:
                    value = value + offset
                found: Array = value if width == 64 else value.astype(np.uint64)
                return found

            return moved
        value = self.read(base, TYPES["u64"])
        return lambda x: np.full(x.count, value(x), np.uint64)


def _read_special(name: str, kind: Type) -> Read:
    make = SPECIAL[name]

    def read(x: Context) -> Any:
        value = make(x.batch) if name in CLOCKS else x.batch.value(name, make)
        if value.ndim:
            value = x.lanes.take(value)
        return value.astype(kind.raw).view(kind.dtype)

    return read


def _always(value: Any) -> Read:
    def read(_: Context) -> Any:
        return value

    return read


def _drop(x: Context, value: Any) -> None:
    """Writes to the sink, ``_``."""
