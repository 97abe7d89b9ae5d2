"""Comparison and selection: section 9.7.6 of the PTX ISA, and 9.7.7 for half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import Context
from ..decode import Decoder
from ..formats import flush, to_f32
from ..operands import Read
from ..ptx import TYPES, Instruction, Pair, Type
from ..registry import Run, instruction

COMPARE = "9.7.6 Comparison and Selection"
Compare = Callable[[Any, Any], Any]
_PLAIN: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_NAMES = {*_PLAIN, *_UNSIGNED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}


def comparison(i: Instruction, d: Decoder, name: str, kind: Type) -> Compare:
    """The function for a comparison's name: the last letter u means true for NaN too."""
    if kind.kind == "f":
        if name == "num":
            return lambda a, b: ~(np.isnan(a) | np.isnan(b))
        if name == "nan":
            return lambda a, b: np.isnan(a) | np.isnan(b)
        if name.endswith("u"):
            inverse = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}[name]
            if name == "neu":
                return np.not_equal
            if name == "equ":
                return lambda a, b: (a == b) | np.isnan(a) | np.isnan(b)
            opposite = _PLAIN[inverse]
            return lambda a, b: ~opposite(a, b)
        if name == "ne":
            return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _UNSIGNED:
        return _PLAIN[_UNSIGNED[name]]
    raise d.fail(f"comparison {name!r}")


def sources(i: Instruction, d: Decoder, kind: Type) -> tuple[Read, Read]:
    """Both sides of a comparison; bf16 as f32, with .ftz without subnormals."""
    first, second = i.operands[1:3]
    a, b = d.read(first, kind), d.read(second, kind)
    if kind.name == "bf16":
        return (lambda x: to_f32(a(x))), (lambda x: to_f32(b(x)))
    if i.has("ftz"):
        return (lambda x: flush(a(x))), (lambda x: flush(b(x)))
    return a, b


@instruction("setp", section=COMPARE + ": setp; 9.7.7 for half precision", kind="compare")
def setp(i: Instruction, d: Decoder) -> Run:
    """Compares into one predicate or two, combined with a third one."""
    kind = i.types[-1]
    name = next(mod for mod in i.mods if mod in _NAMES)
    pred = TYPES["pred"]
    to = i.operands[0]
    firsts = [to.first, to.second] if isinstance(to, Pair) else [to]
    writes = [d.write(operand, pred) for operand in firsts]
    if kind.name in ("f16x2", "bf16x2"):
        return _setp_halves(i, d, kind, name)
    compare, (a, b) = comparison(i, d, name, kind), sources(i, d, kind)
    combine = next((_COMBINE[mod] for mod in i.mods if mod in _COMBINE), None)
    other = d.read(i.operands[3], pred) if combine is not None else None

    def run(x: Context) -> None:
        found = compare(a(x), b(x))
        if combine is None or other is None:
            values = [found, ~found]
        else:
            third = other(x)
            values = [combine(found, third), combine(~found, third)]
        for write, value in zip(writes, values, strict=False):
            write(x, value)

    return run


def _setp_halves(i: Instruction, d: Decoder, kind: Type, name: str) -> Run:
    to = i.operands[0]
    if not isinstance(to, Pair) or any(mod in _COMBINE for mod in i.mods):
        raise d.fail("a packed comparison with one predicate, or with a combination")
    writes = [d.write(operand, TYPES["pred"]) for operand in (to.first, to.second)]
    reads = [d.read(operand, TYPES["u32"]) for operand in i.operands[1:3]]
    compare = comparison(i, d, name, TYPES["f32"])

    def run(x: Context) -> None:
        values = [read(x) for read in reads]
        for number, write in enumerate(writes):
            low = [half(value, number, kind) for value in values]
            write(x, compare(*low))

    return run


def half(value: Any, number: int, kind: Type) -> Any:
    """One of the two numbers in a register, as f32."""
    bits = (value >> np.uint32(16 * number)).astype(np.uint16)
    return bits.view(np.float16).astype(np.float32) if kind.name.startswith("f16") else to_f32(bits)


@instruction("set", section=COMPARE + ": set; 9.7.7 for half precision", kind="compare")
def set_(i: Instruction, d: Decoder) -> Run:
    """Compares into a register: all ones, or 1.0."""
    result, kind = i.types[-2:]
    name = next(mod for mod in i.mods if mod in _NAMES)
    write = d.write(i.operands[0], result)
    if kind.name in ("f16x2", "bf16x2"):
        return _set_halves(i, d, kind, name)
    compare, (a, b) = comparison(i, d, name, kind), sources(i, d, kind)
    combine = next((_COMBINE[mod] for mod in i.mods if mod in _COMBINE), None)
    other = d.read(i.operands[3], TYPES["pred"]) if combine is not None else None
    one: Any = {"f32": np.float32(1), "f16": np.float16(1), "bf16": np.uint16(0x3F80)}.get(result.name)
    if one is None:
        one = np.array(-1, np.int64).astype(result.dtype)[()]

    def run(x: Context) -> None:
        found = compare(a(x), b(x))
        if combine is not None and other is not None:
            found = combine(found, other(x))
        write(x, np.where(found, one, one.dtype.type(0)))

    return run


def _set_halves(i: Instruction, d: Decoder, kind: Type, name: str) -> Run:
    if any(mod in _COMBINE for mod in i.mods):
        raise d.fail("a packed comparison with a combination")
    result = i.types[-2]
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result.name, 0xFFFF)
    write = d.write(i.operands[0], TYPES["u32"])
    reads = [d.read(operand, TYPES["u32"]) for operand in i.operands[1:3]]
    compare = comparison(i, d, name, TYPES["f32"])

    def run(x: Context) -> None:
        values = [read(x) for read in reads]
        found = [compare(*(half(value, number, kind) for value in values)) for number in (0, 1)]
        low, high = (np.where(one_of, np.uint32(one), np.uint32(0)) for one_of in found)
        write(x, low | (high << np.uint32(16)))

    return run


@instruction("selp", section=COMPARE + ": selp", kind="compare")
def selp(i: Instruction, d: Decoder) -> Run:
    """One of two values, by a predicate."""
    raw = TYPES[f"b{i.types[-1].bits}"] if i.types[-1].bits > 1 else i.types[-1]
    kind = i.types[-1]
    write = d.write(i.operands[0], raw)
    a, b = d.read(i.operands[1], kind), d.read(i.operands[2], kind)
    condition = d.read(i.operands[3], TYPES["pred"])
    return lambda x: write(x, np.where(condition(x), a(x), b(x)))


@instruction("slct", section=COMPARE + ": slct", kind="compare")
def slct(i: Instruction, d: Decoder) -> Run:
    """One of two values, by the sign of a third."""
    kind, by = i.types[-2:]
    write = d.write(i.operands[0], kind)
    a, b, c = d.read(i.operands[1], kind), d.read(i.operands[2], kind), d.read(i.operands[3], by)
    ftz = i.has("ftz")

    def run(x: Context) -> None:
        sign = flush(c(x)) if ftz else c(x)
        write(x, np.where(sign >= 0, a(x), b(x)))

    return run
