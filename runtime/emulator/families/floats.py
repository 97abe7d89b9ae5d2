"""Floating-point arithmetic in all formats: sections 9.7.3 to 9.7.5 of the PTX ISA."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import exact
from ..context import Context
from ..decode import Decoder
from ..formats import canonical, flush, narrow, pieces, widen
from ..ptx import TYPES, Instruction, Type
from ..registry import Run, instruction

FLOAT = "9.7.3 Floating-Point"
Apply = Callable[..., Any]


def rounding(i: Instruction) -> str:
    """The rounding mode among the modifiers."""
    return next((mod for mod in i.mods if mod in ("rn", "rz", "rm", "rp")), "rn")


def elementwise(i: Instruction, d: Decoder, apply: Apply, kind: Type) -> Run:
    """Runs ``apply`` on the sources in the form of their format; packed registers are split into halves."""
    write = d.write(i.operands[0], kind)
    reads = [d.read(operand, kind) for operand in i.operands[1:]]
    if kind.name.endswith("x2"):

        def packed(x: Context) -> None:
            values = [pieces(x.dense(read(x)), kind.name) for read in reads]
            write(x, np.ascontiguousarray(apply(*values)).view(kind.raw))

        return packed
    if len(reads) == 1:
        (one,) = reads
        return lambda x: write(x, apply(one(x)))
    if len(reads) == 2:
        a, b = reads
        return lambda x: write(x, apply(a(x), b(x)))
    return lambda x: write(x, apply(*(read(x) for read in reads)))


def finished(i: Instruction, name: str, apply: Apply) -> Apply:
    """With the modifiers that hold for every operation: .ftz on what comes in and goes out, .sat, .relu."""
    ftz, sat, relu = i.has("ftz") and name in ("f32", "f16"), i.has("sat"), i.has("relu")
    if not (ftz or sat or relu):
        return apply
    flushed = flush if name == "f32" else _flush_half

    def run(*values: Any) -> Any:
        if ftz:
            values = tuple(flushed(value) for value in values)
        out = apply(*values)
        if ftz:
            out = flushed(out)
        if sat or relu:
            out = clamp(out, name, 1.0 if sat else np.inf, keeps_nan=relu)
        return out

    return run


def _flush_half(value: Any) -> Any:
    return np.where(np.abs(value) < np.float16(2.0**-14), np.copysign(np.float16(0), value), value)


def clamp(value: Any, name: str, top: float, *, keeps_nan: bool) -> Any:
    """Clamped to [0, top]; NaN becomes 0, or stays."""
    real = widen(value, name)
    out = np.where(real > 0, np.minimum(real, top), 0.0)
    return narrow(np.where(np.isnan(real), real, out) if keeps_nan else out, name)


def add(i: Instruction, d: Decoder) -> Run:
    """add and sub."""
    kind, mode = i.types[-1], rounding(i)
    minus = i.opcode == "sub"
    if len(i.types) == 2 and i.types[0].name in ("f32",) and kind.name in ("f16", "bf16"):
        raise d.fail("mixed precision")
    name = kind.name.removesuffix("x2")
    native = np.subtract if minus else np.add

    def generic(a: Any, b: Any) -> Any:
        left, right = widen(a, name), widen(b, name)
        return narrow(exact.odd_sum(left, -right if minus else right), name, mode)

    def double(a: Any, b: Any) -> Any:
        right = -b if minus else b
        total, error = exact.two_sum(a, right)
        rounded = exact.directed(operator.add, mode, total, error, a, right)
        return np.where((rounded == 0) & (a != 0), -0.0 if mode == "rm" else 0.0, rounded)

    apply: Apply = generic
    if name == "f32" and mode == "rn":
        apply = lambda a, b: canonical(native(a, b))  # noqa: E731
    elif name == "f64":
        apply = native if mode == "rn" else double
    elif name == "f16" and mode == "rn":
        apply = lambda a, b: narrow(native(a.astype(np.float32), b.astype(np.float32)), "f16")  # noqa: E731
    return elementwise(i, d, finished(i, name, apply), kind)


def mul(i: Instruction, d: Decoder) -> Run:
    """mul."""
    kind, mode = i.types[-1], rounding(i)
    name = kind.name.removesuffix("x2")

    def generic(a: Any, b: Any) -> Any:
        return narrow(widen(a, name) * widen(b, name), name, mode)

    def double(a: Any, b: Any) -> Any:
        product, error = exact.two_product(a, b)
        return exact.directed(operator.mul, mode, product, error, a, b)

    apply: Apply = generic
    if name == "f32" and mode == "rn":
        apply = lambda a, b: canonical(a * b)  # noqa: E731
    elif name == "f64":
        apply = np.multiply if mode == "rn" else double
    return elementwise(i, d, finished(i, name, apply), kind)


@instruction("fma", section=FLOAT + ": fma; 9.7.4 for half precision", kind="arithmetic")
def fma(i: Instruction, d: Decoder) -> Run:
    """Multiplies and adds with one rounding."""
    kind, mode = i.types[-1], rounding(i)
    name = kind.name.removesuffix("x2")
    if i.has("oob"):
        raise d.fail("with .oob")

    def generic(a: Any, b: Any, c: Any) -> Any:
        product = widen(a, name) * widen(b, name)  # exact: two of at most 24 bits
        return narrow(exact.odd_sum(product, widen(c, name)), name, mode)

    def double(a: Any, b: Any, c: Any) -> Any:
        a, b, c = np.broadcast_arrays(np.atleast_1d(a), b, c)
        out = exact.fma(a, b, c)
        return out if mode == "rn" else exact.fma_directed(a, b, c, out, mode)

    apply = {"f64": double}.get(name, fma32 if name == "f32" and mode == "rn" else generic)
    return elementwise(i, d, finished(i, name, apply), kind)


_LOW = np.uint64((1 << 29) - 1)
_HALF = np.uint64(1 << 28)


def fma32(a: Any, b: Any, c: Any) -> Any:
    """a * b + c for float32, rounded once.

    The sum in float64 rounds a first time; that does harm only where it then looks like a tie of
    two float32, or where the result is subnormal. Only these sums are made exact.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    wide = c.astype(np.float64)
    total = np.asarray(product + wide)
    risky = (total.view(np.uint64) & _LOW) == _HALF
    risky |= (np.abs(total) < 2.0**-125) & (total != 0)
    if risky.any():
        total = np.where(risky, exact.odd_sum(product, wide), total)
    return canonical(np.asarray(total.astype(np.float32)))


def div(i: Instruction, d: Decoder) -> Run:
    """div: correctly rounded, or .full and .approx, which are exact here but for the ISA's special cases."""
    kind, mode = i.types[-1], rounding(i)

    def double(a: Any, b: Any) -> Any:
        quotient = a / b
        product, error = exact.two_product(quotient, b)
        rest = ((a - product) - error) * np.sign(b)
        return exact.directed(operator.truediv, mode, quotient, rest, a, b)

    def single(a: Any, b: Any) -> Any:
        left, right = a.astype(np.float64), b.astype(np.float64)
        quotient = left / right
        product, error = exact.two_product(quotient, right)
        rest = ((left - product) - error) * np.sign(right)
        return narrow(exact.to_odd(quotient, np.where(np.isfinite(rest), rest, 0)), "f32", mode)

    def approximate(a: Any, b: Any) -> Any:
        out = a / b
        huge = (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)
        return canonical(np.where(huge, np.where(np.isinf(a), np.float32(np.nan), a * np.float32(0)), out))

    apply: Apply
    if kind.name == "f64":
        apply = np.divide if mode == "rn" else double
    elif i.has("approx"):
        apply = approximate
    else:
        apply = (lambda a, b: canonical(np.asarray(a / b))) if mode == "rn" else single
    return elementwise(i, d, finished(i, kind.name, apply), kind)


def sign_bit(i: Instruction, d: Decoder) -> Run:
    """abs and neg: only the sign changes."""
    kind = i.types[-1]
    width = 16 if kind.name.endswith("x2") or kind.bits == 16 else kind.bits
    sign = sum(1 << (place + width - 1) for place in range(0, kind.bits, width))
    raw = TYPES[f"u{kind.bits}"]
    mask = raw.dtype.type(sign if i.opcode == "neg" else sign ^ ((1 << kind.bits) - 1))
    write, read = d.write(i.operands[0], kind), d.read(i.operands[1], raw)
    change = np.bitwise_xor if i.opcode == "neg" else np.bitwise_and
    if i.has("ftz") and kind.name == "f32":
        return lambda x: write(x, flush(change(read(x), mask).view(np.float32)))
    return lambda x: write(x, change(read(x), mask))


def least(i: Instruction, d: Decoder) -> Run:
    """min and max: the other operand where one is NaN, unless .NaN; -0 is below +0."""
    kind = i.types[-1]
    name = kind.name.removesuffix("x2")
    smaller, nan, absolute = i.opcode == "min", i.has("NaN"), i.has("xorsign")
    nan_wins = np.minimum if smaller else np.maximum
    nan_loses = np.fmin if smaller else np.fmax

    def apply(*values: Any) -> Any:
        out: Any = None
        sign: Any = None
        for value in values:
            real = value if name in ("f32", "f64") else widen(value, name)
            if absolute:
                sign = np.signbit(real) if sign is None else sign ^ np.signbit(real)
                real = np.abs(real)
            if out is None:
                out = real
                continue
            found = (nan_wins if nan else nan_loses)(out, real)
            zeros = (out == 0) & (real == 0)
            if np.any(zeros):
                both = np.signbit(out) | np.signbit(real) if smaller else np.signbit(out) & np.signbit(real)
                found = np.where(zeros, np.where(both, -0.0, 0.0).astype(found.dtype), found)
            out = found
        if absolute:
            out = np.where(sign, -out, out)
        return out if name == "f64" else narrow(out, name)

    return elementwise(i, d, finished(i, name, apply), kind)


@instruction("copysign", section=FLOAT + ": copysign", kind="arithmetic")
def copysign(i: Instruction, d: Decoder) -> Run:
    """The sign of the first operand, the rest of the second."""
    return elementwise(i, d, lambda a, b: np.copysign(b, a), i.types[-1])


@instruction("testp", section=FLOAT + ": testp", kind="compare")
def testp(i: Instruction, d: Decoder) -> Run:
    """Whether a number is finite, infinite, a NaN, normal or subnormal."""
    kind = i.types[-1]
    write, read = d.write(i.operands[0], TYPES["pred"]), d.read(i.operands[1], kind)
    tiny = np.finfo(kind.dtype).tiny
    tests: dict[str, Apply] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }
    test = tests[i.mods[0]]
    return lambda x: write(x, test(read(x)))
