"""Scalars in shared memory: truth values are bytes there."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .builder import Builder


def stored_type(element: ir.Type) -> ir.Type:
    """The type that a scalar has in shared memory."""
    if isinstance(element, ir.IntegerType) and element.width < 8:
        return ir.IntegerType.get_signless(8)
    return element


def store_stored(build: Builder, values: Sequence[ir.Value], pointer: ir.Value, align: int) -> None:
    """Store neighbours."""
    kind = stored_type(values[0].type)
    if kind != values[0].type:
        values = [build.op("arith.extui", [value], kind) for value in values]
    build.store(values, pointer, align)


def load_stored(
    build: Builder, pointer: ir.Value, element: ir.Type, width: int, align: int
) -> list[ir.Value]:
    """Load neighbours."""
    kind = stored_type(element)
    if width == 2 and kind.width == 8:
        return [build.op("arith.trunci", [each], element) for each in _two_bytes(build, pointer, align)]
    values = build.load(pointer, kind, width, align, constant=False)
    if kind == element:
        return values
    return [build.op("arith.trunci", [value], element) for value in values]


def _two_bytes(build: Builder, pointer: ir.Value, align: int) -> list[ir.Value]:
    """Two bytes in the low bits of a number each: LLVM shuffles vectors of two with bytes without a value."""
    both = ir.IntegerType.get_signless(16)
    (loaded,) = build.load(pointer, both, 1, align, constant=False)
    return [loaded, build.op("arith.shrui", [loaded, build.constant(both, 8)], both)]
