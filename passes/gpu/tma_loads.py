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
What is copied once, before the loop, as attention's queries, has an mbarrier of its own. Factors of TF32 are
rounded on the way: the type of their tensor maps says so, and the twin's threads do it.

Legal behind mlopt-gpu-warpgroup-loads, on sm_90a, for a loop that a block runs once, if all that it reads
comes by boxes: from arguments of the kernel that it does not write to, of five dims at most, whose rows are
multiples of 16 bytes (of dynamic sizes the launch asks, and takes the kernel's twin if not). What stays has
the reason in mlopt.by_threads, which `mlopt explain --layout` tells.

Effect on sm_90a, 4096 x 4096 x 4096 in bf16 by blocks of 128x256x64: 154 registers, not 168.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BY_THREADS, SCHEDULE
from ..base import Pass
from ..constants import index_constant, integer_of
from ..operations import attributes_of, block_ops, nested_ops
from .buffers import buffer_of, written_by
from .grids import grids_of
from .layouts.access import Access
from .layouts.boxes import box_problem, copied
from .layouts.warpgroup import HELD, PRODUCT, Factor, slots_of
from .rings import SPACE, create, round_of

_COPY = "mlopt.async_copy"
# What becomes of that which orders copies by threads: a kernel's twin for what is unaligned has it as it was.
_BESIDE = {"mlopt.async_wait": "mlopt.tma_turn", "mlopt.async_commit": "mlopt.tma_commit"}


@dataclass(frozen=True)
class TmaLoads(Pass):
    """Copy factors of warpgroups by boxes."""

    name: ClassVar[str] = "mlopt-gpu-tma-loads"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of each kernel with products of warpgroups."""
        for forall in grids_of(op):
            for loops in _chains(forall):
                products = [product for loop in loops for product in products_of(loop)]
                if (problem := can_load(forall, loops, products)) is None:
                    _rewrite(forall, loops, products)
                    continue
                for product in products:
                    BY_THREADS.set(product, problem)


def products_of(loop: ir.Operation) -> list[ir.Operation]:
    """The products of warpgroups in a loop."""
    return [each for each in block_ops(loop) if each.name in (PRODUCT, HELD)]


def _chains(forall: ir.Operation) -> list[list[ir.Operation]]:
    """A kernel's loops with products of warpgroups, those together that go on with the same rings."""
    found: dict[tuple[ir.Value, ...], list[ir.Operation]] = {}
    for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
        if products := products_of(loop):
            found.setdefault(tuple(_rings(products)), []).append(loop)
    return list(found.values())


def can_load(
    forall: ir.Operation, loops: Sequence[ir.Operation], products: Sequence[ir.Operation]
) -> str | None:
    """Why threads copy what loops multiply, or None."""
    return boxes_problem(forall, loops, map(copied, _copies(_rings(products))))


def boxes_problem(
    forall: ir.Operation, loops: Sequence[ir.Operation], tiles: Iterable[tuple[Access, Factor]]
) -> str | None:
    """Why the tiles that loops of a kernel multiply cannot come by boxes, or None."""
    body = forall.regions[0].blocks[0]
    if any(loop.block != body for loop in loops) or "turns" in (SCHEDULE.get(forall) or {}):
        return "a block runs its loop several times"
    written = written_by(nested_ops(forall))
    for access, factor in tiles:
        if buffer_of(access.buffer) in written:
            return "its kernel writes to what a factor is read from"
        if (problem := box_problem(access, factor)) is not None:
            return problem
    return None


def _rings(products: Sequence[ir.Operation]) -> list[ir.Value]:
    return list(dict.fromkeys(ring for product in products for ring, _ in slots_of(product).values()))


def _copies(rings: Sequence[ir.Value]) -> list[ir.Operation]:
    return [use.owner.operation for ring in rings for use in ring.uses if use.owner.name == _COPY]


def _rewrite(forall: ir.Operation, loops: Sequence[ir.Operation], products: Sequence[ir.Operation]) -> None:
    """Let copies arrive at mbarriers, and each step wait at its slot's."""
    rings, body = _rings(products), forall.regions[0].blocks[0]
    once = [ring for ring in rings if all(copy.block == body for copy in _copies([ring]))]
    turns = [ring for ring in rings if ring not in once]
    before = block_ops(forall)
    ahead = before[min(before.index(ring.owner.operation) for ring in rings) : before.index(loops[0])]
    steps = [op for op in (*ahead, *(op for loop in loops for op in block_ops(loop))) if op.name in _BESIDE]
    first = next(op for op in ahead if op.name == _COPY)
    stages = ir.MemRefType(turns[0].type).shape[0]
    with ir.InsertionPoint(first), loops[0].location:
        full = _mbarriers(stages, len(turns))
        arrived = _mbarriers(1, len(once)) if once else full
    for ring in rings:
        for copy in _copies([ring]):
            with ir.InsertionPoint(copy), copy.location:
                create("mlopt.tma_load", [*copy.operands, full if ring in turns else arrived])
            copy.erase()
    for op in steps:
        attributes = attributes_of(op)
        with ir.InsertionPoint(op), op.location:
            ir.Operation.create(_BESIDE[op.name], [], [], attributes)
        op.erase()
    if once:
        with ir.InsertionPoint(loops[0]), loops[0].location:
            create("mlopt.tma_wait", [arrived, index_constant(0), index_constant(0)])
    for loop in loops:
        step, (product, *_) = integer_of(loop.operands[2]), products_of(loop)
        assert step is not None, "mlopt-gpu-warpgroup-products has asked"
        with ir.InsertionPoint(product), loop.location:
            at = loop.regions[0].blocks[0].arguments[0]
            number = round_of(at, loops[0].operands[0], step, stages)
            create("mlopt.tma_wait", [full, slots_of(product)[1][1], number])


def _mbarriers(slots: int, arrivals: int) -> ir.Value:
    word = ir.IntegerType.get_signless(64)
    kind = ir.MemRefType.get([slots], word, memory_space=ir.Attribute.parse(SPACE))
    counts = {"arrivals": ir.DenseI64ArrayAttr.get([arrivals])}
    return ir.Operation.create("mlopt.tma_barriers", [kind], [], counts).results[0]
