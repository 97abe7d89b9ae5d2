"""Factors of warpgroups are copied by the engine for tensors (TMA): one thread asks for whole boxes.

Before::

    %ring = "mlopt.shared_ring"() : () -> memref<4x128x64xbf16, #gpu.address_space<workgroup>>
    … mlopt.async_copy of the first two steps, each with an mlopt.async_commit …
    %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      "mlopt.async_wait"() {pending = 1, proxy = 1}
      %x = vector.transfer_read %a[%i, %later], %pad {mlopt.layout = "…"}
      "mlopt.async_copy"(%x, %ring, %free, %later, %n)
      "mlopt.async_commit"()
      %t = "mlopt.warpgroup_mma"(%ring, %slot, %other, %slot, %s) {…}

After::

    %full = "mlopt.tma_barriers"() {arrivals = array<i64: 2>} : () -> memref<4xi64, …>
    … mlopt.tma_load of the first two steps, each with an mlopt.tma_commit …
    %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      "mlopt.tma_turn"() {pending = 1, proxy = 1}
      %x = vector.transfer_read %a[%i, %later], %pad {mlopt.layout = "…"}
      "mlopt.tma_load"(%x, %ring, %free, %later, %n, %full)
      "mlopt.tma_commit"()
      "mlopt.tma_wait"(%full, %slot, %round)                            // (%k / 256) mod 2
      %t = "mlopt.warpgroup_mma"(%ring, %slot, %other, %slot, %s) {…}

No thread computes addresses, compares them with a buffer's end or waits to fill a queue: a step of 128x256x64
had 12 cp.async a thread. Slots are filled again as before, when all threads have met behind the wait for the
product that read them; what is asked for then need not have come when a step begins, but when it multiplies.
In the kernel's twin for what is unaligned threads copy as before: commits and what a turn waits for are its.

Legal behind mlopt-gpu-warpgroup-loads, on sm_90a, for a loop that a block runs once, if all that it reads
comes by boxes: from arguments of the kernel that it does not write to, of five dims at most, whose rows are
multiples of 16 bytes (of dynamic sizes the launch asks, and takes the kernel's twin if not). What stays has
the reason in mlopt.by_threads, which `mlopt explain --layout` tells.

Effect on sm_90a, 4096 x 4096 x 4096 in bf16 by blocks of 128x256x64: 154 registers, not 168.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BY_THREADS, SCHEDULE
from ..base import Pass
from ..constants import integer_of
from ..operations import block_ops, nested_ops
from .buffers import buffer_of, written_by
from .grids import grids_of
from .layouts.boxes import box_problem
from .rings import SPACE, create, round_of

_PRODUCT, _COPY = "mlopt.warpgroup_mma", "mlopt.async_copy"
# What becomes of that which orders copies by threads: a kernel's twin for what is unaligned has it as it was.
_BESIDE = {"mlopt.async_wait": "mlopt.tma_turn", "mlopt.async_commit": "mlopt.tma_commit"}


@dataclass(frozen=True)
class TmaLoads(Pass):
    """Copy factors of warpgroups by boxes."""

    name: ClassVar[str] = "mlopt-gpu-tma-loads"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of each kernel with products of warpgroups."""
        for forall in grids_of(op):
            for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
                products = [each for each in block_ops(loop) if each.name == _PRODUCT]
                if not products:
                    continue
                if (problem := can_load(forall, loop, products)) is None:
                    _rewrite(forall, loop, products)
                    continue
                for product in products:
                    BY_THREADS.set(product, problem)


def can_load(forall: ir.Operation, loop: ir.Operation, products: Sequence[ir.Operation]) -> str | None:
    """Why threads copy what a loop multiplies, or None."""
    if loop.block != forall.regions[0].blocks[0] or "turns" in (SCHEDULE.get(forall) or {}):
        return "a block runs its loop several times"
    written = written_by(nested_ops(forall))
    for copy in _copies(_rings(products)):
        if buffer_of(copy.operands[0].owner.operation.operands[0]) in written:
            return "its kernel writes to what a factor is read from"
        if (problem := box_problem(copy)) is not None:
            return problem
    return None


def _rings(products: Sequence[ir.Operation]) -> list[ir.Value]:
    return list(dict.fromkeys(ring for product in products for ring in list(product.operands)[:4:2]))


def _copies(rings: Sequence[ir.Value]) -> list[ir.Operation]:
    return [use.owner.operation for ring in rings for use in ring.uses if use.owner.name == _COPY]


def _rewrite(forall: ir.Operation, loop: ir.Operation, products: Sequence[ir.Operation]) -> None:
    """Let copies arrive at mbarriers, and each step wait at its slot's."""
    rings = _rings(products)
    before = block_ops(forall)
    ahead = before[min(before.index(ring.owner.operation) for ring in rings) : before.index(loop)]
    steps = [op for op in (*ahead, *block_ops(loop)) if op.name in _BESIDE]
    first = next(op for op in ahead if op.name == _COPY)
    stages = ir.MemRefType(rings[0].type).shape[0]
    word = ir.IntegerType.get_signless(64)
    arrivals = {"arrivals": ir.DenseI64ArrayAttr.get([len(rings)])}
    with ir.InsertionPoint(first), loop.location:
        kind = ir.MemRefType.get([stages], word, memory_space=ir.Attribute.parse(SPACE))
        barriers = ir.Operation.create("mlopt.tma_barriers", [kind], [], arrivals).results[0]
    for copy in _copies(rings):
        with ir.InsertionPoint(copy), copy.location:
            create("mlopt.tma_load", [*copy.operands, barriers])
        copy.erase()
    for op in steps:
        attributes = {name: op.attributes[name] for name in op.attributes}
        with ir.InsertionPoint(op), op.location:
            ir.Operation.create(_BESIDE[op.name], [], [], attributes)
        op.erase()
    step = integer_of(loop.operands[2])
    assert step is not None, "mlopt-gpu-warpgroup-products has asked"
    with ir.InsertionPoint(products[0]), loop.location:
        number = round_of(loop.regions[0].blocks[0].arguments[0], loop.operands[0], step, stages)
        create("mlopt.tma_wait", [barriers, products[0].operands[1], number])
