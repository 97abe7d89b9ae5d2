"""Logic, shifts and counts of bits: section 9.7.8 of the PTX ISA."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..ptx import RAW, TYPES, Instruction, Number
from ..registry import Run, instruction

LOGIC = "9.7.8 Logic and Shift"


def ones(value: Any) -> Any:
    """The number of ones."""
    return np.bitwise_count(value)


def leading_zeros(value: Any) -> Any:
    """The number of zeros above the highest one."""
    width = value.itemsize * 8
    value = value.astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        value = value | (value >> np.uint64(shift))
    return width - np.bitwise_count(value).astype(np.int64)


_MASKS = {1: 0x5555555555555555, 2: 0x3333333333333333, 4: 0x0F0F0F0F0F0F0F0F}


def reverse(value: Any) -> Any:
    """The bits in reverse."""
    raw = value.dtype
    width = value.itemsize * 8
    value = value.astype(np.uint64)
    for shift, mask in _MASKS.items():
        low = np.uint64(mask)
        value = ((value & low) << np.uint64(shift)) | ((value >> np.uint64(shift)) & low)
    return (value.byteswap() >> np.uint64(64 - width)).astype(raw)


@instruction("and", "or", "xor", section=LOGIC + ": and, or, xor", kind="logic")
def logic(i: Instruction, d: Decoder) -> Run:
    """Bitwise, of registers or predicates."""
    kind = i.types[-1]
    apply = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[i.opcode]
    write = d.write(i.operands[0], kind)
    a, b = d.read(i.operands[1], kind), d.read(i.operands[2], kind)
    return lambda x: write(x, apply(a(x), b(x)))


@instruction("not", "cnot", section=LOGIC + ": not, cnot", kind="logic")
def invert(i: Instruction, d: Decoder) -> Run:
    """The complement, or whether a register is zero."""
    kind = i.types[-1]
    write, a = d.write(i.operands[0], kind), d.read(i.operands[1], kind)
    if i.opcode == "not":
        return lambda x: write(x, ~a(x))
    return lambda x: write(x, (a(x) == 0).astype(kind.dtype))


@instruction("shl", "shr", section=LOGIC + ": shl, shr", kind="logic")
def shift(i: Instruction, d: Decoder) -> Run:
    """Shifts; amounts beyond the width shift everything out."""
    kind = i.types[-1]
    write, a = d.write(i.operands[0], kind), d.read(i.operands[1], kind)
    b, width = d.read(i.operands[2], TYPES["u32"]), kind.bits
    left, signed = i.opcode == "shl", kind.kind == "s"
    cast = kind.dtype.type
    apply = np.left_shift if left else np.right_shift
    if isinstance(i.operands[2], Number):
        amount = int(i.operands[2].value) & 0xFFFFFFFF
        if amount < width:
            by = cast(amount)
            return lambda x: write(x, apply(a(x), by))

    def run(x: Context) -> None:
        amount = b(x)
        beyond = amount >= width
        moved = apply(a(x), np.where(beyond, width - 1, amount).astype(kind.dtype))
        write(x, moved if signed and not left else np.where(beyond, cast(0), moved))

    return run


@instruction("shf", section=LOGIC + ": shf", kind="logic")
def funnel(i: Instruction, d: Decoder) -> Run:
    """Shifts two registers as one; .clamp and .wrap say what amounts above 32 do."""
    u32 = TYPES["u32"]
    write = d.write(i.operands[0], u32)
    low, high, amount = (d.read(operand, u32) for operand in i.operands[1:])
    left, wrap = i.has("l"), i.has("wrap")

    def run(x: Context) -> None:
        by = amount(x).astype(np.uint64)
        by = by & np.uint64(31) if wrap else np.minimum(by, np.uint64(32))
        pair = low(x).astype(np.uint64) | (high(x).astype(np.uint64) << np.uint64(32))
        moved = (pair << by) >> np.uint64(32) if left else pair >> by
        write(x, moved.astype(np.uint32))

    return run


@instruction("lop3", section=LOGIC + ": lop3", kind="logic")
def lop3(i: Instruction, d: Decoder) -> Run:
    """Any function of three bits, by its table."""
    if i.has("BoolOp", "and", "or"):
        raise d.fail("with a predicate")
    u32 = TYPES["u32"]
    write = d.write(i.operands[0], u32)
    a, b, c = (d.read(operand, u32) for operand in i.operands[1:4])
    table = i.operands[4]
    if not isinstance(table, Number):
        raise d.fail("a table that is no constant")
    rows = [row for row in range(8) if int(table.value) >> row & 1]

    def run(x: Context) -> None:
        values = (a(x), b(x), c(x))
        out: Any = RAW[32].type(0)
        for row in rows:
            term: Any = None
            for number, value in enumerate(values):
                bit = value if row >> (2 - number) & 1 else ~value
                term = bit if term is None else term & bit
            out = out | term
        write(x, out)

    return run
