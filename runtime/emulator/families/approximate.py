"""Roots, reciprocals and transcendental functions: section 9.7.3 of the PTX ISA.

The approximate ones are computed in float64 and rounded once: nearer to the true value than the
error that the ISA allows (a GPU differs in the last bits). Special values are as in its tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import exact
from ..decode import Decoder
from ..formats import flush, narrow, widen
from ..ptx import Instruction
from ..registry import Run, instruction
from .floats import elementwise, finished, rounding

FLOAT = "9.7.3 Floating-Point"
Function = Callable[[Any], Any]


def _through_f64(i: Instruction, d: Decoder, function: Function) -> Run:
    kind, mode = i.types[-1], rounding(i)
    name = kind.name.removesuffix("x2")

    def apply(a: Any) -> Any:
        return narrow(function(widen(a, name)), name, mode)

    return elementwise(i, d, finished(i, name, apply), kind)


@instruction("rcp", section=FLOAT + ": rcp", kind="special")
def rcp(i: Instruction, d: Decoder) -> Run:
    """1 / a."""
    mode = rounding(i)
    if i.types[-1].name == "f64":
        return elementwise(i, d, _coarse(i, np.reciprocal) if i.has("approx") else _rcp64(mode), i.types[-1])

    def quotient(a: Any) -> Any:
        found = 1.0 / a
        product, error = exact.two_product(found, a)
        rest = ((1.0 - product) - error) * np.sign(a)
        return exact.to_odd(found, np.where(np.isfinite(rest), rest, 0))

    return _through_f64(i, d, quotient)


def _rcp64(mode: str) -> Function:
    def run(a: Any) -> Any:
        found = 1.0 / a
        if mode == "rn":
            return found
        product, error = exact.two_product(found, a)
        rest = ((1.0 - product) - error) * np.sign(a)
        return exact.directed(lambda value: 1 / value, mode, found, rest, a)

    return run


def _coarse(i: Instruction, function: Function) -> Function:
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 see and give only the upper 32 bits."""
    upper, canonical = np.uint64(0xFFFFFFFF00000000), np.uint64(0x7FFFFFFF00000000)

    def run(a: Any) -> Any:
        seen = (np.asarray(a).view(np.uint64) & upper).view(np.float64)
        seen = np.where(np.abs(seen) < 2.0**-1022, np.copysign(0.0, seen), seen)
        out = np.asarray(function(seen))
        out = np.where(np.abs(out) < 2.0**-1022, np.copysign(0.0, out), out)
        return np.where(np.isnan(out), canonical, out.view(np.uint64) & upper).view(np.float64)

    return run


@instruction("sqrt", section=FLOAT + ": sqrt", kind="special")
def sqrt(i: Instruction, d: Decoder) -> Run:
    """The square root."""
    mode = rounding(i)

    def root(a: Any) -> Any:
        found = np.sqrt(a)
        product, error = exact.two_product(found, found)
        rest = (a - product) - error
        return exact.to_odd(found, np.where(np.isfinite(rest), rest, 0))

    def double(a: Any) -> Any:
        if mode == "rn":
            return np.sqrt(a)
        # Scaled by an even power of two, the root's square is far from the ends of the range.
        shift = np.where(a < 2.0**-500, 400, np.where(a > 2.0**500, -400, 0))
        scaled = np.ldexp(a, shift)
        found = np.sqrt(scaled)
        product, error = exact.two_product(found, found)
        return np.ldexp(exact.nudged(found, (scaled - product) - error, mode), -shift // 2)

    if i.types[-1].name == "f64":
        return elementwise(i, d, double, i.types[-1])
    return _through_f64(i, d, root)


@instruction("rsqrt", section=FLOAT + ": rsqrt", kind="special")
def rsqrt(i: Instruction, d: Decoder) -> Run:
    """1 / sqrt(a)."""
    if i.types[-1].name == "f64":
        function: Function = lambda a: 1.0 / np.sqrt(a)  # noqa: E731
        return elementwise(i, d, _coarse(i, function) if i.has("ftz") else function, i.types[-1])
    return _through_f64(i, d, lambda a: 1.0 / np.sqrt(a))


@instruction("sin", "cos", section=FLOAT + ": sin, cos", kind="special")
def sine(i: Instruction, d: Decoder) -> Run:
    """Sine and cosine."""
    return _through_f64(i, d, np.sin if i.opcode == "sin" else np.cos)


@instruction("lg2", section=FLOAT + ": lg2", kind="special")
def lg2(i: Instruction, d: Decoder) -> Run:
    """The logarithm to base 2."""
    return _through_f64(i, d, np.log2)


@instruction("ex2", section=FLOAT + ": ex2; 9.7.4 for half precision", kind="special")
def ex2(i: Instruction, d: Decoder) -> Run:
    """Two to the power of a."""
    if i.types[-1].name.startswith("bf16") or not i.has("ftz"):
        return _through_f64(i, d, np.exp2)
    if i.types[-1].name == "f32":
        return elementwise(
            i, d, lambda a: flush(narrow(np.exp2(flush(a).astype(np.float64)), "f32")), i.types[-1]
        )
    return _through_f64(i, d, np.exp2)


@instruction("tanh", section=FLOAT + ": tanh; 9.7.4 for half precision", kind="special")
def tanh(i: Instruction, d: Decoder) -> Run:
    """The hyperbolic tangent."""
    return _through_f64(i, d, np.tanh)
