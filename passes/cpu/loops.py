"""Loops over indices: bounds that are numbers or values, and loops that hold nothing yet."""

from __future__ import annotations

from typing import TypeAlias

from mlir import ir
from mlir.dialects import scf

from ..constants import index_constant

Bound: TypeAlias = "int | ir.Value"


def as_value(bound: Bound) -> ir.Value:
    """A bound as an index value at the current insertion point."""
    return index_constant(bound) if isinstance(bound, int) else bound


def empty_loop(low: Bound, high: Bound, step: Bound) -> scf.ForOp:
    """An scf.for without results at the current insertion point; its body is only a yield."""
    loop = scf.ForOp(*(as_value(bound) for bound in (low, high, step)))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([])
    return loop
