"""Tasks that share what they read run one after the other.

Before, four heads that are turned by the same angles; each head's angles come from memory again if they are
more than the L2 cache keeps while the head before is read::

    scf.forall (%head, %row) = (0, 0) to (4, 256) step (1, 16) {
      %v = vector.transfer_read %x[%head, %row, %c0], … : memref<4x256x64xf32>, vector<1x16x64xf32>
      %w = vector.transfer_read %angles[%row, %c0], … : memref<256x64xf32>, vector<16x64xf32>
      …
    }

After, the heads of a row are neighbours, which run at the same time::

    scf.forall (%row, %head) = (0, 0) to (256, 4) step (16, 1) {

The last loop runs fastest. Loops go behind those along which tasks share less of what they read, but stay in
front of one that runs along rows of memory: its tasks share lines at their ends, and what rows share comes
again after one row in any case. What is less than one byte in `LEAST` of what a task moves counts for
nothing: a channel's parameters are no reason to leave the order of memory.

Legal for all tasks of an scf.forall, whose order is nobody's business. Runs after mlopt-gpu-single-elements,
whose lanes are the last loop's tasks, and before mlopt-gpu-take-turns, which names a loop by its number.

Effect on sm_80: rotary embeddings of 4x256x64 in f32 on a chip as small as the launch move 1.000 of the
least bytes, not 1.600.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import SCHEDULE
from ..base import Pass
from ..operations import ops_named
from .grids import grids_of
from .layouts.access import Access, access_of
from .threads.grid import DYNAMIC, Loops
from .turns.reads import depends_on, is_shared

LEAST = 16
_TRANSFERS = ("vector.transfer_read", "vector.transfer_write")


@dataclass(frozen=True)
class OrderTasks(Pass):
    """Order the loops of each grid by what tasks share along them."""

    name: ClassVar[str] = "mlopt-gpu-order-tasks"

    def run(self, op: ir.Operation) -> None:
        """Reorder the loops of each kernel's scf.forall."""
        for forall in grids_of(op):
            if can_reorder(forall):
                order = order_of(forall)
                if order != sorted(order):
                    reorder(forall, order)


def can_reorder(forall: ir.Operation) -> bool:
    """Whether nothing rests on the order of the loops, as lanes, turns and bands do."""
    schedule = SCHEDULE.get(forall) or {}
    return not {"tasks", "turns", "group"} & schedule.keys()


def order_of(forall: ir.Operation) -> list[int]:
    """The loops from slow to fast."""
    accesses = [access_of(op) for op in ops_named(forall, *_TRANSFERS)]
    moved = sum(access.bytes for access in accesses)
    shares = []
    for loop in range(Loops.of(forall).rank):
        changing = depends_on(forall, loop)
        shared = sum(access.bytes for access in accesses if is_shared(access.op, changing))
        runs_along = any(_runs_along(access, changing) for access in accesses)
        shares.append((runs_along, shared if LEAST * shared >= moved else 0))
    return sorted(range(len(shares)), key=lambda loop: shares[loop])


def reorder(forall: ir.Operation, order: list[int]) -> None:
    """Let the loops run in ``order``, from slow to fast."""
    dynamic = iter(range(len(forall.operands)))
    upper = list(ir.DenseI64ArrayAttr(forall.attributes["staticUpperBound"]))
    operands = list(forall.operands)
    bounds = {loop: operands[next(dynamic)] for loop, size in enumerate(upper) if size == DYNAMIC}
    for number, loop in enumerate(loop for loop in order if loop in bounds):
        forall.operands[number] = bounds[loop]
    for name in ("staticLowerBound", "staticUpperBound", "staticStep"):
        sizes = list(ir.DenseI64ArrayAttr(forall.attributes[name]))
        forall.attributes[name] = ir.DenseI64ArrayAttr.get([sizes[loop] for loop in order])
    places = list(forall.regions[0].blocks[0].arguments)
    uses = [[(use.owner.operation, use.operand_number) for use in place.uses] for place in places]
    for place, loop in zip(places, order, strict=True):
        for user, number in uses[loop]:
            user.operands[number] = place


def _runs_along(access: Access, changing: set[ir.Value]) -> bool:
    """Whether an access's place in a row of memory changes along the loop."""
    return len(access.indices) > 1 and access.indices[-1] in changing
