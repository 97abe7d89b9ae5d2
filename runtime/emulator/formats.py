"""Float formats: how numpy holds them, and rounding to them in each of PTX's modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ptx import Array


@dataclass(frozen=True, slots=True)
class Format:
    """``precision`` counts the hidden bit; ``lowest`` is the exponent of the least normal number."""

    name: str
    bits: int
    precision: int
    lowest: int
    greatest: float
    nan: int
    infinite: bool = True


FORMATS = {
    "f32": Format("f32", 32, 24, -126, float(np.finfo(np.float32).max), 0x7FFFFFFF),
    "f16": Format("f16", 16, 11, -14, 65504.0, 0x7FFF),
    "bf16": Format("bf16", 16, 8, -126, 255 * 2.0**120, 0x7FFF),
    "tf32": Format("tf32", 32, 11, -126, 2047 * 2.0**117, 0x7FFFFFFF),
    "e4m3": Format("e4m3", 8, 4, -6, 448.0, 0x7F, infinite=False),
    "e5m2": Format("e5m2", 8, 3, -14, 57344.0, 0x7F),
}


def to_f32(bits: Any) -> Any:
    """bf16 in its bits to float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def widen(value: Any, name: str) -> Any:
    """A value in the form in which registers hold it, as float64."""
    if name in ("f32", "f64", "f16"):
        return value.astype(np.float64)
    if name == "bf16":
        return to_f32(value).astype(np.float64)
    if name == "tf32":
        return (value & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return _EIGHT[name][value.astype(np.intp)]


def flush(value: Any) -> Any:
    """float32 without subnormals: zeros with their signs."""
    tiny = np.abs(value) < np.float32(2.0**-126)
    if not np.any(tiny):
        return value
    return np.where(tiny, np.copysign(np.float32(0), value), value)


def canonical(value: Array) -> Array:
    """float32 with the one NaN that arithmetic gives."""
    nan = value != value
    if nan.any():
        value = np.where(nan, np.uint32(0x7FFFFFFF), value.view(np.uint32)).view(np.float32)
    return value


def quantize(value: Any, form: Format, mode: str) -> Any:
    """float64 (rounded to odd, if inexact) rounded to a format, still as float64."""
    value = np.asarray(value, np.float64)
    exponent = ((value.view(np.uint64) >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64) - 1023
    quantum = np.ldexp(1.0, np.maximum(exponent, form.lowest) - form.precision + 1)
    scaled = value / quantum
    rounded = _ROUND[mode](scaled)
    out = np.where(np.isfinite(value), np.copysign(rounded * quantum, value), value)
    over = (np.abs(out) > form.greatest) & np.isfinite(value)
    if over.any():
        keeps = {"rn": False, "rna": False, "rz": True, "rm": value > 0, "rp": value < 0}[mode]
        out = np.where(
            over, np.where(keeps, np.copysign(form.greatest, value), np.copysign(np.inf, value)), out
        )
    return out


def _away(value: Any) -> Any:
    return np.trunc(value + np.copysign(0.5, value))


_ROUND: dict[str, Callable[[Any], Any]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rm": np.floor,
    "rp": np.ceil,
    "rna": _away,
}


def narrow(value: Any, name: str, mode: str = "rn") -> Any:
    """float64 (rounded to odd, if inexact) to the form in which registers hold a format."""
    if name == "f64":
        return value
    if name == "f32":
        if mode != "rn":
            value = quantize(value, FORMATS["f32"], mode)
        return canonical(np.asarray(value).astype(np.float32))
    if name == "f16":
        if mode != "rn":
            value = quantize(value, FORMATS["f16"], mode)
        out = np.asarray(value).astype(np.float16)
        nan = np.isnan(out)
        return np.where(nan, np.uint16(0x7FFF), out.view(np.uint16)).view(np.float16) if nan.any() else out
    form = FORMATS[name]
    exact = quantize(value, form, mode)
    if name == "bf16":
        bits = (exact.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return np.where(np.isnan(exact), np.uint16(form.nan), bits)
    if name == "tf32":
        bits = exact.astype(np.float32).view(np.uint32)
        return np.where(np.isnan(exact), np.uint32(form.nan), bits)
    return _narrow_eight(exact, form)


def _narrow_eight(exact: Array, form: Format) -> Array:
    """To eight bits: through the table of all of their values."""
    table = _EIGHT[form.name][:128]
    order = np.argsort(table[~np.isnan(table)])
    finite = table[order]
    place = np.searchsorted(finite, np.abs(exact))
    bits = order[np.minimum(place, len(order) - 1)].astype(np.uint8)
    bits = np.where(
        np.isnan(exact), np.uint8(form.nan), bits | (np.signbit(exact).astype(np.uint8) << np.uint8(7))
    )
    if not form.infinite:
        bits = np.where(np.isinf(exact), np.uint8(form.nan), bits)
    return bits.astype(np.uint8)


def _eight(form: Format) -> Array:
    """The values of all 256 patterns of an eight-bit format."""
    fraction_bits = form.precision - 1
    out = np.zeros(256)
    for pattern in range(256):
        exponent, fraction = (pattern & 127) >> fraction_bits, pattern & ((1 << fraction_bits) - 1)
        scale = 2.0 ** (max(exponent, 1) - 1 + form.lowest - fraction_bits)
        value = (fraction + (exponent > 0) * (1 << fraction_bits)) * scale
        if form.infinite and exponent == (1 << (7 - fraction_bits)) - 1:
            value = np.nan if fraction else np.inf
        elif not form.infinite and pattern & 127 == 127:
            value = np.nan
        out[pattern] = -value if pattern & 128 else value
    return out


_EIGHT = {name: _eight(FORMATS[name]) for name in ("e4m3", "e5m2")}


def pieces(value: Any, name: str) -> Any:
    """A register of two packed numbers as an array of twice the length, in the form of the one format."""
    dense = np.ascontiguousarray(value)
    single = name[: -len("x2")]
    width = {"f16": np.dtype(np.float16), "bf16": np.dtype(np.uint16), "f32": np.dtype(np.float32)}
    return dense.view(width.get(single, np.dtype(np.uint8)))
