"""Integer arithmetic: sections 9.7.1 and 9.7.2 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..operands import Read, Write
from ..ptx import TYPES, Array, Instruction, Type
from ..registry import Run, instruction
from . import floats

INTEGER = "9.7.1 Integer Arithmetic"
Binary = Callable[[Any, Any], Any]


def operands(i: Instruction, d: Decoder, kind: Type) -> tuple[Write, list[Read]]:
    """The destination and the sources, all of one type."""
    return d.write(i.operands[0], kind), [d.read(operand, kind) for operand in i.operands[1:]]


def wide(value: Any, bits_: int, signed: bool) -> Any:
    """A value in twice as many bits."""
    return value.astype(np.dtype(f"{'i' if signed else 'u'}{bits_ // 8}"))


@instruction("add", "sub", section=INTEGER + ": add, sub; 9.7.3, 9.7.4 for floats", kind="arithmetic")
def add(i: Instruction, d: Decoder) -> Run:
    """Adds or subtracts; .sat clamps signed 32-bit results, .cc keeps the carry."""
    kind = i.types[-1]
    if kind.kind == "f":
        return floats.add(i, d)
    if i.has("cc"):
        return _carry(i, d)
    apply: Binary = np.add if i.opcode == "add" else np.subtract
    if kind.name in ("u16x2", "s16x2"):
        return _halves(i, d, apply)
    if i.has("sat"):
        write, (a, b) = operands(i, d, kind)
        limits = np.iinfo(np.int32)

        def clamped(x: Context) -> None:
            exact = apply(wide(a(x), 64, True), wide(b(x), 64, True))
            write(x, np.clip(exact, limits.min, limits.max).astype(np.int32))

        return clamped
    unsigned = TYPES[f"u{kind.bits}"]
    write, (a, b) = operands(i, d, unsigned)
    return lambda x: write(x, apply(a(x), b(x)))


def _halves(i: Instruction, d: Decoder, apply: Binary) -> Run:
    kind = i.types[-1]
    write, (a, b) = operands(i, d, TYPES["u32"])
    half = np.dtype(np.int16 if kind.name == "s16x2" else np.uint16)

    def run(x: Context) -> None:
        left, right = x.dense(a(x)).copy(), x.dense(b(x)).copy()
        write(x, apply(left.view(half), right.view(half)).view(np.uint32))

    return run


def _carry(i: Instruction, d: Decoder) -> Run:
    """add.cc, sub.cc, addc, subc: 32 or 64 bits with a carry that the next one reads."""
    kind = TYPES[f"u{i.types[-1].bits}"]
    write, (a, b) = operands(i, d, kind)
    subtract, takes, gives = i.opcode.startswith("sub"), i.opcode.endswith("c"), i.has("cc")

    def run(x: Context) -> None:
        left, right = x.dense(a(x)), x.dense(b(x))
        carried = carry_of(x).astype(kind.dtype) if takes else kind.dtype.type(0)
        partial = left - right if subtract else left + right
        total = partial - carried if subtract else partial + carried
        if gives:
            over = (left < right) | (partial < carried) if subtract else (partial < left) | (total < partial)
            set_carry(x, over)
        write(x, total)

    return run


def carry_of(x: Context) -> Array:
    """The carry flag of the lanes that run."""
    whole = x.frame.defined.get(-1)
    if whole is None:
        whole = x.frame.defined[-1] = np.zeros(x.batch.shape.lanes, np.bool_)
    return x.lanes.take(whole)


def set_carry(x: Context, value: Array) -> None:
    """Set it."""
    carry_of(x)
    x.frame.defined[-1][slice(None) if x.sel is None else x.sel] = value


@instruction(
    "addc", "subc", section="9.7.2 Extended-Precision Integer Arithmetic: addc, subc", kind="arithmetic"
)
def addc(i: Instruction, d: Decoder) -> Run:
    """Adds or subtracts with the carry."""
    return _carry(i, d)


@instruction("mul", section=INTEGER + ": mul; 9.7.3, 9.7.4 for floats", kind="arithmetic")
def mul(i: Instruction, d: Decoder) -> Run:
    """Multiplies: the low half, the high half, or both with .wide."""
    kind = i.types[-1]
    if kind.kind == "f":
        return floats.mul(i, d)
    product = _product(i, d, kind)
    write = d.write(i.operands[0], _result(i, kind))
    return lambda x: write(x, product(x))


def _result(i: Instruction, kind: Type) -> Type:
    return TYPES[f"{kind.kind}{kind.bits * 2}"] if i.has("wide") else kind


def _product(i: Instruction, d: Decoder, kind: Type) -> Read:
    a, b = d.read(i.operands[1], kind), d.read(i.operands[2], kind)
    signed, width = kind.kind == "s", kind.bits
    if i.has("wide"):
        return lambda x: wide(a(x), 2 * width, signed) * wide(b(x), 2 * width, signed)
    if i.has("lo"):
        return lambda x: a(x) * b(x)
    if not i.has("hi"):
        raise d.fail("without .lo, .hi or .wide")
    if width == 64:
        return lambda x: high64(a(x), b(x), signed)
    return lambda x: (wide(a(x), 2 * width, signed) * wide(b(x), 2 * width, signed) >> width).astype(
        kind.dtype
    )


def high64(a: Any, b: Any, signed: bool) -> Any:
    """The upper 64 bits of a product of 64-bit integers."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    ua, ub = a.astype(np.uint64), b.astype(np.uint64)
    al, ah, bl, bh = ua & low, ua >> shift, ub & low, ub >> shift
    middle = ah * bl + (al * bl >> shift)
    other = al * bh + (middle & low)
    high = ah * bh + (middle >> shift) + (other >> shift)
    if not signed:
        return high
    high = high - np.where(a < 0, ub, np.uint64(0)) - np.where(b < 0, ua, np.uint64(0))
    return high.astype(np.int64)


@instruction("mad", section=INTEGER + ": mad; 9.7.3 for floats", kind="arithmetic")
def mad(i: Instruction, d: Decoder) -> Run:
    """Multiplies and adds."""
    kind = i.types[-1]
    if kind.kind == "f":
        return floats.fma(i, d)
    if i.has("cc"):
        return _mad_carry(i, d)
    product, result = _product(i, d, kind), _result(i, kind)
    c, write = d.read(i.operands[3], result), d.write(i.operands[0], result)
    if i.has("sat"):
        limits = np.iinfo(np.int32)

        def clamped(x: Context) -> None:
            exact = product(x).astype(np.int64) + c(x).astype(np.int64)
            write(x, np.clip(exact, limits.min, limits.max).astype(np.int32))

        return clamped
    return lambda x: write(x, product(x) + c(x))


def _mad_carry(i: Instruction, d: Decoder) -> Run:
    kind = TYPES[f"u{i.types[-1].bits}"]
    product, write = _product(i, d, i.types[-1]), d.write(i.operands[0], kind)
    c, takes, gives = d.read(i.operands[3], kind), i.opcode == "madc", i.has("cc")

    def run(x: Context) -> None:
        left, right = x.dense(product(x)).view(kind.dtype), x.dense(c(x))
        carried = carry_of(x).astype(kind.dtype) if takes else kind.dtype.type(0)
        partial = left + right
        total = partial + carried
        if gives:
            set_carry(x, (partial < left) | (total < partial))
        write(x, total)

    return run


@instruction("madc", section="9.7.2 Extended-Precision Integer Arithmetic: madc", kind="arithmetic")
def madc(i: Instruction, d: Decoder) -> Run:
    """Multiplies and adds with the carry."""
    return _mad_carry(i, d)


@instruction("mul24", "mad24", section=INTEGER + ": mul24, mad24", kind="arithmetic")
def mul24(i: Instruction, d: Decoder) -> Run:
    """Multiplies the low 24 bits of its operands: the low or the high 32 bits of 48."""
    kind = i.types[-1]
    write, reads = operands(i, d, kind)
    down, shift = np.int64(40), 16 if i.has("hi") else 0

    def run(x: Context) -> None:
        a, b = (read(x).astype(np.int64) << down for read in reads[:2])
        if kind.kind == "s":
            a, b = a >> down, b >> down
        else:
            a, b = ((v.view(np.uint64) >> np.uint64(40)).view(np.int64) for v in (a, b))
        product = (a * b >> shift).astype(kind.dtype)
        write(x, product if len(reads) == 2 else product + reads[2](x))

    return run


@instruction("sad", section=INTEGER + ": sad", kind="arithmetic")
def sad(i: Instruction, d: Decoder) -> Run:
    """c + |a - b|."""
    kind = i.types[-1]
    write, (a, b, c) = operands(i, d, kind)

    def run(x: Context) -> None:
        left, right = a(x), b(x)
        write(x, c(x) + np.where(left < right, right - left, left - right))

    return run


@instruction("div", section=INTEGER + ": div; 9.7.3 for floats", kind="arithmetic")
@instruction("rem", section=INTEGER + ": rem", kind="arithmetic")
def div(i: Instruction, d: Decoder) -> Run:
    """Divides towards zero; a division by zero gives all ones, as the hardware does."""
    kind = i.types[-1]
    if kind.kind == "f":
        return floats.div(i, d)
    write, (a, b) = operands(i, d, kind)
    remainder = i.opcode == "rem"

    def run(x: Context) -> None:
        left, right = x.dense(a(x)), x.dense(b(x))
        zero = right == 0
        safe = np.where(zero, kind.dtype.type(1), right)
        if kind.kind == "s":  # the quotient of the least number and -1 does not fit
            minus = safe == -1
            quotient = np.where(minus, kind.dtype.type(0) - left, _truncated(left, np.where(minus, 1, safe)))
        else:
            quotient = left // safe
        quotient = quotient.astype(kind.dtype)
        if remainder:
            write(x, np.where(zero, left, left - quotient * safe))
        else:
            write(
                x,
                np.where(
                    zero,
                    kind.dtype.type(-1 if kind.kind == "s" else ~np.uint64(0) >> (64 - kind.bits)),
                    quotient,
                ),
            )

    return run


def _truncated(left: Array, right: Array) -> Array:
    quotient: Array = left // right
    return quotient + ((quotient < 0) & (quotient * right != left))


@instruction("abs", "neg", section=INTEGER + ": abs, neg; 9.7.3, 9.7.4 for floats", kind="arithmetic")
def absolute(i: Instruction, d: Decoder) -> Run:
    """The absolute value, or the negated one."""
    kind = i.types[-1]
    if kind.kind == "f":
        return floats.sign_bit(i, d)
    write, (a,) = operands(i, d, kind)
    if i.opcode == "abs":
        return lambda x: write(x, np.abs(a(x)))
    return lambda x: write(x, kind.dtype.type(0) - a(x))


@instruction("min", "max", section=INTEGER + ": min, max; 9.7.3, 9.7.4 for floats", kind="arithmetic")
def least(i: Instruction, d: Decoder) -> Run:
    """The smaller or the greater."""
    kind = i.types[-1]
    if kind.kind == "f":
        return floats.least(i, d)
    apply: Binary = np.minimum if i.opcode == "min" else np.maximum
    if kind.name in ("u16x2", "s16x2"):
        return _halves(i, d, apply)
    write, (a, b) = operands(i, d, kind)
    if not i.has("relu"):
        return lambda x: write(x, apply(a(x), b(x)))
    return lambda x: write(x, np.maximum(apply(a(x), b(x)), kind.dtype.type(0)))
