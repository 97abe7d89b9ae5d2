"""Instructions with ``.sync``: the lanes that their membermask names meet before they take effect.

Those for matrices have no membermask: all 32 lanes of a warp execute the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .context import Context
from .definite import names, written
from .lanes import WARP
from .operands import Read, Write
from .ptx import TYPES, Array, Instruction, Name
from .registry import Run, Step

if TYPE_CHECKING:
    from .decode import Decoder
    from .machine import Group, Machine

FULL = np.uint32(0xFFFFFFFF)
_WHOLE_WARP = {"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "tensormap", "wgmma"}


def synchronized(instruction: Instruction, d: Decoder, run: Run, guard: Read | None) -> Step:
    """A step that runs ``run`` for the warps whose named lanes are all there, and parks the others."""
    aligned = is_for_whole_warps(instruction)
    mask_of = _full if aligned else d.read(instruction.operands[-1], TYPES["b32"])
    results = _results(instruction, d) if aligned else []

    def step(machine: Machine, group: Group) -> None:
        batch = machine.batch
        if guard is not None:
            x = Context(batch, group.frame, group.lanes)
            yes, no = machine.part(group, x.dense(guard(x)))
            if no is not None:
                machine.move(group, group.pc + 1, no)
            if yes is None:
                return
            group.lanes = yes
        group = machine.unpark(group)
        lanes = group.lanes
        x = Context(batch, group.frame, lanes)
        mask = x.dense(mask_of(x))
        if not aligned:
            _check_named(x, instruction, mask)
        if not (lanes.whole and (mask == FULL).all()):
            needed = mask & batch.alive_in_warp[lanes.warp]
            missing = (needed & ~lanes.present[lanes.warp]) != 0
            if missing.any():
                machine.park(group, lanes.where(missing))
                if missing.all():
                    return
                x.enter(lanes.where(~missing))
                mask = mask[~missing]
            if not aligned:
                _check_same(x, instruction, mask)
        going = x.lanes
        if aligned:
            _leave_out_parts(x, instruction, results)
        if x.count:
            run(x)
        machine.move(group, group.pc + 1, going)

    return step


def is_for_whole_warps(instruction: Instruction) -> bool:
    """Whether the ISA says that all lanes of a warp must execute an instruction together."""
    return instruction.opcode in _WHOLE_WARP


def _results(instruction: Instruction, d: Decoder) -> list[tuple[Write, Array]]:
    """For each register that an instruction writes, what writes it, and its zero."""
    registers = d.function.registers
    found = [name for operand in written(instruction) for name in names(operand) if name in registers]
    return [(d.write(Name(name), registers[name]), np.zeros((), registers[name].raw)) for name in found]


def _leave_out_parts(x: Context, instruction: Instruction, results: list[tuple[Write, Array]]) -> None:
    """Report the lanes of warps that are not whole: they get zeros, and the others go on without them."""
    if x.count == WARP * x.lanes.warps:
        return
    partial = x.lanes.present[x.lanes.warp] != FULL
    x.report(instruction, "partial-warp", f"{instruction.opcode} needs all 32 lanes of a warp", partial)
    whole = x.lanes.where(~partial)
    x.enter(x.lanes.where(partial))
    for write, zero in results:
        write(x, zero)
    x.enter(whole)


def _full(_: Context) -> np.uint32:
    return FULL


def _check_same(x: Context, instruction: Instruction, mask: Array) -> None:
    """Report lanes that name a lane which executes the instruction with another membermask."""
    bad = np.zeros(len(mask), np.bool_)
    for value in np.unique(mask):
        alike = x.lanes.where(mask == value)
        others = x.lanes.present[x.lanes.warp] & ~alike.present[x.lanes.warp]
        bad |= (mask == value) & (value & others != 0)
    if bad.any():
        detail = "the lanes that this membermask names execute it with another one"
        x.report(instruction, "membermask", detail, bad)


def _check_named(x: Context, instruction: Instruction, mask: Array) -> None:
    bits = (mask >> x.lanes.lane) & np.uint32(1)
    if not bits.all():
        detail = f"membermask {int(mask[int(np.argmin(bits))]):#x} does not name the thread that executes it"
        x.report(instruction, "membermask", detail, bits == 0)
