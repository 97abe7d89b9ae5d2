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

Each reduction and each write gets a loop of its own, in which what it needs is read and computed again. It
carries the totals of a scan from step to step::

    scf.for %k = … iter_args(%acc = %zero) {
      %t, %all = vector.scan <add>, %v, %acc …; vector.transfer_write %t …; scf.yield %all
    }

A block keeps at most `THREAD_ELEMENTS` elements a thread, `SCAN_ELEMENTS` where each is read once in any
case; shorter rows stay as they are. A step has fewer of them, `STEP_ELEMENTS` a thread, as what the loops
carry takes registers, too. Legal where all tiles along the row are read, computed element by element,
scanned, reduced or written.

So is done with a row that fits, but not beside what all tasks read alike, as the weights of a norm, if shared
memory has room for it (mlopt-gpu-keep-rows): else some weights would be loaded when others have been used.
Effect on sm_80, layer_norm of 2048x32768 in f32: wide loads after the first use 11 to 0, registers 64 to 48.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ...dialects.layouts import WARP
from ..base import Pass
from ..operations import nested_ops, ops_named
from .chunks.choice import WORD, Steps, choose, words
from .chunks.slices import Slice
from .grids import grids_of
from .keep_rows import RESERVED, SHARED, beside
from .layouts.access import Access, access_of
from .layouts.tiles import is_tile, sizes_of
from .layouts.warps import REGISTERS, warps_of
from .turns.reads import depends_on, is_shared

THREAD_ELEMENTS = 32
STEP_ELEMENTS = 8
SCAN_ELEMENTS = 16
PLACES = 8  # registers of a thread with addresses and the like
_PURE = ("arith.", "math.", "vector.", "affine.", "memref.load", "memref.dim")


@dataclass(frozen=True)
class ChunkRows(Pass):
    """Run through the rows of kernels whose tiles are too large.

    ``thread-elements`` are a thread's share of a row, ``scan-elements`` of one that is only scanned,
    ``step-elements`` of a step; ``shared``: how many bytes of shared memory a multiprocessor has.
    """

    name: ClassVar[str] = "mlopt-gpu-chunk-rows"
    thread_elements: int = THREAD_ELEMENTS
    step_elements: int = STEP_ELEMENTS
    scan_elements: int = SCAN_ELEMENTS
    shared: int = SHARED

    def run(self, op: ir.Operation) -> None:
        """Shrink the tiles of each kernel, dim by dim, until they fit."""
        for forall in grids_of(op):
            threads = warps_of(forall) * WARP
            budget, step = threads * self.thread_elements, threads * self.step_elements
            if is_crowded(forall, threads) and can_keep(forall, self.shared):
                budget = min(budget, largest_tile(forall) - 1)
            if is_read_once(forall):
                budget = min(budget, threads * self.scan_elements)
            block = forall.regions[0].blocks[0]
            while (steps := choose(nested_ops(block), budget, min(step, budget))) is not None:
                run_through(block, steps)


def is_read_once(forall: ir.Operation) -> bool:
    """Whether a task scans, and reduces nothing: no element has to wait for the rest of its row."""
    return bool(ops_named(forall, "vector.scan")) and not ops_named(forall, "vector.multi_reduction")


def is_crowded(forall: ir.Operation, threads: int) -> bool:
    """Whether a thread's share of a row, and of what all tasks read alike, are more than its registers."""
    row = largest_tile(forall)
    alike = sum(access.bytes for access in _reads(forall, alike=True)) // WORD
    return bool(alike) and row + alike > REGISTERS - PLACES * threads


def can_keep(forall: ir.Operation, shared: int) -> bool:
    """Whether shared memory has room for the rows that a block reads for itself."""
    rows = sum(access.bytes for access in _reads(forall, alike=False))
    return rows + RESERVED + beside(forall) <= shared


def largest_tile(forall: ir.Operation) -> int:
    """The words of the largest tile."""
    tiles = [value for op in nested_ops(forall) for value in op.results if is_tile(value)]
    return max((prod(sizes_of(tile)) * words(tile) for tile in tiles), default=0)


def _reads(forall: ir.Operation, alike: bool) -> list[Access]:
    """The reads of a task that are, or are not, the same in all tasks."""
    loops = range(len(forall.regions[0].blocks[0].arguments))
    changing = set[ir.Value]().union(*(depends_on(forall, loop) for loop in loops))
    reads = ops_named(forall, "vector.transfer_read")
    return [access_of(op) for op in reads if is_shared(op, changing) == alike]


def run_through(block: ir.Block, steps: Steps) -> None:
    """Put a loop over the steps around the parts of each reduction and write."""
    roots = [op for op in nested_ops(block) if steps.is_root(op)]
    for root in roots:
        with ir.InsertionPoint(root), root.location:
            bounds = [_index(number) for number in (0, steps.extent, steps.size)]
            reduces, scans = root.name == "vector.multi_reduction", steps.scans(root)
            starts = [op.operands[1] for op in (*scans, *([root] if reduces else []))]
            loop = scf.ForOp(*bounds, starts)
            with ir.InsertionPoint(loop.body):
                carried = list(loop.inner_iter_args)
                part = Slice(steps, loop.induction_variable, dict(zip(scans, carried, strict=False)))
                reduced = [part.reduce(root, carried[-1])] if reduces else []
                if not reduces:
                    part.write(root)
                scf.YieldOp([*(part.after[op] for op in scans), *reduced])
        if reduces:
            root.results[0].replace_all_uses_with(loop.results[len(scans)])
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
