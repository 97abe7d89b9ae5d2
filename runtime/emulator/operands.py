"""Operands to functions that read or write them for the lanes that run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .context import Context
from .ptx import RAW, Array, Instruction, Number, Type

Read = Callable[[Context], Any]
Write = Callable[[Context, Any], None]


def constant(number: Number, kind: Type) -> Any:
    """An immediate as a numpy scalar of a type: in its bits where numpy lacks the format."""
    value, bits = number.value, number.bits
    if kind.name in ("f32", "f64"):
        if isinstance(value, int):  # an integer where a float is meant spells its bits
            return np.array(value & ((1 << kind.bits) - 1), kind.raw).view(kind.dtype)[()]
        if bits is not None and kind.bits == (64 if bits >> 32 else 32):
            return np.array(bits, kind.raw).view(kind.dtype)[()]
        return kind.dtype.type(value)
    if isinstance(value, float):
        if bits is not None:
            return np.array(bits & ((1 << kind.bits) - 1), kind.raw).view(kind.dtype)[()]
        width = np.dtype(f"f{kind.bits // 8}")
        return np.array(value, width).view(kind.dtype)[()]
    if kind.bits == 1:
        return np.bool_(value != 0)
    return np.array(value & ((1 << kind.bits) - 1), kind.raw).view(kind.dtype)[()]


def read_register(index: int, width: int, kind: Type) -> Read:
    """Reads a register of ``width`` bits as ``kind``: its low bits where it is wider."""
    dtype, raw = kind.dtype, kind.raw
    if width == kind.bits and dtype == raw:

        def same(x: Context) -> Array:
            value: Array = x.regs[index]
            return value if x.sel is None else value[x.sel]

        return same
    if width == kind.bits:

        def viewed(x: Context) -> Array:
            value: Array = x.regs[index]
            return (value if x.sel is None else value[x.sel]).view(dtype)

        return viewed

    def resized(x: Context) -> Array:
        value: Array = x.regs[index]
        return (value if x.sel is None else value[x.sel]).astype(raw).view(dtype)

    return resized


def write_register(index: int, width: int, kind: Type) -> Write:
    """Writes a register of ``width`` bits: with sign or zeros above, where ``kind`` is narrower.

    The value must be a new array, or one for all lanes: what is written may be kept.
    """
    raw = RAW[width]
    wide = np.dtype(f"i{width // 8}") if kind.kind == "s" and width > kind.bits else raw
    dtype = kind.dtype if kind.kind == "s" else kind.raw
    extend = width != kind.bits

    def write(x: Context, value: Any) -> None:
        value = value.view(dtype).astype(wide).view(raw) if extend else value.view(raw)
        if x.sel is None:
            x.regs[index] = value if value.ndim else np.full(x.count, value, raw)
            return
        whole = x.regs[index]
        if whole is None:
            whole = x.regs[index] = np.zeros(x.batch.shape.lanes, raw)
        whole[x.sel] = value

    return write


def checked_read(read: Read, index: int, raw: np.dtype[Any], name: str, instruction: Instruction) -> Read:
    """The same for a register that is not set on every path: lanes without a value are reported."""

    def checked(x: Context) -> Any:
        defined = x.frame.defined.get(index)
        if defined is None:
            defined = x.frame.defined[index] = np.zeros(x.batch.shape.lanes, np.bool_)
        if x.regs[index] is None:
            x.regs[index] = np.zeros(x.batch.shape.lanes, raw)
        mine = x.lanes.take(defined)
        if not mine.all():
            x.report(instruction, "uninitialized-register", f"{name} has no value here", ~mine)
        return read(x)

    return checked


def noted_write(write: Write, index: int) -> Write:
    """A write to such a register."""

    def noted(x: Context, value: Any) -> None:
        write(x, value)
        defined = x.frame.defined.get(index)
        if defined is None:
            defined = x.frame.defined[index] = np.zeros(x.batch.shape.lanes, np.bool_)
        if x.sel is None:
            defined[:] = True
        else:
            defined[x.sel] = True

    return noted
