"""Rows that are longer than registers, and read more than once, stay in shared memory.

Before::

    scf.forall (%i) in (4096) {
      %m, %s = scf.for %k = %c0 to %c40960 step %c8192 iter_args(…) {
        %v = vector.transfer_read %x[%i, %k], … : memref<4096x40960xf32>, vector<1x8192xf32>
        …
      }
      scf.for %k = %c0 to %c40960 step %c8192 {
        %v = vector.transfer_read %x[%i, %k], … : memref<4096x40960xf32>, vector<1x8192xf32>
        …
      }
    } {mlopt.schedule = {min_blocks = array<i64: 1>, tile = array<i64: 1, 0>, warps = array<i64: 32>}}

After::

    scf.forall (%i) in (4096) {
      %row = memref.alloca() : memref<1x40960xf32, #gpu.address_space<workgroup>>
      %m, %s = scf.for %k = %c0 to %c40960 step %c8192 iter_args(…) {
        %v = vector.transfer_read %x[%i, %k], … : memref<4096x40960xf32>, vector<1x8192xf32>
        vector.transfer_write %v, %row[%c0, %k] …
        …
      }
      gpu.barrier
      scf.for %k = %c0 to %c40960 step %c8192 {
        %v = vector.transfer_read %row[%c0, %k], … : memref<1x40960xf32, #gpu.address_space<workgroup>>, …
        …
      }
    }

What lies beyond the end of a row is kept, too, as it was read. The schedule's ``min_blocks`` become as many
as have room for their rows. Done while `FEWEST_WARPS` stay on a multiprocessor: with fewer, too little is on
its way; what finds no room is read again. Legal where all steps are read once, along memory, before any is
read again, from buffers that the kernel does not write to. Runs after mlopt-gpu-online-sums.

Effect on sm_80: softmax of 160x40000 in f32 and log_softmax of 64x65536 in bf16 move 1.000 of the least
bytes, where reading again moves 1.500; no bank conflicts.

A row of 65,536 f32 is 256 KB, and a multiprocessor has 164 (228 of compute capability 9.0): its softmax is
read twice, once for the maximum and the sum, once to be written. The second time it comes from the L2 cache,
as far as the rows of all multiprocessors fit there: 27 MB of an A100's 40.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, gpu, memref, vector

from ...dialects.attributes import SCHEDULE
from ..base import Pass
from ..constants import index_constant
from ..operations import ops_named
from .grids import grids_of
from .kept.match import Read, Row, find_rows, within
from .layouts.access import WIDE, access_of
from .layouts.warps import warps_of

SHARED = 164 * 1024  # bytes of a multiprocessor of compute capability 8.0
RESERVED = 1024  # bytes that the driver takes of each block's
BESIDE = 2048  # bytes that are left for reductions
FEWEST_WARPS = 16  # of a multiprocessor


@dataclass(frozen=True)
class KeepRows(Pass):
    """Keep rows in shared memory that are read again; ``shared``: how many bytes a multiprocessor has."""

    name: ClassVar[str] = "mlopt-gpu-keep-rows"
    shared: int = SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite the reads of each kernel's tasks, as far as there is room."""
        for forall in grids_of(op):
            rows, blocks = choose(forall, find_rows(forall), self.shared)
            if not rows:
                continue
            for row in rows:
                keep(forall, row)
            SCHEDULE.set(forall, {**(SCHEDULE.get(forall) or {}), "min_blocks": (blocks,)})


def beside(forall: ir.Operation) -> int:
    """The bytes that a task may need for all else.

    Tiles whose accesses are not wide may change hands on their way to others, whose accesses are.
    """
    accesses = map(access_of, ops_named(forall, "vector.transfer_read", "vector.transfer_write"))
    return BESIDE + sum(each.bytes for each in accesses if each.width() * each.element_bytes < WIDE)


def choose(forall: ir.Operation, rows: Sequence[Row], shared: int) -> tuple[list[Row], int]:
    """The rows that there is room for, and how many blocks a multiprocessor holds then."""
    (blocks,) = (SCHEDULE.get(forall) or {}).get("min_blocks", (1,))
    fewest = min(max(FEWEST_WARPS // warps_of(forall), 1), blocks)
    others = RESERVED + beside(forall)
    kept: list[Row] = []
    for row in rows:
        if fewest * (sum(each.bytes for each in (*kept, row)) + others) <= shared:
            kept.append(row)
    return kept, min(shared // (sum(row.bytes for row in kept) + others), blocks)


def keep(forall: ir.Operation, row: Row) -> None:
    """Write what is read first to shared memory, and read it there later."""
    block = forall.regions[0].blocks[0]
    space = ir.Attribute.parse("#gpu.address_space<workgroup>")
    element = ir.MemRefType(row.first[0].access.buffer.type).element_type
    with ir.InsertionPoint.at_block_begin(block), forall.location:
        kept = memref.alloca(ir.MemRefType.get(row.shape, element, memory_space=space), [], [])
    rank = len(row.shape)
    order = ir.AffineMap.get_identity(rank)
    inside = ir.ArrayAttr.get([ir.BoolAttr.get(True)] * rank)
    for read in row.first:
        with ir.InsertionPoint.after(read.access.op), read.access.op.location:
            vector.TransferWriteOp(None, read.access.tile, kept, _place(read, rank), order, inside)
    with ir.InsertionPoint(within(row.again[0].access.op, block)), forall.location:
        gpu.barrier()
    for read in row.again:
        op = read.access.op
        padding = op.operands[len(read.access.indices) + 1]
        with ir.InsertionPoint(op), op.location:
            value = vector.transfer_read(op.results[0].type, kept, _place(read, rank), order, padding, inside)
        op.results[0].replace_all_uses_with(value)
        op.erase()


def _place(read: Read, rank: int) -> list[ir.Value]:
    """Where a step's elements begin in shared memory."""
    zero = index_constant(0)
    last = index_constant(read.number) if read.step is None else read.step
    if read.step is not None and read.number:
        last = arith.addi(read.step, index_constant(read.number))
    return [*[zero] * (rank - 1), last]
