"""Which module of ``families`` runs an instruction, and where the PTX ISA describes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context
    from .decode import Decoder
    from .machine import Group, Machine
    from .ptx import Instruction

Run = Callable[["Context"], None]
Step = Callable[["Machine", "Group"], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """An instruction that can be run.

    ``decode`` gives its effect on the lanes that run it. With ``control`` it gives instead what
    the machine does with a whole group of lanes: branches, calls, barriers.
    ``sync`` says that the lanes named in its membermask meet before it takes effect.
    """

    opcode: str
    section: str
    family: str
    summary: str
    kind: str
    decode: Callable[[Instruction, Decoder], Run] | None = None
    control: Callable[[Instruction, Decoder], Step] | None = None
    sync: bool = False


ENTRIES: dict[str, Entry] = {}


def instruction(
    *opcodes: str, section: str, kind: str, sync: bool = False
) -> Callable[[Callable[[Instruction, Decoder], Run]], Callable[[Instruction, Decoder], Run]]:
    """Declare that the decorated function decodes these instructions of an ISA section.

    ``kind`` is the class under which they are counted. Names of several parts (``cp.async``)
    take precedence over their first part.
    """

    def register(decode: Callable[[Instruction, Decoder], Run]) -> Callable[[Instruction, Decoder], Run]:
        for opcode in opcodes:
            ENTRIES[opcode] = Entry(
                opcode,
                section,
                decode.__module__.rpartition(".")[2],
                _summary(decode),
                kind,
                decode,
                None,
                sync,
            )
        return decode

    return register


def control(
    *opcodes: str, section: str, kind: str = "control"
) -> Callable[[Callable[[Instruction, Decoder], Step]], Callable[[Instruction, Decoder], Step]]:
    """The same for instructions that move groups of lanes."""

    def register(decode: Callable[[Instruction, Decoder], Step]) -> Callable[[Instruction, Decoder], Step]:
        for opcode in opcodes:
            ENTRIES[opcode] = Entry(
                opcode, section, decode.__module__.rpartition(".")[2], _summary(decode), kind, None, decode
            )
        return decode

    return register


def find(found: Instruction) -> Entry | None:
    """The entry for an instruction: the one that spells out most of its name."""
    return _named((found.opcode, *found.mods[:4]))


@cache
def _named(parts: tuple[str, ...]) -> Entry | None:
    for count in range(len(parts), 0, -1):
        entry = ENTRIES.get(".".join(parts[:count]))
        if entry is not None:
            return entry
    return None


def _summary(decode: Callable[..., object]) -> str:
    return (decode.__doc__ or "").strip().splitlines()[0]
