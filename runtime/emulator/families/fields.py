"""Counts of bits, fields of bits, dot products of bytes: section 9.7.1 of the PTX ISA."""

from __future__ import annotations

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..ptx import RAW, TYPES, Instruction
from ..registry import Run, instruction
from . import bits
from .integers import INTEGER, operands


@instruction("popc", "clz", "brev", section=INTEGER + ": popc, clz, brev", kind="arithmetic")
def counted(i: Instruction, d: Decoder) -> Run:
    """The number of ones, of leading zeros; the bits in reverse."""
    kind = TYPES[f"u{i.types[-1].bits}"]
    result = kind if i.opcode == "brev" else TYPES["u32"]
    write, read = d.write(i.operands[0], result), d.read(i.operands[1], kind)
    apply = {"popc": bits.ones, "clz": bits.leading_zeros, "brev": bits.reverse}[i.opcode]
    return lambda x: write(x, apply(read(x)).astype(result.dtype))


@instruction("bfind", section=INTEGER + ": bfind", kind="arithmetic")
def bfind(i: Instruction, d: Decoder) -> Run:
    """The place of the highest bit that is not the sign's, or the shift that brings it to the top."""
    kind = i.types[-1]
    write, read = d.write(i.operands[0], TYPES["u32"]), d.read(i.operands[1], kind)

    def run(x: Context) -> None:
        value = read(x)
        if kind.kind == "s":
            value = np.where(value < 0, ~value, value)
        zeros = bits.leading_zeros(value.astype(RAW[kind.bits])).astype(np.uint32)
        found = zeros if i.has("shiftamt") else np.uint32(kind.bits - 1) - zeros
        write(x, np.where(zeros == kind.bits, np.uint32(0xFFFFFFFF), found))

    return run


@instruction("fns", section=INTEGER + ": fns", kind="arithmetic")
def fns(i: Instruction, d: Decoder) -> Run:
    """The place of the n-th set bit from a base on."""
    u32, s32 = TYPES["u32"], TYPES["s32"]
    write = d.write(i.operands[0], u32)
    mask, base, offset = d.read(i.operands[1], u32), d.read(i.operands[2], u32), d.read(i.operands[3], s32)

    def run(x: Context) -> None:
        values = np.broadcast_arrays(x.dense(mask(x)), base(x), offset(x))
        write(x, np.array([_nth(int(m), int(b), int(n)) for m, b, n in zip(*values, strict=True)], np.uint32))

    return run


def _nth(mask: int, base: int, offset: int) -> int:
    step = -1 if offset < 0 else 1
    wanted = abs(offset) or 1
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    for place in range(base, -1 if step < 0 else 32, step):
        wanted -= mask >> place & 1
        if not wanted:
            return place
    return 0xFFFFFFFF


@instruction("bfe", section=INTEGER + ": bfe", kind="arithmetic")
def bfe(i: Instruction, d: Decoder) -> Run:
    """Extracts a field of bits, with its sign for signed types."""
    kind = i.types[-1]
    write, read = d.write(i.operands[0], kind), d.read(i.operands[1], kind)
    start, length = (d.read(operand, TYPES["u32"]) for operand in i.operands[2:])
    top = kind.bits - 1

    def run(x: Context) -> None:
        value = read(x).astype(np.dtype(f"{'i' if kind.kind == 's' else 'u'}8"))
        first, count = (start(x) & 255).astype(np.int64), (length(x) & 255).astype(np.int64)
        u64 = value.view(np.uint64)
        end = np.minimum(first + count - 1, top)
        sign = np.where(count == 0, 0, (u64 >> end.astype(np.uint64)) & np.uint64(1)).astype(np.uint64)
        held = np.clip(np.minimum(count, kind.bits - first), 0, 64).astype(np.uint64)
        ones = np.where(held == 64, ~np.uint64(0), (np.uint64(1) << (held & np.uint64(63))) - np.uint64(1))
        width = np.uint64((1 << kind.bits) - 1)
        moved = np.where(first > top, np.uint64(0), (u64 & width) >> (first & 63).astype(np.uint64)) & ones
        if kind.kind == "s":
            moved = np.where(sign != 0, moved | ~ones, moved)
        write(x, moved.astype(kind.raw).view(kind.dtype))

    return run


@instruction("bfi", section=INTEGER + ": bfi", kind="arithmetic")
def bfi(i: Instruction, d: Decoder) -> Run:
    """Inserts a field of bits."""
    kind = TYPES[f"u{i.types[-1].bits}"]
    write = d.write(i.operands[0], kind)
    field, base = d.read(i.operands[1], kind), d.read(i.operands[2], kind)
    start, length = (d.read(operand, TYPES["u32"]) for operand in i.operands[3:])

    def run(x: Context) -> None:
        first, count = (start(x) & 255).astype(np.uint64), (length(x) & 255).astype(np.uint64)
        held = np.minimum(count, np.uint64(64))
        ones = np.where(held == 64, ~np.uint64(0), (np.uint64(1) << (held & np.uint64(63))) - np.uint64(1))
        mask = np.where(first >= kind.bits, np.uint64(0), ones << (first & np.uint64(63)))
        moved = field(x).astype(np.uint64) << (first & np.uint64(63))
        write(x, ((base(x).astype(np.uint64) & ~mask) | (moved & mask)).astype(kind.dtype))

    return run


@instruction("bmsk", section=INTEGER + ": bmsk", kind="arithmetic")
def bmsk(i: Instruction, d: Decoder) -> Run:
    """A mask of ones from a place on; places are clamped or wrap."""
    write, (a, b) = operands(i, d, TYPES["u32"])
    wrap = i.has("wrap")

    def run(x: Context) -> None:
        first, count = a(x).astype(np.uint64), b(x).astype(np.uint64)
        first = first & np.uint64(31) if wrap else np.minimum(first, np.uint64(32))
        count = count & np.uint64(31) if wrap else np.minimum(count, np.uint64(32))
        write(x, (((np.uint64(1) << count) - np.uint64(1)) << first).astype(np.uint32))

    return run


@instruction("szext", section=INTEGER + ": szext", kind="arithmetic")
def szext(i: Instruction, d: Decoder) -> Run:
    """Extends a number of so many bits, with its sign for signed types."""
    kind = i.types[-1]
    write, value, width = (
        d.write(i.operands[0], kind),
        d.read(i.operands[1], kind),
        d.read(i.operands[2], TYPES["u32"]),
    )
    wrap = i.has("wrap")

    def run(x: Context) -> None:
        count = width(x).astype(np.int64)
        count = count & 31 if wrap else np.minimum(count, 32)
        shift = (64 - np.maximum(count, 1)).astype(np.int64)
        moved = value(x).astype(np.int64) << shift
        if kind.kind == "s":
            out = moved >> shift
        else:
            out = (moved.view(np.uint64) >> shift.astype(np.uint64)).view(np.int64)
        write(x, np.where(count == 0, 0, out).astype(kind.dtype))

    return run


@instruction("dp4a", "dp2a", section=INTEGER + ": dp4a, dp2a", kind="arithmetic")
def dp4a(i: Instruction, d: Decoder) -> Run:
    """Adds a dot product of four bytes, or of two halves and two bytes."""
    left, right = i.types[-2:]
    result = TYPES["s32"] if "s" in (left.kind, right.kind) else TYPES["u32"]
    write = d.write(i.operands[0], result)
    a, b = d.read(i.operands[1], TYPES["u32"]), d.read(i.operands[2], TYPES["u32"])
    c = d.read(i.operands[3], result)
    four = i.opcode == "dp4a"
    first = np.dtype(f"{'i' if left.kind == 's' else 'u'}{1 if four else 2}")
    second = np.dtype(f"{'i' if right.kind == 's' else 'u'}1")
    pick = slice(None) if four else slice(2, 4) if i.has("hi") else slice(0, 2)

    def run(x: Context) -> None:
        left_parts = x.dense(a(x)).copy().view(first).reshape(x.count, -1).astype(np.int64)
        right_parts = x.dense(b(x)).copy().view(second).reshape(x.count, -1)[:, pick].astype(np.int64)
        write(x, ((left_parts * right_parts).sum(axis=1) + c(x)).astype(result.dtype))

    return run
