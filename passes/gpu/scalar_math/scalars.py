"""Arithmetic on one thread's f32 scalars, by LLVM's intrinsics where a GPU has the instruction."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlir import ir

from ...cpu.polynomials.lanes import Lanes
from .approximate import intrinsic


@dataclass(frozen=True, eq=False)
class Scalars(Lanes):
    """Builds ops of a device function; constants stand at its ``entry``, each once.

    math.fma and math.absf would become calls of libdevice, each for LLVM to inline.
    """

    shape: None = None
    entry: ir.Block = field(kw_only=True)
    _known: dict[tuple[ir.Type, str], ir.Value] = field(default_factory=dict)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """`a * b + c`, rounded once."""
        return intrinsic("llvm.fma.f32", a, b, c)

    def abs(self, x: ir.Value) -> ir.Value:
        """`|x|`."""
        return intrinsic("llvm.fabs.f32", x)

    def _constant(self, type_: ir.Type, value: float, attribute: object) -> ir.Value:
        key = type_, repr(value)  # 0.0 is equal to -0.0
        if key not in self._known:
            with ir.InsertionPoint.at_block_begin(self.entry):
                self._known[key] = super()._constant(type_, value, attribute)
        return self._known[key]
