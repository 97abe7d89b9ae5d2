"""Tiles between two contractions go through scratch memory, so that each is a loop nest of its own.

Before, attention's loop over blocks of keys (`passes/tiling/attention.py`)::

    %r:3 = scf.for %n … iter_args(%top, %sum, %acc) {
      %q = vector.transfer_read %Q …
      %s = vector.contract %q, %k …
      %new = vector.multi_reduction <maximumf>, %s, %top …
      %p = math.exp (%s - %new)
      %next = vector.contract %p, %v, %acc * %old
      scf.yield %new, %total, %next

After::

    vector.transfer_write %q, %queries {permutation (m, k) -> (k, m)}
    vector.transfer_write %zero, %acc
    scf.for %n … {
      vector.transfer_write (vector.contract (read %queries), %k …), %scores {(m, n) -> (n, m)}
      vector.transfer_write (vector.multi_reduction (read %scores), …), %new
      vector.transfer_write (math.exp (read %scores - read %new)), %scores
      vector.transfer_write (vector.contract (read %scores), %v, (read %acc) * (read %old)), %acc
    }

mlopt-cpu-strip-mine emits a nest for each write, with its own lanes: the rows for the scores, so that no key
is transposed and no maximum crosses lanes; the values' own dim for the weighted sums. Scores of a few rows
are sums (a vector.multi_reduction) along a key, and their lanes then the keys. Staged are what a reduction
makes, and reads beside others, exponentials, what the loop carries, and the factor of a product of which
neither is contiguous along a dim that stays, with what is computed of it and of numbers: once, not for each
block of keys (queries of 12 heads of 197 rows scaled by 0.125: 0.85 of the time on one core). A tile that
nobody reads any more gives its memory to the next of its shape.

A task without contractions has what a reduction makes in memory, if another one adds it up for several
results: the ranks of a row's elements, of which each place looks for its own. In registers they would be made
again for each strip of places.

Legal always: the buffers belong to the task. Other kernels are left alone. Effect: attention of 512 rows, 64
wide, needs 48 KB a task instead of 1 MB of scores a head; 12 heads take 0.78 of the time of four kernels on
one Zen 4 core, causal ones 0.53. Sorting 64 rows of 1000 in parts of 250 takes an AVX2 core 11 ms, not 82.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..base import Pass
from ..operations import ops_named
from .staging.block import stage_block, stage_values
from .staging.choice import is_chained, sums_in_sums


@dataclass(frozen=True)
class StageTiles(Pass):
    """Give the tiles between two contractions of a task memory."""

    name: ClassVar[str] = "mlopt-cpu-stage-tiles"

    def run(self, op: ir.Operation) -> None:
        """Rewrite each task with a contraction of what another one, or a sum, made, or with sums of sums."""
        for forall in ops_named(op, "scf.forall"):
            block = forall.regions[0].blocks[0]
            if is_chained(block):
                with forall.location:
                    stage_block(block)
            elif sums := sums_in_sums(block):
                with forall.location:
                    stage_values(block, sums)
