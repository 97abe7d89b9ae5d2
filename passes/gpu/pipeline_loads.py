"""What a loop multiplies is copied to shared memory a few steps ahead, while earlier steps are multiplied.

Before::

    %d = scf.for %k = %c0 to %n step %c32 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], %pad {mlopt.layout = "…"} : memref<…xbf16>, vector<128x32xbf16>
      %f = "mlopt.convert_layout"(%x) {mlopt.layout = "…"}
      … the same of the other factor …
      %t = vector.contract … %f, %g, %s
      scf.yield %t
    }

After, in three stages::

    %ring = "mlopt.shared_ring"() : () -> memref<3x128x32xbf16, #gpu.address_space<workgroup>>
    … mlopt.async_copy of the first two steps, each with an mlopt.async_commit …
    %d = scf.for %k = %c0 to %n step %c32 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      "mlopt.async_wait"() {pending = 1}
      %f = "mlopt.shared_tile"(%ring, %slot) {mlopt.layout = "…"}       // the slot is (%k / 32) mod 3
      %x = vector.transfer_read %a[%i, %later], %pad {mlopt.layout = "…"}    // of the step after the next
      "mlopt.async_copy"(%x, %ring, %free, %later, %n)
      "mlopt.async_commit"()
      %t = vector.contract … %f, %g, %s
      scf.yield %t
    }
    "mlopt.release"(%ring)

A wait is for all copies but the last ``pending`` commits of them, and for all threads. It comes before the
slot that the last step has read is written again, so that a step has one barrier. No thread holds what is on
its way: cp.async writes to shared memory by itself, 16 bytes at once.

Legal behind mlopt-gpu-assign-layouts, for reads of a loop from known bounds whose tile does nothing but
change hands for a product on tensor cores, padded with zeros, and with 16 bytes of neighbours a thread. A
loop is taken if all of its products' factors that are read in it can be, with as many stages as the schedule
says (``stages``), or as there is room for; it must not write to what it reads ahead. Factors that are
computed of what is read change hands in their step, as before, with a barrier of their own. What else changes
hands as it is read, as attention's mask, comes along: a step of 64 keys has one barrier, not two, and waits
for nothing, for 16 instructions more of 900: its rows' addresses.

A factor of all steps, which stands before such loops, is copied along with their first ones if it would take
more than `HELD` bytes of each thread's registers: a step loads what it multiplies next. Attention of 256
elements: 207 registers, where 255 were not enough.

4096x4096x4096 in f16 has 34 cp.async instead of loads into registers, with 98304 bytes of shared memory
instead of 65536; attention over 512 keys of 64 has 206 registers instead of 254 (sm_80).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import LAYOUT, MMA, SCHEDULE
from ...dialects.layouts import Layout
from ..base import Pass
from ..constants import index_constant, integer_of
from ..operations import block_ops, defining_op, nested_ops
from .buffers import buffer_of, written_by
from .grids import grids_of
from .layouts.access import WIDE, access_of, bytes_of
from .layouts.warps import BLOCK_SHARED
from .rings import at_later, copy_problem, copy_step, create, make_ring, slot_of

HELD = 128  # bytes of a thread's registers that a factor of all steps may have

_READ, _CONVERT = "vector.transfer_read", "mlopt.convert_layout"


@dataclass(frozen=True)
class PipelineLoads(Pass):
    """Copy factors of products ahead; ``shared``: the bytes of shared memory that a block may have."""

    name: ClassVar[str] = "mlopt-gpu-pipeline-loads"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of each kernel whose schedule has stages."""
        for forall in grids_of(op):
            (wanted,) = (SCHEDULE.get(forall) or {}).get("stages", (1,))
            for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
                turned = can_pipeline(loop)
                if isinstance(turned, list):
                    stages = min(wanted, self.shared // sum(map(_slot_bytes, turned)))
                    if stages > 1:
                        _pipeline(loop, turned, stages)
            for conversion in [each for each in nested_ops(forall) if each.name == _CONVERT]:
                if should_stay(conversion) and can_stay(conversion, self.shared):
                    _stay(conversion)


def can_pipeline(loop: ir.Operation) -> list[ir.Operation] | str:
    """The conversions of what the loop reads for its products, or why it stays as it is."""
    if not any(MMA.name in op.attributes for op in block_ops(loop)):
        return "it has no product on tensor cores"
    if integer_of(loop.operands[2]) is None:
        return "its step is not a number"
    found, factors = [], 0
    for op in block_ops(loop):
        read = defining_op(op.operands[0], _READ) if op.name == _CONVERT else None
        if read is None or read.block != op.block:
            continue
        problem = _problem(loop, read)
        if _is_factor(op.results[0]):
            if problem is not None:
                return problem
            factors += 1
        if problem is None:
            found.append(op)
    return found if factors else "its products' factors are made elsewhere"


def should_stay(turned: ir.Operation) -> bool:
    """Whether a factor of all steps of a loop takes too many of a thread's registers."""
    (text,) = LAYOUT.get(turned) or ("",)
    if not text:
        return False
    count = len(Layout.parse(text).register_positions)
    return count * bytes_of(ir.VectorType(turned.results[0].type).element_type) > HELD


def can_stay(turned: ir.Operation, shared: int) -> bool:
    """Whether a factor can be copied to where products of loops behind it take it, with what these copy."""
    read = defining_op(turned.operands[0], _READ)
    loops = [use.owner.operation.parent for use in turned.results[0].uses]
    if read is None or not all(_waits(loop) and loop.block == turned.block for loop in loops):
        return False
    if buffer_of(read.operands[0]) in written_by(nested_ops(turned.parent)):
        return False  # perhaps before the first wait
    room = shared - max(map(_ring_bytes, loops))
    return _slot_bytes(turned) <= room and all(_problem(loop, read) is None for loop in loops)


def _waits(loop: ir.Operation) -> bool:
    """Whether a loop takes what was copied ahead."""
    return loop.name == "scf.for" and any(op.name == "mlopt.async_wait" for op in block_ops(loop))


def _ring_bytes(loop: ir.Operation) -> int:
    """What the tiles take that a loop copies ahead."""
    tiles = [op for op in block_ops(loop) if op.name == "mlopt.shared_tile"]
    return sum(ir.MemRefType(op.operands[0].type).shape[0] * _slot_bytes(op) for op in tiles)


def _stay(turned: ir.Operation) -> None:
    """Copy a factor to shared memory, from where each step loads what it multiplies next."""
    readers = [use.owner.operation for use in turned.results[0].uses]
    with ir.InsertionPoint(turned), turned.location:
        ring, zero = make_ring(turned, 1), index_constant(0)
        create("mlopt.async_copy", [turned.operands[0], ring, zero, zero, index_constant(1)])
        create("mlopt.async_commit")
    for reader in readers:
        with ir.InsertionPoint(reader), turned.location:
            tile = ir.Operation.create("mlopt.shared_tile", [turned.results[0].type], [ring, zero])
        tile.attributes[LAYOUT.name] = turned.attributes[LAYOUT.name]
        for number, operand in enumerate(reader.operands):
            if operand == turned.results[0]:
                reader.operands[number] = tile.results[0]
    last = [op for op in block_ops(turned.parent) if op in [reader.parent for reader in readers]][-1]
    turned.erase()
    with ir.InsertionPoint.after(last), last.location:
        create("mlopt.async_wait", pending=0)  # of loops without a step
        create("mlopt.release", [ring])


def _is_factor(value: ir.Value) -> bool:
    """Whether a product on tensor cores reads it."""
    return any(MMA.name in use.owner.attributes for use in value.uses)


def _problem(loop: ir.Operation, read: ir.Operation) -> str | None:
    """Why a tile cannot be copied to where it changes hands."""
    if len(list(read.results[0].uses)) != 1:
        return "a factor is used as it is read, too"
    if (problem := copy_problem(loop, read)) is not None:
        return problem
    access = access_of(read)
    inner = access.contiguous()
    (text,) = LAYOUT.get(read) or ("",)
    width = min(access.width(), Layout.parse(text).run(inner)) if inner is not None and text else 1
    return (
        None
        if width * access.element_bytes >= WIDE
        else "a factor has less than 16 bytes of neighbours a thread"
    )


def _slot_bytes(turned: ir.Operation) -> int:
    """What one step's tile takes: rows of whole pairs of 16 bytes are swizzled, others may be padded.

    So may short ones of bytes, of which ldmatrix turns pairs.
    """
    kind = ir.VectorType(turned.results[0].type)
    size, elements = bytes_of(kind.element_type), prod(kind.shape)
    wide = [extent for extent in kind.shape if extent > 1]
    if len(wide) > 2:
        wide = [prod(wide[:-1]), wide[-1]]  # as `threads/flat` has them
    padded = [each for each in wide if each * size % (2 * WIDE) or (size == 1 and each < 4 * WIDE)]
    return elements * size + max((elements // extent * WIDE for extent in padded), default=0)


def _pipeline(loop: ir.Operation, turned: Sequence[ir.Operation], stages: int) -> None:
    """Let ``stages`` tiles of each factor be in shared memory at once."""
    body = loop.regions[0].blocks[0]
    first, step = loop.operands[0], integer_of(loop.operands[2])
    assert step is not None, "can_pipeline has asked"
    reads = [op.operands[0].owner.operation for op in turned]
    readers = {op: _first_reader(op) for op in turned}
    with ir.InsertionPoint(loop), loop.location:
        rings = [make_ring(op, stages) for op in turned]
        for stage in range(stages - 1):
            at = at_later(first, stage * step)
            for read, ring in zip(reads, rings, strict=True):
                copy_step(loop, read, ring, index_constant(stage), at)
            create("mlopt.async_commit")
    now = turned[0]
    with ir.InsertionPoint(now), loop.location:
        create("mlopt.async_wait", pending=stages - 2)
        slot = slot_of(body.arguments[0], first, step, 0, stages)
        free = slot_of(body.arguments[0], first, step, stages - 1, stages)
        later = at_later(body.arguments[0], (stages - 1) * step)
        for op, ring in zip(turned, rings, strict=True):
            tile = ir.Operation.create("mlopt.shared_tile", [op.results[0].type], [ring, slot])
            if readers[op] != readers[turned[0]]:
                tile.move_before(readers[op])
            tile.attributes[LAYOUT.name] = op.attributes[LAYOUT.name]
            op.results[0].replace_all_uses_with(tile.results[0])
        for read, ring in zip(reads, rings, strict=True):
            copy_step(loop, read, ring, free, later)
        create("mlopt.async_commit")
    for op in turned:
        op.erase()
    for read in reads:
        read.erase()
    with ir.InsertionPoint.after(loop), loop.location:
        for ring in rings:
            create("mlopt.release", [ring])


def _first_reader(turned: ir.Operation) -> ir.Operation:
    """The first product that has a tile for its factor: until then it needs no registers."""
    readers = [use.owner.operation for use in turned.results[0].uses]
    return next(op for op in block_ops(turned.parent) if op in readers)
