"""Functions that a kernel may call without a definition: the driver has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .lanes import Lanes
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


BUILTINS: dict[str, Builtin] = {"__assertfail": _assertfail}
