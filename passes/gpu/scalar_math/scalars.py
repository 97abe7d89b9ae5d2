"""Arithmetic on one thread's f32 scalars, by LLVM's intrinsics where a GPU has the instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mlir import ir

from ...cpu.polynomials.lanes import Lanes
from .approximate import intrinsic
from .functions import Functions


@dataclass(frozen=True, eq=False)
class Scalars(Lanes):
    """Builds ops of a device function; constants stand at its ``entry``, each once, ``functions`` beside it.

    math.fma and math.absf would become calls of libdevice, each for LLVM to inline.
    """

    shape: None = None
    entry: ir.Block = field(kw_only=True)
    functions: Functions = field(kw_only=True)
    _known: dict[tuple[ir.Type, str], ir.Value] = field(default_factory=dict)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """`a * b + c`, rounded once."""
        return intrinsic("llvm.fma.f32", a, b, c)

    def abs(self, x: ir.Value) -> ir.Value:
        """`|x|`."""
        return intrinsic("llvm.fabs.f32", x)

    def call(self, formula: Callable[[Scalars, ir.Value], ir.Value], x: ir.Value) -> ir.Value:
        """``formula`` of ``x``, by a function of its name."""

        def write(argument: ir.Value, body: ir.Block) -> ir.Value:
            return formula(Scalars(entry=body, functions=self.functions), argument)

        return self.functions.call(formula.__name__.strip("_"), write, x)

    def _constant(self, type_: ir.Type, value: float, attribute: object) -> ir.Value:
        key = type_, repr(value)  # 0.0 is equal to -0.0
        if key not in self._known:
            with ir.InsertionPoint.at_block_begin(self.entry):
                self._known[key] = super()._constant(type_, value, attribute)
        return self._known[key]
