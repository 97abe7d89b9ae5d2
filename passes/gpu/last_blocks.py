"""The last block of each tile adds up the tile's parts: two loops over tasks, parts and sums, become one.

Before, in a kernel with ``mlopt.sums``, blocks make parts of 64 x 64, others read 16 rows of all four::

    scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
      …
      vector.transfer_write %t, %p[%s, %m, %n]
    }
    scf.forall (%i, %n) = (0, 0) to (128, 768) step (16, 64) {
      %x = vector.transfer_read %p[%c0, %i, %n], … : memref<4x128x768xf32>, vector<4x16x64xf32>
      … the sum, and what follows …
    }

After::

    scf.forall (%s, %m, %n) = (0, 0, 0) to (4, 128, 768) step (1, 64, 64) {
      …
      vector.transfer_write %t, %p[%s, %m, %n]
      %last = "mlopt.last_arrival"(%tile) {parts = 4, tiles = 24}     // %m / 64 * 12 + %n / 64
      scf.if %last {
        scf.for %at = %c0 to %c64 step %c16 {
          %x = vector.transfer_read %p[%c0, %m + %at, %n], …
          …

``mlopt.last_arrival`` is true for all threads of the block that comes last of a tile's, and orders what all
of them wrote before what this one reads; how is said where it is emitted (``threads/arrivals.py``). Which
block is the last differs from call to call; the parts are read from their places, in one order, so the sum
does not. The block's registers for its own part are free by then, and so is its shared memory.

Legal behind mlopt-gpu-assign-layouts and what copies factors ahead: products know nothing of it. Each task of
the sums lies in one tile of the parts (mlopt-gpu-join-sums); a tile at an edge has fewer of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import affine, scf

from ..base import Pass, PassError
from ..constants import index_constant, integer_of
from ..operations import block_ops, ops_named
from .grids import adds_up_parts, grids_of
from .layouts.access import Access, access_of
from .layouts.tiles import sizes_of
from .threads.grid import Loops

_READ, _WRITE = "vector.transfer_read", "vector.transfer_write"


@dataclass(frozen=True)
class LastBlocks(Pass):
    """Let the last block of each tile add up its parts."""

    name: ClassVar[str] = "mlopt-gpu-last-blocks"

    def run(self, op: ir.Operation) -> None:
        """Join the two scf.foralls of each kernel that makes parts and their sums."""
        grids = grids_of(op)
        for parts, sums in [pair for pair in pairwise(grids) if adds_up_parts(pair[1])]:
            _join(parts, sums)


@dataclass(frozen=True)
class _Side:
    """A dim of the parts: where a block's tile begins, its size, the dim's, the loop of the sums along it."""

    start: ir.Value
    size: int
    extent: int
    loop: int | None


def _join(parts: ir.Operation, sums: ir.Operation) -> None:
    """Move the tasks of ``sums`` behind the write of the parts that they read."""
    writes = [access_of(op) for op in ops_named(parts, _WRITE)]
    is_once = len({write.buffer for write in writes}) == len(writes) > 0
    if not is_once or any(_in_loop(write.op, parts) for write in writes):
        raise PassError(parts, "last-blocks: a block of parts writes one tile of each buffer, once")
    write = writes[-1]  # of several, the last one alike
    read = next(
        (each for op in ops_named(sums, _READ) if (each := access_of(op)).buffer == write.buffer), None
    )
    if read is None:
        raise PassError(sums, "last-blocks: nothing reads the parts")
    shape = list(ir.MemRefType(write.buffer.type).shape)
    across = [
        dim
        for dim, extent in enumerate(shape)
        if _size(write, dim) == 1 < extent and (_size(read, dim) == extent or _is_stepped(read, dim, sums))
    ]
    if len(across) != 1:
        raise PassError(read.op, "last-blocks: a task reads all parts of its place, along one dim")
    others = [dim for dim in range(len(shape)) if dim not in across]
    sides = [
        _Side(write.indices[dim], _size(write, dim), shape[dim], _loop(sums, read.indices[dim]))
        for dim in others
    ]
    with ir.InsertionPoint.at_block_terminator(write.op.operation.block), sums.location:
        branch = scf.IfOp(_arrive(sides, shape[across[0]]))
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([]).operation
    steps = Loops.of(sums).steps
    body = sums.regions[0].blocks[0]
    for side in sides:
        if side.loop is not None:
            end, place = _walk(end, side, steps[side.loop])
            body.arguments[side.loop].replace_all_uses_with(place)
    for op in block_ops(sums)[:-1]:
        op.move_before(end)
    sums.erase()


def _is_stepped(read: Access, dim: int, sums: ir.Operation) -> bool:
    """Whether a task runs through a dim in a loop, which mlopt-gpu-chunk-rows has made: over all of it."""
    index, block = read.indices[dim], read.op.block
    made = index.owner if isinstance(index, ir.BlockArgument) else index.owner.operation.block
    return bool(block != sums.regions[0].blocks[0] and made == block)


def _in_loop(op: ir.Operation, parts: ir.Operation) -> bool:
    """Whether an op is in a loop of a task's; it may be in a branch of some of the block's warps."""
    parent = op.parent.operation
    return bool(parent != parts) and (parent.name != "scf.if" or _in_loop(parent, parts))


def _arrive(sides: Sequence[_Side], parts: int) -> ir.Value:
    """Whether the block is the last one of its tile."""
    counts = [ceil(side.extent / side.size) for side in sides]
    number = ir.AffineExpr.get_constant(0)
    for dim, (side, count) in enumerate(zip(sides, counts, strict=True)):
        number = number * count + ir.AffineExpr.get_floor_div(ir.AffineExpr.get_dim(dim), side.size)
    where = ir.AffineMap.get(len(sides), 0, [number])
    tile = affine.apply(where, [side.start for side in sides])
    attributes = {"parts": _integer(parts), "tiles": _integer(prod(counts))}
    truth = ir.IntegerType.get_signless(1)
    return ir.Operation.create("mlopt.last_arrival", [truth], [tile], attributes).results[0]


def _walk(end: ir.Operation, side: _Side, step: int) -> tuple[ir.Operation, ir.Value]:
    """A loop before ``end`` over a tile's part of a dim, in memory: its end, and the place."""
    if step >= side.size:
        return end, side.start
    dim = ir.AffineExpr.get_dim(0)
    with ir.InsertionPoint(end), end.location:
        most = index_constant(side.size)
        if side.extent % side.size:
            left = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_constant(side.size), side.extent - dim])
            attributes = {"map": ir.AffineMapAttr.get(left)}
            most = ir.Operation.create("affine.min", [most.type], [side.start], attributes).results[0]
        loop = scf.ForOp(index_constant(0), most, index_constant(step))
    with ir.InsertionPoint(loop.body), end.location:
        place = affine.apply(
            ir.AffineMap.get(2, 0, [dim + ir.AffineExpr.get_dim(1)]), [side.start, loop.induction_variable]
        )
        return scf.YieldOp([]).operation, place


def _loop(sums: ir.Operation, index: ir.Value) -> int | None:
    """The loop over tasks that a place runs along; None for a dim that each task reads from its beginning."""
    if isinstance(index, ir.BlockArgument) and index.owner == sums.regions[0].blocks[0]:
        return int(index.arg_number)
    if integer_of(index) != 0:
        raise PassError(sums, "last-blocks: parts are read where their loops are")
    return None


def _size(access: Access, dim: int) -> int:
    """What a tile has of a dim of its buffer."""
    return prod(size for size, own in zip(sizes_of(access.tile), access.dims, strict=True) if own == dim)


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
