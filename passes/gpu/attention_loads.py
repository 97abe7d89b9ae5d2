"""What attention's warpgroups multiply is copied to shared memory: queries once, keys and values ahead.

Before::

    %q = vector.transfer_read %x[%i, %c0], %pad {mlopt.layout = "…"} : memref<…xbf16>, vector<128x64xbf16>
    %r = scf.for %n = %c0 to %keys step %c128 iter_args(…, %acc = %zero) {
      %k = vector.transfer_read %y[%n, %c0], %pad {mlopt.layout = "…"} : memref<…xbf16>, vector<128x64xbf16>
      %s = vector.contract {…, mlopt.mma = "m64n128k16.bf16"} %q, %k, %nothing
      … %p = arith.truncf (math.exp2 …) …
      %v = vector.transfer_read %z[%n, %c0], %pad {mlopt.layout = "…"} : memref<…xbf16>, vector<128x64xbf16>
      %t = vector.contract {…, mlopt.mma = "m64n64k16.bf16"} %p, %v, %scaled
      …

After, in two stages::

    %queries = "mlopt.shared_ring"() : () -> memref<1x128x64xbf16, #gpu.address_space<workgroup>>
    … mlopt.async_copy of the queries, and of the first step; "mlopt.async_commit"()
    %r = scf.for %n = %c0 to %keys step %c128 iter_args(…, %acc = %zero) {
      "mlopt.async_wait"() {pending = 0, proxy = 1}
      … mlopt.async_copy of the next step's keys and values to slot %free; "mlopt.async_commit"()
      %s = "mlopt.warpgroup_mma"(%queries, %c0, %keys, %slot, %nothing) {…}   // the slot is (%n / 128) mod 2
      %t = "mlopt.warpgroup_result"(%s)
      … %p = arith.truncf (math.exp2 …) …
      %u = "mlopt.warpgroup_mma_held"(%p, %values, %slot, %scaled) {…}
      %w = "mlopt.warpgroup_result"(%u)
      …
    }
    "mlopt.async_wait"() {pending = 0}
    "mlopt.release"(%keys) …

Of loops that go on where the one before has ended, one ring goes on, too: copies for the second loop are on
their way while the first one ends. Each product is waited for where its result is read; meanwhile another
warpgroup multiplies.

Legal behind mlopt-gpu-assign-layouts for loops that mlopt-gpu-warpgroup-attention has marked: it has asked
for all that is needed here. As many stages as the schedule says (``stages``), or as there is room for, two at
least.

Effect on sm_90a: none of its own; without it what mlopt-gpu-warpgroup-attention has marked cannot be made.
Of two heads of 128 rows and 256 keys, 64 elements each, blocks of 128 rows ask the caches for 196,608 bytes,
each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import LAYOUT, SCHEDULE
from ..base import Pass
from ..constants import index_constant, integer_of
from ..operations import nested_ops
from .grids import grids_of
from .layouts.access import bytes_of
from .layouts.tiles import sizes_of
from .layouts.warpgroup import HELD, PATTERN_BYTES, PRODUCT
from .layouts.warps import BLOCK_SHARED
from .rings import at_later, copy_step, create, make_ring, slot_of
from .warpgroup_attention import Step, marked_steps
from .warpgroup_loads import make_product
from .warpgroup_products import STAGES


@dataclass(frozen=True)
class AttentionLoads(Pass):
    """Copy what attention's warpgroups multiply; ``shared``: the bytes of shared memory of a block."""

    name: ClassVar[str] = "mlopt-gpu-attention-loads"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of each kernel whose attention is marked."""
        for forall in grids_of(op):
            (wanted,) = (SCHEDULE.get(forall) or {}).get("stages", (STAGES,))
            steps = marked_steps(forall)
            if steps:
                _Rewrite(steps).run(wanted, self.shared)


class _Rewrite:
    """The loops of an attention, which share their rings."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps, self.last = steps, steps[-1]
        self.first, self.end = steps[0].loop.operands[0], self.last.loop.operands[1]
        self.queries = self.last.scores.operands[0].owner.operation
        length = integer_of(self.last.loop.operands[2])
        assert length is not None, "mlopt-gpu-warpgroup-attention has asked"
        self.length = length

    def run(self, wanted: int, shared: int) -> None:
        """Put ``wanted`` steps into shared memory at once, if there is room."""
        turned = [op for op in nested_ops(self.last.loop) if op.name == "mlopt.convert_layout"]
        used = sum(map(_bytes, [self.queries, *turned])) + PATTERN_BYTES * 3
        self.stages = max(min(wanted, (shared - used) // sum(map(_bytes, self.last.reads))), STAGES)
        ahead = self.stages - 1
        with ir.InsertionPoint(self.steps[0].loop), self.last.loop.location:
            self.held, zero = make_ring(self.queries, 1), index_constant(0)
            self.rings = [make_ring(read, self.stages) for read in self.last.reads]
            create("mlopt.async_copy", [self.queries.results[0], self.held, zero, zero, index_constant(1)])
            for stage in range(ahead):
                self._copy(index_constant(stage), at_later(self.first, stage * self.length))
        for step in self.steps:
            at = step.loop.regions[0].blocks[0].arguments[0]
            with ir.InsertionPoint.at_block_begin(step.loop.regions[0].blocks[0]), step.loop.location:
                create("mlopt.async_wait", pending=ahead - 1, proxy=1)
                free = slot_of(at, self.first, self.length, ahead, self.stages)
                self._copy(free, at_later(at, ahead * self.length))
                slot = slot_of(at, self.first, self.length, 0, self.stages)
                zero = index_constant(0)
            _multiply(PRODUCT, step.scores, [self.held, zero, self.rings[0], slot])
            _multiply(HELD, step.sums, [step.sums.operands[0], self.rings[1], slot])
        for step in self.steps:
            for op in (step.scores, step.sums, *step.reads):
                op.erase()
        with ir.InsertionPoint.after(self.last.loop), self.last.loop.location:
            create("mlopt.async_wait", pending=0)  # of loops without a step
            for ring in (self.held, *self.rings):
                create("mlopt.release", [ring])

    def _copy(self, slot: ir.Value, at: ir.Value) -> None:
        """What the last loop reads: of where buffers end it knows the least."""
        for read, ring in zip(self.last.reads, self.rings, strict=True):
            copy_step(self.last.loop, read, ring, slot, at)
        create("mlopt.async_commit")


def _multiply(name: str, product: ir.Operation, factors: list[ir.Value]) -> None:
    """A product of warpgroups in the place of another one, with a wait for its result."""
    with ir.InsertionPoint(product), product.location:
        made = make_product(name, product, [*factors, product.operands[2]])
        result = ir.Operation.create("mlopt.warpgroup_result", [made.results[0].type], [made.results[0]])
    result.attributes[LAYOUT.name] = product.attributes[LAYOUT.name]
    product.results[0].replace_all_uses_with(result.results[0])


def _bytes(read: ir.Operation) -> int:
    tile = read.results[0]
    return prod(sizes_of(tile)) * bytes_of(ir.VectorType(tile.type).element_type)
