"""Rows that are too long for a block's registers are run through in steps, as often as they are needed.

Before::

    %v = vector.transfer_read %x[%i, %c0], … : memref<64x128256xf32>, vector<1x128256xf32>
    %m = vector.multi_reduction <maximumf>, %v, %low [1] : vector<1x128256xf32> to vector<1xf32>
    … %v - %m …

After::

    %m = scf.for %k = %c0 to %c128256 step %c32768 iter_args(%acc = %low) -> (vector<1xf32>) {
      %v = vector.transfer_read %x[%i, %k], … : memref<64x128256xf32>, vector<1x32768xf32>
      … what lies beyond the row replaced by the neutral element …
      %t = vector.multi_reduction <maximumf>, %w, %acc [1] : vector<1x32768xf32> to vector<1xf32>
      scf.yield %t
    }
    scf.for %k = … { %v = vector.transfer_read … - %m …; vector.transfer_write … }

Each reduction and each write gets a loop of its own, in which what it needs is read and computed again. A
block keeps at most `THREAD_ELEMENTS` elements a thread; shorter rows stay as they are. A step has fewer of
them, `STEP_ELEMENTS` a thread, as what the loops carry takes registers, too. Legal where all tiles
along the row are read, computed element by element, reduced or written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ...dialects.layouts import WARP
from ..base import Pass
from ..operations import nested_ops
from .chunks.choice import Steps, choose
from .chunks.slices import Slice
from .grids import grids_of
from .layouts.warps import warps_of

THREAD_ELEMENTS = 32
STEP_ELEMENTS = 8
_PURE = ("arith.", "math.", "vector.", "affine.", "memref.load", "memref.dim")


@dataclass(frozen=True)
class ChunkRows(Pass):
    """Run through the rows of kernels whose tiles are too large.

    ``thread-elements`` are a thread's share of a row, ``step-elements`` of a step.
    """

    name: ClassVar[str] = "mlopt-gpu-chunk-rows"
    thread_elements: int = THREAD_ELEMENTS
    step_elements: int = STEP_ELEMENTS

    def run(self, op: ir.Operation) -> None:
        """Shrink the tiles of each kernel, dim by dim, until they fit."""
        for forall in grids_of(op):
            threads = warps_of(forall) * WARP
            budget, step = threads * self.thread_elements, threads * self.step_elements
            block = forall.regions[0].blocks[0]
            while (steps := choose(nested_ops(block), budget, min(step, budget))) is not None:
                run_through(block, steps)


def run_through(block: ir.Block, steps: Steps) -> None:
    """Put a loop over the steps around the parts of each reduction and write."""
    roots = [op for op in nested_ops(block) if steps.is_root(op)]
    for root in roots:
        with ir.InsertionPoint(root), root.location:
            bounds = [_index(number) for number in (0, steps.extent, steps.size)]
            reduces = root.name == "vector.multi_reduction"
            loop = scf.ForOp(*bounds, [root.operands[1]] if reduces else [])
            with ir.InsertionPoint(loop.body):
                part = Slice(steps, loop.induction_variable)
                if reduces:
                    scf.YieldOp([part.reduce(root, loop.inner_iter_args[0])])
                else:
                    part.write(root)
                    scf.YieldOp([])
        if reduces:
            root.results[0].replace_all_uses_with(loop.results[0])
        root.erase()
    for op in reversed(nested_ops(block)):
        if (
            op.name.startswith(_PURE)
            and not any(list(result.uses) for result in op.results)
            and len(op.results)
        ):
            op.erase()


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return ir.Operation.create(
        "arith.constant", [kind], attributes={"value": ir.IntegerAttr.get(kind, number)}
    ).results[0]
