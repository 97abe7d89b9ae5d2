"""Functions of which a GPU has the instruction, with the very result: LLVM knows them, too."""

from __future__ import annotations

from mlir import ir

from .approximate import intrinsic
from .registry import expands
from .scalars import Scalars

_INTRINSICS = {
    "math.fma": "llvm.fma.f32",
    "math.absf": "llvm.fabs.f32",
    "arith.maxnumf": "llvm.maxnum.f32",
    "arith.minnumf": "llvm.minnum.f32",
}


@expands("math.fma")
@expands("math.absf")
@expands("arith.maxnumf")
@expands("arith.minnumf")
def exact(_: Scalars, op: ir.Operation) -> ir.Value:
    """LLVM's intrinsic."""
    return intrinsic(_INTRINSICS[op.name], *op.operands)
