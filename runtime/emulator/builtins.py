"""Functions that a kernel may call without a definition: the driver has them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .context import Context
from .lanes import Lanes
from .memory import LOCAL_WINDOW
from .ptx import Array, Instruction, Name, Operand

if TYPE_CHECKING:
    from .machine import Group, Machine

Builtin = Callable[["Machine", "Group", Lanes, Instruction, tuple[Operand, ...], tuple[Operand, ...]], None]


def _argument(machine: Machine, group: Group, lanes: Lanes, operand: Operand, size: int) -> Array:
    """The value of an argument that the caller has stored for each lane."""
    assert isinstance(operand, Name)
    start = group.frame.base + group.frame.program.layout[operand.text]
    rows = machine.batch.local.data.reshape(-1, machine.batch.local_size)[lanes.index, start : start + size]
    found: Array = np.ascontiguousarray(rows).view(f"u{size}").reshape(-1)
    return found


def _text(machine: Machine, address: int) -> str:
    allocation = machine.batch.launch.memory.find(address)
    if allocation is None:
        return "?"
    raw = allocation.data[address - allocation.base :].tobytes()
    return raw.partition(b"\0")[0].decode(errors="replace")


def _assertfail(
    machine: Machine,
    group: Group,
    lanes: Lanes,
    instruction: Instruction,
    ins: tuple[Operand, ...],
    outs: tuple[Operand, ...],
) -> None:
    """__assertfail(message, file, line, function, size of a character): the threads end."""
    message = _text(machine, int(_argument(machine, group, lanes, ins[0], 8)[0]))
    file = _text(machine, int(_argument(machine, group, lanes, ins[1], 8)[0]))
    line = int(_argument(machine, group, lanes, ins[2], 4)[0])
    x = Context(machine.batch, group.frame, lanes)
    detail = f"assertion {message!r} failed at {file}:{line}"
    x.report(instruction, "trap", detail, np.ones(lanes.count, np.bool_))
    machine.exit(lanes)


_CONVERSION = re.compile(r"%([-+ #0]*)(\d*)(\.\d+)?(hh|h|ll|l|z|j|t)?([diouxXcsfFeEgGaAp%])")


def _vprintf(
    machine: Machine,
    group: Group,
    lanes: Lanes,
    instruction: Instruction,
    ins: tuple[Operand, ...],
    outs: tuple[Operand, ...],
) -> None:
    """vprintf(format, arguments): the text of each thread goes to the report."""
    formats = _argument(machine, group, lanes, ins[0], 8)
    places = _argument(machine, group, lanes, ins[1], 8)
    counts = np.zeros(lanes.count, np.uint32)
    for row, (form, place) in enumerate(zip(formats.tolist(), places.tolist(), strict=True)):
        text = _text(machine, form)
        start = place - LOCAL_WINDOW + int(lanes.index[row]) * machine.batch.local_size if place else 0
        text, counts[row] = _formatted(machine, text, machine.batch.local.data[start:])
        machine.batch.launch.printed.append(text)
    for result in outs:
        assert isinstance(result, Name)
        start = group.frame.base + group.frame.program.layout[result.text]
        size, written = machine.batch.local_size, machine.batch.local.written
        assert written is not None
        machine.batch.local.data.reshape(-1, size)[lanes.index, start : start + 4] = counts[:, None].view(
            np.uint8
        )
        written.reshape(-1, size)[lanes.index, start : start + 4] = 1
    machine.move(group, group.pc + 1, lanes)


def _formatted(machine: Machine, text: str, data: Array) -> tuple[str, int]:
    """C's printf for arguments that lie one after the other, each aligned to its size."""
    at, count = 0, 0

    def value(match: re.Match[str]) -> str:
        nonlocal at, count
        flags, width, precision, length, letter = match.groups(default="")
        if letter == "%":
            return "%"
        size = 8 if letter in "fFeEgGaAps" or length in ("l", "ll", "z", "j", "t") else 4
        at = -(-at // size) * size
        raw = data[at : at + size].tobytes()
        at, count = at + size, count + 1
        if letter in "fFeEgGaA":
            shown: Any = struct.unpack("<d", raw)[0]
        else:
            shown = int.from_bytes(raw, "little", signed=letter in "di")
        if letter == "s":
            shown = _text(machine, shown)
        if letter == "p":
            return hex(shown)
        if letter in "aA":
            return float(shown).hex()
        return f"%{flags}{width}{precision}{letter}" % shown

    return _CONVERSION.sub(value, text), count


BUILTINS: dict[str, Builtin] = {"__assertfail": _assertfail, "vprintf": _vprintf}
