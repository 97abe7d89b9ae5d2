"""Two blocks that multiply the same columns share them: each copies half, to both (clusters, multicast).

Before::

    scf.forall (%m, %n) = (0, 0) to (8192, 8192) step (128, 256) {
      %full, %empty = "mlopt.tma_barriers"() {arrivals = array<i64: 2, 8>} : …
      … %x = vector.transfer_read %a[%m, %k] …
        "mlopt.tma_load"(%x, …) {alone}
        %y = vector.transfer_read %b[%n, %k] …
        "mlopt.tma_load"(%y, …) {alone} …
    } {mlopt.schedule = {group = array<i64: 0, 1, 16>, …}}

After::

      %full, %empty = "mlopt.tma_barriers"() {arrivals = array<i64: 2, 16>} : …     // warps of both blocks
      …
        "mlopt.tma_load"(%y, …) {alone, both} …
      "mlopt.pair_wait"()
    } {mlopt.schedule = {cluster = array<i64: 2>, group = array<i64: 0, 1, 16>, …}}

A slot is filled when the warps of both blocks have read it, and no block ends before the other has done with
it. What each multiprocessor asks of the L2 cache is 32 KB in a step of 128x256x64 then, not 48.

Legal behind mlopt-gpu-warp-roles, for tasks whose numbers along a loop are known, and even: neighbours are of
the same columns, by mlopt-gpu-group-tasks or by bands of two rows, which are made here. Done where all
multiprocessors have a block, and the cache takes more than half as long as the arithmetic (`should_pair`).
The kernel's twin for what is unaligned has single blocks.

Effect by the model of an H100, 8192 x 8192 x 8192 in bf16: in a step of a block the cache takes 0.46 µs, not
0.69, the arithmetic 0.56.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import SCHEDULE
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, Machine, machine_of
from ..operations import block_ops, ops_named
from .grids import grids_of
from .group_tasks import last_loops
from .layouts.boxes import copied, halves_of
from .layouts.instructions import MACHINE_KINDS
from .layouts.warpgroup import HELD, factor_in, kind_of
from .rings import create
from .threads.grid import Loops
from .turns.reads import depends_on, is_shared

BLOCKS = 2
_BUSY = 0.5  # of the arithmetic's time, that the cache may take


@dataclass(frozen=True)
class PairBlocks(Pass):
    """Let two blocks share a factor; ``machine``: whose cache and tensor cores decide."""

    name: ClassVar[str] = "mlopt-gpu-pair-blocks"
    machine: str = DEFAULT_GPU

    def run(self, op: ir.Operation) -> None:
        """Mark the copies and the schedule of each kernel that gains by it."""
        machine = machine_of(op, self.machine)
        for forall in grids_of(op):
            group, loads = can_pair(forall)
            if loads and should_pair(forall, machine):
                _rewrite(forall, group, loads)


def can_pair(forall: ir.Operation) -> tuple[tuple[int, int, int], Sequence[ir.Operation]]:
    """The order of tasks in which neighbours are of the same columns, and the copies of these; or none."""
    schedule = SCHEDULE.get(forall) or {}
    counts, loops = Loops.of(forall).static_counts(), last_loops(forall)
    none: Sequence[ir.Operation] = ()
    if "roles" not in schedule or loops is None or None in counts:
        return (0, 0, 0), none
    if ops_named(forall, HELD):  # attention's blocks may have other numbers of steps
        return (0, 0, 0), none
    slow, fast = loops
    group = (*loops, schedule["group"][2] if "group" in schedule else BLOCKS)
    rows = counts[slow]
    if rows is None or rows % BLOCKS or group[2] % BLOCKS or fast != loops[1]:
        return group, none
    changing = depends_on(forall, slow)
    alone = [load for load in ops_named(forall, "mlopt.tma_load") if "alone" in load.attributes]
    return group, [
        load
        for load in alone
        if is_shared(load.operands[0].owner.operation, changing) and halves_of(copied(load)[1]) is not None
    ]


def should_pair(forall: ir.Operation, machine: Machine) -> bool:
    """Whether the cache is what multiprocessors wait for, or nearly so, and all of them have a block."""
    (product, *_) = ops_named(forall, "mlopt.warpgroup_mma")
    left, right = (factor_in(product, number) for number in (0, 1))
    counts = [count or machine.processors for count in Loops.of(forall).static_counts()]
    kind = kind_of(product)
    steps = left.sizes[left.own] * right.sizes[right.own] * left.sizes[left.depth]
    arithmetic = 2 * steps / machine.matrix[MACHINE_KINDS.get(kind, kind)]
    cache = (left.bytes + right.bytes) / machine.cache_bandwidth
    return prod(counts) >= machine.processors and cache > _BUSY * arithmetic


def _rewrite(forall: ir.Operation, group: tuple[int, int, int], loads: Sequence[ir.Operation]) -> None:
    for load in loads:
        load.attributes["both"] = ir.UnitAttr.get()
    (barriers,) = ops_named(forall, "mlopt.tma_barriers")
    full, empty = ir.DenseI64ArrayAttr(barriers.attributes["arrivals"])
    barriers.attributes["arrivals"] = ir.DenseI64ArrayAttr.get([full, BLOCKS * empty])
    with ir.InsertionPoint(block_ops(forall)[-1]), forall.location:
        create("mlopt.pair_wait")
    SCHEDULE.set(forall, {**(SCHEDULE.get(forall) or {}), "group": group, "cluster": (BLOCKS,)})
