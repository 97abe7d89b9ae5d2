"""Factors of products that no step of a loop changes are read before the loop.

Before::

    %r = scf.for %n = %c0 to %keys step %c64 … {
      %q = vector.transfer_read %x[%i, %c0], %pad : memref<512x64xbf16>, vector<128x64xbf16>
      %s = vector.contract {…, mlopt.mma = "m16n8k16.bf16"} %q, %k, %zero
      …

After::

    %q = vector.transfer_read %x[%i, %c0], %pad : memref<512x64xbf16>, vector<128x64xbf16>
    %r = scf.for %n = %c0 to %keys step %c64 … {
      %s = vector.contract {…, mlopt.mma = "m16n8k16.bf16"} %q, %k, %zero
      …

Attention's queries, and what is computed with them: their fragments stay in registers while keys come and go.
Legal for reads of buffers that the kernel does not write to. Runs after mlopt-gpu-tensor-cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import MMA
from ..base import Pass
from ..operations import block_ops, nested_ops
from .grids import grids_of

_READ = "vector.transfer_read"
_VIEWS = (
    "memref.cast",
    "memref.subview",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
)
_READERS = (_READ, "memref.load", "memref.dim", *_VIEWS)
_PURE = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "vector.transpose", _READ)


@dataclass(frozen=True)
class HoistFactors(Pass):
    """Move what a loop makes in each step anew for its products before it."""

    name: ClassVar[str] = "mlopt-gpu-hoist-factors"

    def run(self, op: ir.Operation) -> None:
        """Move factors of each loop of each kernel, inner loops first."""
        for forall in grids_of(op):
            written = {buffer for each in nested_ops(forall) for buffer in _written(each)}
            for loop in reversed([each for each in nested_ops(forall) if each.name == "scf.for"]):
                products = [each for each in block_ops(loop) if MMA.name in each.attributes]
                for value in (factor for product in products for factor in list(product.operands)[:2]):
                    for inner in invariant(loop, value, written) or ():
                        inner.move_before(loop)


def invariant(loop: ir.Operation, value: ir.Value, written: set[ir.Value]) -> list[ir.Operation] | None:
    """The ops of the loop's body that make ``value``, in their order; None if a step may change it."""
    body = loop.regions[0].blocks[0]
    if isinstance(value.owner, ir.Block):
        return None if value.owner == body else []
    op = value.owner.operation
    if op.block != body:
        return []
    if (
        not op.name.startswith(_PURE)
        or op.regions
        or (op.name == _READ and _buffer(op.operands[0]) in written)
    ):
        return None
    found: list[ir.Operation] = []
    for operand in op.operands:
        before = invariant(loop, operand, written)
        if before is None:
            return None
        found += [each for each in before if each not in found]
    return [*found, op]


def _written(op: ir.Operation) -> list[ir.Value]:
    """The buffers that ``op`` may write to: all that it is given, if it is not known to read only."""
    if op.name in _READERS:
        return []
    return [_buffer(value) for value in op.operands if isinstance(value.type, ir.MemRefType)]


def _buffer(value: ir.Value) -> ir.Value:
    """The buffer that a view is of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _VIEWS:
        value = value.owner.operation.operands[0]
    return value
