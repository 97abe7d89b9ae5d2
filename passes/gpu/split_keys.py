"""The keys of attention's few rows are divided over blocks; the last one of each tile joins what they found.

Before, in a kernel whose schedule has ``parts``, 8 blocks have 4 rows and all keys each::

    scf.forall (%h) = (0) to (8) step (1) {
      %q = vector.transfer_read %x[%h, %c0, %c0], …
      %r:3 = scf.for %n = %c0 to %c4096 step %c64 iter_args(%top = %low, %sum = %zero, %acc = %zeros) { … }
      … %r#2 / %r#1 …
      vector.transfer_write %y, %out[%h, %c0, %c0]
    }

After, 16 times as many blocks; other tasks join the maxima, sums and weighted sums of a tile::

    scf.forall (%n0, %h) = (0, 0) to (4096, 8) step (256, 1) {
      %q = vector.transfer_read %x[%h, %c0, %c0], …
      %r:3 = scf.for %n = %n0 to %end step %c64 iter_args(%top = %low, %sum = %zero, %acc = %zeros) { … }
      … three writes to %tops, %sums and %accs [%n0 floordiv 256, %h, …], new arguments of the kernel …
    }
    scf.forall (%h) = (0) to (8) step (1) {
      %t = vector.transfer_read %tops[%c0, %h, …], … : memref<16x8x1x4xf32>, vector<16x1x4xf32>
      %top = vector.multi_reduction <maximumf>, %t, %low [0]
      %w = math.exp (%t - %top)
      %sum = vector.multi_reduction <add>, %s * %w, %zero [0]
      %acc = vector.multi_reduction <add>, %a * %w, %zeros [0]
      … %acc / %sum …
      vector.transfer_write %y, %out[%h, %c0, %c0]
    }

mlopt-gpu-last-blocks makes one scf.forall of the two. As many parts are read at once as threads can have in
flight; a loop runs through more of them. Parts are joined in their order: the same numbers at each call. A
part without a key that counts has the maximum -inf, and weighs nothing.

Where nobody knows how many keys there are, as in a cache that grows, so does a part's length, and a part may
be empty; the number of parts stays::

    scf.forall (%p, %h) = (0, 0) to (16, 8) step (1, 1) {
      %length = affine.apply (n ceildiv (64 * 16) * 64)
      %n0 = %p * %length
      %r:3 = scf.for %n = %n0 to (min of %n0 + %length, n, and %n0 or more) step %c64 …

Legal for a known number of tasks. Which kernels have ``parts``, and how many, is the schedule's:
mlopt-schedule compares blocks with parts and without (`attention_blocks`), of 1024 keys where their number is
not known. Runs behind mlopt-gpu-late-scales, whose factor exponents of parts have, too, and before
mlopt-gpu-split-masks.

Effect, as the cost model predicts it for an A100: a row of 32 heads that share 8 of 4096 keys, 128 elements
in bf16, is one kernel of 11 parts whose blocks take 11.0 µs, where one block for each of the 8 heads would
take 70.5. With its launch the kernel takes 12.6 µs; four kernels without attention took 23.0 in all. Of keys
whose number is not known it is one kernel, too, where three wrote and read all scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import affine, arith, memref, scf, vector

from ...dialects.attributes import SCHEDULE, SUMS
from ..base import Pass, PassError
from ..constants import index_constant
from ..cpu.functions import append_operands, hosts_of
from ..moving.gathered import clone
from ..operations import block_ops, callee_of, ops_named
from ..scheduling.attention_blocks import parts_at_once
from .grids import grids_of
from .layouts.warps import warps_of
from .shared_keys.join import Join
from .shared_keys.match import Keys, can_split
from .threads.grid import Loops

_ALIGNMENT = 64


@dataclass(frozen=True)
class SplitKeys(Pass):
    """Divide the keys of attention over blocks where the schedule says so."""

    name: ClassVar[str] = "mlopt-gpu-split-keys"

    def run(self, op: ir.Operation) -> None:
        """Split the scf.forall of each kernel whose schedule has parts."""
        for forall in grids_of(op):
            (parts,) = (SCHEDULE.get(forall) or {}).get("parts", (1,))
            if parts > 1:
                found = can_split(forall)
                if isinstance(found, str):
                    raise PassError(forall, f"split-keys: {found}; leave parts out of its schedule")
                kernel = forall.parent.operation
                with forall.location:
                    buffers = _split(forall, found, parts)
                _pass_buffers(op, kernel, buffers)


def _split(forall: ir.Operation, found: Keys, parts: int) -> list[ir.Value]:
    """Divide the tasks, and write those that join parts; the new arguments of the kernel."""
    kernel, loop, bounds = forall.parent.operation, found.loop, Loops.of(forall)
    all_keys, length = parts, 1  # what the new loop over tasks runs through, and its step
    if found.keys is not None:
        all_keys, length = found.keys, ceil(ceil(found.keys / found.step) / parts) * found.step
        parts = ceil(found.keys / length)
    kinds = [ir.VectorType(result.type) for result in loop.results]
    buffers = [
        _argument(kernel, ir.MemRefType.get([parts, *found.counts, *kind.shape], kind.element_type))
        for kind in kinds
    ]
    with ir.InsertionPoint.after(forall):
        _write_joins(forall, found, buffers, parts)
    _erase_behind(loop)
    with ir.InsertionPoint(forall):
        divided = scf.ForallOp(
            [0] * (bounds.rank + 1), [all_keys, *bounds.bounds], [length, *bounds.steps], []
        )
        SCHEDULE.set(divided.operation, SCHEDULE.get(forall) or {})
    part, *places = divided.induction_variables
    own = forall.regions[0].blocks[0]
    with ir.InsertionPoint(divided.body):
        end = scf.InParallelOp().operation
    for old, new in zip(own.arguments, places, strict=True):
        old.replace_all_uses_with(new)
    for op in block_ops(forall)[:-1]:
        op.move_before(end)
    with ir.InsertionPoint(loop), loop.location:
        loop.operands[0], loop.operands[1] = (
            _unknown_keys(part, found, parts)
            if found.keys is None
            else (part, _end(part, length, found.keys))
        )
    with ir.InsertionPoint(end), loop.location:
        tasks = [
            _divided(place, size)
            for place, size in zip((part, *places), (length, *bounds.steps), strict=True)
        ]
        for result, kind, buffer in zip(loop.results, kinds, buffers, strict=True):
            indices = [*tasks, *(index_constant(0) for _ in kind.shape)]
            vector.TransferWriteOp(None, result, buffer, indices, *_lies_within(buffer, kind))
    forall.erase()
    return buffers


def _unknown_keys(part: ir.Value, found: Keys, parts: int) -> tuple[ir.Value, ir.Value]:
    """The first key of a part, by its number, and the one after its last, of whole steps but for the end."""
    keys = found.loop.operands[1]
    steps = ir.AffineExpr.get_ceil_div(ir.AffineDimExpr.get(0), found.step * parts) * found.step
    length = affine.apply(ir.AffineMap.get(1, 0, [steps]), [keys])
    start = arith.muli(part, length)
    return start, arith.maxsi(start, arith.minsi(arith.addi(start, length), keys))


def _write_joins(forall: ir.Operation, found: Keys, buffers: Sequence[ir.Value], parts: int) -> None:
    """Tasks that join ``parts`` parts each, and do what comes after the loop."""
    steps, warps = Loops.of(forall).steps, warps_of(forall)
    joins = scf.ForallOp([0] * len(steps), list(found.counts), [1] * len(steps), [])
    schedule = {"tile": (1,) * len(steps), "warps": (warps,)}
    SCHEDULE.set(joins.operation, schedule)
    SUMS.set(forall.parent.operation, schedule)
    with ir.InsertionPoint(joins.body):
        end = scf.InParallelOp().operation
    with ir.InsertionPoint(end):
        tasks = list(joins.induction_variables)
        elements = prod(ir.VectorType(found.loop.results[2].type).shape)
        count = min(parts_at_once(elements, warps), parts)
        joined = Join(found, buffers, tasks, count, parts).run()
        known: dict[ir.Value, ir.Value] = dict(zip(found.loop.results, joined, strict=True))
        own = forall.regions[0].blocks[0].arguments
        for place, task, step in zip(own, tasks, steps, strict=True):
            known[place] = affine.apply(_times(step), [task]) if step > 1 else task
        for op in _behind(forall, found.loop):
            clone(op, known)


def _end(start: ir.Value, length: int, keys: int) -> ir.Value:
    """The key after the last of a part."""
    after = ir.AffineDimExpr.get(0) + length
    if keys % length == 0:
        return affine.apply(ir.AffineMap.get(1, 0, [after]), [start])
    where = ir.AffineMap.get(1, 0, [after, ir.AffineConstantExpr.get(keys)])
    attributes = {"map": ir.AffineMapAttr.get(where)}
    return ir.Operation.create("affine.min", [ir.IndexType.get()], [start], attributes).results[0]


def _divided(place: ir.Value, size: int) -> ir.Value:
    """The number of a task along a loop."""
    if size == 1:
        return place
    number = ir.AffineExpr.get_floor_div(ir.AffineDimExpr.get(0), size)
    return affine.apply(ir.AffineMap.get(1, 0, [number]), [place])


def _times(step: int) -> ir.AffineMap:
    return ir.AffineMap.get(1, 0, [ir.AffineDimExpr.get(0) * step])


def _lies_within(buffer: ir.Value, kind: ir.VectorType) -> tuple[ir.Attribute, ir.Attribute]:
    """The map and the bounds of a write of a tile that is all of a buffer's last dims."""
    rank = ir.MemRefType(buffer.type).rank
    dims = [ir.AffineDimExpr.get(dim) for dim in range(rank - kind.rank, rank)]
    bounds = ir.ArrayAttr.get([ir.BoolAttr.get(True)] * kind.rank)
    return ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, dims)), bounds


def _behind(forall: ir.Operation, loop: ir.Operation) -> list[ir.Operation]:
    """What tasks do after the loop, and the ops before it that this takes, in their order."""
    ops = block_ops(forall)[:-1]
    after = ops[ops.index(loop) + 1 :]
    needed = set(after)
    for op in reversed(ops):
        if op in needed:
            inner = [
                op,
                *(each for region in op.regions for block in region.blocks for each in block.operations),
            ]
            values = [value for each in inner for value in each.operation.operands]
            makers = {value.owner.operation for value in values if not isinstance(value.owner, ir.Block)}
            needed |= {maker for maker in makers if maker != loop}
    return [op for op in ops if op in needed]


def _erase_behind(loop: ir.Operation) -> None:
    """Erase what tasks did after their loop."""
    ops = block_ops(loop.parent.operation)[:-1]
    for op in reversed(ops[ops.index(loop) + 1 :]):
        op.erase()


def _argument(kernel: ir.Operation, kind: ir.MemRefType) -> ir.Value:
    """A new last argument of a kernel."""
    block = kernel.regions[0].blocks[0]
    argument = block.add_argument(kind, kernel.location)
    old = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
    kernel.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([*old.inputs, kind], list(old.results))
    )
    if "arg_attrs" in kernel.attributes:
        marks = [*ir.ArrayAttr(kernel.attributes["arg_attrs"]), ir.DictAttr.get()]
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)
    return argument


def _pass_buffers(module: ir.Operation, kernel: ir.Operation, buffers: Sequence[ir.Value]) -> None:
    """Allocate what a kernel leaves in parts before each of its calls."""
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    for host in hosts_of(module):
        for call in ops_named(host, "func.call"):
            if callee_of(call) == name:
                with ir.InsertionPoint(call), call.location:
                    made = [memref.alloc(each.type, [], [], alignment=_ALIGNMENT) for each in buffers]
                append_operands(call, made)
