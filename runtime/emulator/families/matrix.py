"""Matrices across a warp: ldmatrix, stmatrix, movmatrix. Section 9.7.14 of the PTX ISA."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..operands import Read
from ..ptx import TYPES, Array, Instruction, Memory, Operand, Vector
from ..registry import Run, instruction
from . import memory

MATRIX = "9.7.14 Warp-Level Matrix Multiply-Accumulate"


def _in_shared(i: Instruction, d: Decoder, where: Operand, registers: Operand) -> tuple[int, Read, str]:
    """How many matrices, their rows' addresses, and the state space."""
    if not i.has("m8n8") or not i.has("b16"):
        raise d.fail("other shapes than m8n8 of b16, which sm_100 has")
    assert isinstance(where, Memory)
    count = int(next(mod for mod in i.mods if mod in ("x1", "x2", "x4"))[1])
    listed = registers.items if isinstance(registers, Vector) else (registers,)
    if len(listed) != count:
        raise d.fail(f"{len(listed)} registers for {count} matrices")
    return count, d.address(where), memory.memory_space(i, d, where)


@instruction("ldmatrix", section=MATRIX + ": ldmatrix", kind="load", sync=True)
def ldmatrix(i: Instruction, d: Decoder) -> Run:
    """Loads one, two or four 8×8 matrices of 16-bit elements from shared memory, transposed or not."""
    count, address, space = _in_shared(i, d, i.operands[1], i.operands[0])
    writes, transposed = d.writes(i.operands[0], TYPES["b32"]), i.has("trans")

    def run(x: Context) -> None:
        lanes, addresses = x.lanes, address(x)
        giving = lanes.lane < 8 * count
        x.enter(lanes.where(giving))
        words = memory.load(x, i, space, addresses[giving], 4, 4)
        x.enter(lanes)
        rows = np.stack(words, axis=1).reshape(lanes.warps, count, 8, 4)
        halves = rows.view(np.uint16)  # warp, matrix, row, column
        if transposed:
            halves = np.ascontiguousarray(halves.swapaxes(2, 3))
        fragments = halves.view(np.uint32).reshape(lanes.warps, count, 32)
        for matrix, write in enumerate(writes):
            write(x, np.ascontiguousarray(fragments[:, matrix]).reshape(-1))

    return run


@instruction("stmatrix", section=MATRIX + ": stmatrix", kind="store", sync=True)
def stmatrix(i: Instruction, d: Decoder) -> Run:
    """Stores one, two or four 8×8 matrices of 16-bit elements to shared memory, transposed or not."""
    count, address, space = _in_shared(i, d, i.operands[0], i.operands[1])
    reads, transposed = d.reads(i.operands[1], TYPES["b32"]), i.has("trans")

    def run(x: Context) -> None:
        lanes, addresses = x.lanes, address(x)
        values = [x.dense(read(x)).reshape(lanes.warps, 1, 8, 4) for read in reads]
        halves = np.ascontiguousarray(np.concatenate(values, axis=1)).view(np.uint16)
        if transposed:
            halves = np.ascontiguousarray(halves.swapaxes(2, 3))
        words = halves.view(np.uint32).reshape(lanes.warps * count * 8, 4)
        giving = lanes.lane < 8 * count
        x.enter(lanes.where(giving))
        columns = [np.ascontiguousarray(words[:, word]) for word in range(4)]
        memory.store(x, i, space, addresses[giving], 4, columns)
        x.enter(lanes)

    return run


@instruction("movmatrix", section=MATRIX + ": movmatrix", kind="warp", sync=True)
def movmatrix(i: Instruction, d: Decoder) -> Run:
    """Transposes an 8×8 matrix of 16-bit elements that is spread over a warp."""
    write, read = d.write(i.operands[0], TYPES["b32"]), d.read(i.operands[1], TYPES["b32"])

    def run(x: Context) -> None:
        write(x, _transposed(x.dense(read(x))))

    return run


def _transposed(words: Array) -> Array:
    halves = np.ascontiguousarray(words).view(np.uint16).reshape(-1, 8, 8).swapaxes(1, 2)
    return np.ascontiguousarray(halves).view(np.uint32).reshape(-1)
