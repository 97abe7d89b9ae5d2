"""cvt: between integers and floats of all formats, in all roundings. Section 9.7.9 of the PTX ISA."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import exact
from ..context import Context
from ..decode import Decoder
from ..formats import FORMATS, flush, narrow, widen
from ..ptx import TYPES, Instruction, Type
from ..registry import Run, instruction

CVT = "9.7.9 Data Movement and Conversion: cvt"
_TO_INTEGER: dict[str, Callable[[Any], Any]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


@instruction("cvt.pack", section=CVT + ".pack", kind="convert")
def pack(i: Instruction, d: Decoder) -> Run:
    """Two integers, saturated, as the lowest part of a register; what the third has moves up."""
    source = TYPES["s32"]
    if "s32" not in i.mods or not re.fullmatch(r"[us](16|8|4|2)", i.mods[2]):
        raise d.fail("of other types")
    write = d.write(i.operands[0], TYPES["u32"])
    high, low = d.read(i.operands[1], source), d.read(i.operands[2], source)
    above = d.read(i.operands[3], TYPES["u32"]) if len(i.operands) > 3 else None
    bits = int(i.mods[2][1:])
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if i.mods[2][0] == "s" else (0, (1 << bits) - 1)
    mask = np.int64((1 << bits) - 1)

    def run(x: Context) -> None:
        pieces = [np.clip(read(x).astype(np.int64), least, most) & mask for read in (low, high)]
        out = (pieces[0] | (pieces[1] << bits)).astype(np.uint32)
        write(x, out if above is None else out | (above(x) << np.uint32(2 * bits)))

    return run


@instruction("cvt", section=CVT, kind="convert")
def cvt(i: Instruction, d: Decoder) -> Run:
    """Converts a value to another type."""
    later = [mod for mod in i.mods if re.fullmatch(r"ue8m0x2|e[23]m[123]x[24]|e[45]m[23]x4", mod)]
    if later or i.has("rs"):
        raise d.fail(f"with .{(later or ['rs'])[0]}, which sm_100 has")
    if len(i.types) != 2:
        raise d.fail("between other than two types that it knows")
    to, source = i.types
    if to.name.endswith("x2") or source.name.endswith("x2"):
        return _packed(i, d, to, source)
    write, read = d.write(i.operands[0], to), d.read(i.operands[1], source)
    if to.kind != "f" and source.kind != "f":
        return _integers(i, to, source, write, read)
    if to.kind != "f":
        if not any(mod in _TO_INTEGER for mod in i.mods):
            raise d.fail("to an integer without an integer rounding (.rni, .rzi, .rmi, .rpi)")
        return _float_to_integer(i, to, source, write, read)
    if source.kind != "f":
        return _integer_to_float(i, to, source, write, read)
    return _floats(i, d, to, source, write, read)


def _integers(i: Instruction, to: Type, source: Type, write: Any, read: Any) -> Run:
    if i.has("sat"):
        low, high = int(np.iinfo(to.dtype).min), int(np.iinfo(to.dtype).max)
        limits = np.iinfo(source.dtype)
        least = source.dtype.type(max(low, int(limits.min)))
        most = source.dtype.type(min(high, int(limits.max)))
        return lambda x: write(x, np.clip(read(x), least, most).astype(to.dtype))
    return lambda x: write(x, read(x).astype(to.dtype))


def _float_to_integer(i: Instruction, to: Type, source: Type, write: Any, read: Any) -> Run:
    rounded = next(_TO_INTEGER[mod] for mod in i.mods if mod in _TO_INTEGER)
    low, high = float(np.iinfo(to.dtype).min), float(np.iinfo(to.dtype).max)
    ftz = i.has("ftz") and source.name == "f32"
    edge = 2.0 ** (to.bits - (to.kind == "s"))  # the first that is too great, exact where ``high`` is not
    most, least = to.dtype.type(np.iinfo(to.dtype).max), to.dtype.type(np.iinfo(to.dtype).min)
    # NaN gives 0; from f64, or to 64 bits, the highest bit alone.
    nan_value = to.dtype.type(0)
    if source.name == "f64" or to.bits == 64:
        nan_value = np.array(1 << (to.bits - 1), to.raw).view(to.dtype)[()]

    def run(x: Context) -> None:
        value = read(x)
        if ftz:
            value = flush(value)
        value = rounded(widen(value, source.name))
        over, under, nan = value >= edge, value < low, np.isnan(value)
        safe = np.where(over | under | nan, 0.0, value)
        out = safe.astype(to.dtype)
        out = np.where(over, most, np.where(under, least, out))
        write(x, np.where(nan, nan_value, out).astype(to.dtype))

    assert high >= 0
    return run


def _integer_to_float(i: Instruction, to: Type, source: Type, write: Any, read: Any) -> Run:
    mode = _mode(i)

    def run(x: Context) -> None:
        value = read(x)
        if source.bits < 64:
            write(x, _saturate(i, narrow(value.astype(np.float64), to.name, mode), to))
            return
        nearest = value.astype(np.float64)
        error = _integer_error(value, nearest)
        if to.name == "f64":
            write(x, nearest if mode == "rn" else exact.nudged(nearest, error, mode))
        else:
            write(x, _saturate(i, narrow(exact.to_odd(nearest, error), to.name, mode), to))

    return run


def _integer_error(value: Any, nearest: Any) -> Any:
    """What rounding a 64-bit integer to float64 took away, with its sign."""
    value, nearest = np.atleast_1d(value), np.atleast_1d(nearest)
    top = 2.0 ** (63 if value.dtype.kind == "i" else 64)
    whole = np.where(nearest >= top, 0.0, nearest).astype(value.dtype)
    rest = (value - whole).astype(np.uint64).view(np.int64).astype(np.float64)
    return np.where(nearest >= top, -1.0, rest)


def _mode(i: Instruction) -> str:
    return next((mod for mod in i.mods if mod in ("rn", "rz", "rm", "rp", "rna")), "rn")


def _saturate(i: Instruction, value: Any, to: Type) -> Any:
    if not i.has("sat") or to.name not in ("f16", "f32", "f64", "bf16"):
        return value
    real = widen(value, to.name)
    return narrow(np.where(real > 0, np.minimum(real, 1.0), 0.0), to.name)


def _floats(i: Instruction, d: Decoder, to: Type, source: Type, write: Any, read: Any) -> Run:
    """Between float formats; with an integer rounding the result is a whole number."""
    whole = next((_TO_INTEGER[mod] for mod in i.mods if mod in _TO_INTEGER), None)
    mode, ftz, relu = _mode(i), i.has("ftz"), i.has("relu")
    finite = i.has("satfinite")
    if finite and (source.name != "f32" or to.name not in ("tf32", "f16", "bf16")):
        raise d.fail("with .satfinite")

    def run(x: Context) -> None:
        value = read(x)
        if ftz and source.name == "f32":
            value = flush(value)
        value = widen(value, source.name)
        if whole is not None:
            value = np.copysign(whole(value), value)
        value = _limited(value, to.name, relu=relu, finite=finite)
        out = value.copy() if to.name == "f64" else narrow(value, to.name, mode)
        if ftz and to.name == "f32":
            out = flush(out)
        write(x, _saturate(i, out, to))

    return run


def _packed(i: Instruction, d: Decoder, to: Type, source: Type) -> Run:
    """Two numbers into one register (the first operand is the upper half), or eight-bit ones to f16."""
    single = to.name.removesuffix("x2")
    mode, relu, finite = _mode(i), i.has("relu"), i.has("satfinite")
    if source.name in ("e4m3x2", "e5m2x2") and to.name == "f16x2":
        return _from_eight(i, d, source)
    if source.name == "f16x2":
        return _to_eight(i, d, to)
    if source.name != "f32":
        raise d.fail(f"from {source.name} to {to.name}")
    write = d.write(i.operands[0], to)
    high, low = d.read(i.operands[1], source), d.read(i.operands[2], source)
    width = 16 if to.bits == 32 else 8

    def run(x: Context) -> None:
        out: Any = to.raw.type(0)
        for place, read in ((0, low), (width, high)):
            value = x.dense(read(x)).astype(np.float64)
            bits = _to_bits(value, single, mode, relu=relu, finite=finite)
            out = out | (bits.astype(to.raw) << to.raw.type(place))
        write(x, out)

    return run


def _limited(value: Any, name: str, *, relu: bool, finite: bool) -> Any:
    """A value to be rounded: not below zero with .relu, in the range of the format with .satfinite."""
    if relu:
        value = np.where((value > 0) | np.isnan(value), value, 0.0)
    if finite:
        top = FORMATS[name].greatest
        value = np.where(np.isnan(value), value, np.clip(value, -top, top))
    return value


def _to_bits(value: Any, name: str, mode: str, *, relu: bool, finite: bool) -> Any:
    out = narrow(_limited(value, name, relu=relu, finite=finite), name, mode)
    return out.view(np.uint16) if name == "f16" else out


def _from_eight(i: Instruction, d: Decoder, source: Type) -> Run:
    write, read = d.write(i.operands[0], TYPES["u32"]), d.read(i.operands[1], TYPES["u16"])
    single = source.name.removesuffix("x2")

    def run(x: Context) -> None:
        value = read(x)
        halves = [
            _to_bits(
                widen((value >> np.uint16(place)) & np.uint16(255), single),
                "f16",
                "rn",
                relu=i.has("relu"),
                finite=False,
            )
            for place in (0, 8)
        ]
        write(x, halves[0].astype(np.uint32) | (halves[1].astype(np.uint32) << np.uint32(16)))

    return run


def _to_eight(i: Instruction, d: Decoder, to: Type) -> Run:
    write, read = d.write(i.operands[0], TYPES["u16"]), d.read(i.operands[1], TYPES["u32"])
    single = to.name.removesuffix("x2")

    def run(x: Context) -> None:
        value = x.dense(read(x))
        out: Any = np.uint16(0)
        for number in (0, 1):
            half = (value >> np.uint32(16 * number)).astype(np.uint16).view(np.float16).astype(np.float64)
            bits = _to_bits(half, single, "rn", relu=i.has("relu"), finite=True)
            out = out | (bits.astype(np.uint16) << np.uint16(8 * number))
        write(x, out)

    return run
