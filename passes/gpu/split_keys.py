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

Legal for a loop over a known number of keys, and a known number of tasks. Which kernels have ``parts``, and
how many, is the schedule's: mlopt-schedule compares blocks with parts and without (`attention_blocks`). Runs
behind mlopt-gpu-late-scales, whose factor exponents of parts have, too, and before mlopt-gpu-split-masks.

Effect, as the cost model predicts it for an A100: a row of 32 heads that share 8 of 4096 keys, 128 elements
in bf16, is one kernel of 11 parts whose blocks take 11.0 µs, where one block for each of the 8 heads would
take 70.5. With its launch the kernel takes 12.6 µs; four kernels without attention took 23.0 in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import affine, arith, math, memref, scf, vector

from ...dialects.attributes import SCHEDULE, SUMS
from ..base import Pass, PassError
from ..combining import kind_of
from ..constants import constant, index_constant, integer_of, splat_of
from ..cpu.functions import append_operands, hosts_of
from ..moving.gathered import clone
from ..operations import block_ops, defining_op, ops_named
from ..reshapes import RESHAPES
from ..scheduling.attention_blocks import parts_at_once
from .grids import grids_of
from .layouts.warps import warps_of
from .threads.grid import Loops

_FOR, _REDUCTION, _ALIGNMENT = "scf.for", "vector.multi_reduction", 64


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


@dataclass(frozen=True)
class Keys:
    """A loop over so many ``keys``, ``step`` at a time, that carries a maximum, a sum and weighted sums.

    ``factor``: of exponents, that are powers of two then; None: they are of e.
    """

    loop: ir.Operation
    keys: int
    step: int
    counts: tuple[int, ...]
    factor: float | None


def can_split(forall: ir.Operation) -> Keys | str:
    """The loop over keys of a kernel's tasks, or why it cannot be divided."""
    loops = [op for op in block_ops(forall) if op.name == _FOR]
    if len(loops) != 1:
        return "its tasks do not have one loop, over keys"
    counts = [count for count in Loops.of(forall).static_counts() if count is not None]
    if len(counts) < Loops.of(forall).rank:
        return "the number of its tasks is not known"
    (loop,) = loops
    first, last, step = map(integer_of, list(loop.operands)[:3])
    if first != 0 or last is None or step is None:
        return "its loop does not run from 0 over a known number of keys"
    kept = _kept(loop)
    if kept is None:
        return "its loop carries no running maximum with sums that its exponential scales"
    factor = None
    if kept.name == "math.exp2":
        scaled = defining_op(kept.operands[0], "arith.mulf")
        found = None if scaled is None else splat_of(scaled.operands[1])
        if not isinstance(found, ir.FloatAttr):
            return "its exponents have no factor that is a number"
        factor = found.value
    return Keys(loop, last, step, tuple(counts), factor)


def _kept(loop: ir.Operation) -> ir.Operation | None:
    """The exponential that scales what an attention's loop carries."""
    *_, end = block_ops(loop)
    if len(end.operands) != 3:
        return None
    maximum, total, sums = (defining_op(value) for value in end.operands)
    top, before, _ = list(loop.regions[0].blocks[0].arguments)[1:]
    if maximum is None or total is None or sums is None or sums.name != "vector.contract":
        return None
    kinds = [kind_of(op) if op.name == _REDUCTION else "" for op in (maximum, total)]
    scaled = defining_op(sums.operands[2], "arith.mulf")
    if kinds != ["maximumf", "add"] or maximum.operands[1] != top or scaled is None:
        return None
    factor = scaled.operands[1]
    while (op := defining_op(factor, *RESHAPES)) is not None:
        factor = op.operands[0]
    carried = defining_op(total.operands[1], "arith.mulf")
    if carried is None or list(carried.operands) != [before, factor]:
        return None
    return defining_op(factor, "math.exp", "math.exp2")


def _split(forall: ir.Operation, found: Keys, parts: int) -> list[ir.Value]:
    """Divide the tasks, and write those that join parts; the new arguments of the kernel."""
    kernel, loop = forall.parent.operation, found.loop
    length = ceil(ceil(found.keys / found.step) / parts) * found.step
    number = ceil(found.keys / length)
    kinds = [ir.VectorType(result.type) for result in loop.results]
    buffers = [
        _argument(kernel, ir.MemRefType.get([number, *found.counts, *kind.shape], kind.element_type))
        for kind in kinds
    ]
    with ir.InsertionPoint.after(forall):
        _write_joins(forall, found, buffers, number)
    _erase_behind(loop)
    with ir.InsertionPoint(forall):
        bounds = Loops.of(forall)
        divided = scf.ForallOp(
            [0] * (bounds.rank + 1), [found.keys, *bounds.bounds], [length, *bounds.steps], []
        )
        SCHEDULE.set(divided.operation, SCHEDULE.get(forall) or {})
    start, *places = divided.induction_variables
    own = forall.regions[0].blocks[0]
    with ir.InsertionPoint(divided.body):
        end = scf.InParallelOp().operation
    for old, new in zip(own.arguments, places, strict=True):
        old.replace_all_uses_with(new)
    for op in block_ops(forall)[:-1]:
        op.move_before(end)
    with ir.InsertionPoint(loop), loop.location:
        loop.operands[0], loop.operands[1] = start, _end(start, length, found.keys)
    with ir.InsertionPoint(end), loop.location:
        tasks = [
            _divided(place, size)
            for place, size in zip((start, *places), (length, *bounds.steps), strict=True)
        ]
        for result, kind, buffer in zip(loop.results, kinds, buffers, strict=True):
            indices = [*tasks, *(index_constant(0) for _ in kind.shape)]
            vector.TransferWriteOp(None, result, buffer, indices, *_lies_within(buffer, kind))
    forall.erase()
    return buffers


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
        joined = _Join(found, buffers, tasks, count, parts).run()
        known: dict[ir.Value, ir.Value] = dict(zip(found.loop.results, joined, strict=True))
        own = forall.regions[0].blocks[0].arguments
        for place, task, step in zip(own, tasks, steps, strict=True):
            known[place] = affine.apply(_times(step), [task]) if step > 1 else task
        for op in _behind(forall, found.loop):
            clone(op, known)


class _Join:
    """The parts of a task's tile, ``count`` of them at once."""

    def __init__(
        self, found: Keys, buffers: Sequence[ir.Value], tasks: list[ir.Value], count: int, parts: int
    ) -> None:
        self.factor, self.buffers, self.tasks = found.factor, buffers, tasks
        self.count, self.parts = count, parts
        self.kinds = [ir.VectorType(result.type) for result in found.loop.results]

    def run(self) -> list[ir.Value]:
        """The maximum, the sum and the weighted sums of all parts."""
        starts = [_splat(kind, number) for kind, number in zip(self.kinds, (-inf, 0.0, 0.0), strict=True)]
        if self.count >= self.parts:
            return self._step(index_constant(0), starts, is_only=True)
        loop = scf.ForOp(index_constant(0), index_constant(self.parts), index_constant(self.count), starts)
        with ir.InsertionPoint(loop.body):
            scf.YieldOp(self._step(loop.induction_variable, list(loop.inner_iter_args)))
        return list(loop.results)

    def _step(self, at: ir.Value, carried: list[ir.Value], is_only: bool = False) -> list[ir.Value]:
        """The parts from ``at`` on, and what is ``carried``: nothing, if it ``is_only`` this step."""
        before, total, sums = carried
        tops, totals, weighted = (
            self._read(number, at, beyond) for number, beyond in enumerate((-inf, 0.0, 0.0))
        )
        top = vector.MultiDimReductionOp(vector.CombiningKind.MAXIMUMF, tops, before, [0]).result
        none = arith.CmpFOp(arith.CmpFPredicate.OEQ, top, _splat(self.kinds[0], -inf)).result
        less = arith.SelectOp(none, _splat(self.kinds[0], 0.0), top).result
        weights = self._power(arith.subf(tops, vector.broadcast(tops.type, less)))
        if not is_only:
            kept = self._power(arith.subf(before, less))
            total, sums = arith.mulf(total, kept), arith.mulf(sums, _along(kept, sums.type))
        total = _added(arith.mulf(totals, weights), total)
        return [top, total, _added(arith.mulf(weighted, _along(weights, weighted.type)), sums)]

    def _read(self, number: int, at: ir.Value, beyond: float) -> ir.Value:
        """What parts have of one of the values that the loop carried."""
        kind, buffer = self.kinds[number], self.buffers[number]
        wide = ir.VectorType.get([self.count, *kind.shape], kind.element_type)
        indices = [at, *self.tasks, *(index_constant(0) for _ in kind.shape)]
        pad = constant(ir.FloatAttr.get(kind.element_type, beyond))
        rank = ir.MemRefType(buffer.type).rank
        dims = [0, *range(rank - kind.rank, rank)]
        order = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(dim) for dim in dims])
        inside = [self.parts % self.count == 0, *[True] * kind.rank]
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(each) for each in inside])
        return vector.TransferReadOp(wide, buffer, indices, ir.AffineMapAttr.get(order), pad, bounds).result

    def _power(self, exponent: ir.Value) -> ir.Value:
        """The exponential that the loop over keys has."""
        if self.factor is None:
            return math.ExpOp(exponent).result
        scaled = arith.mulf(exponent, _splat(exponent.type, self.factor))
        return math.exp2(scaled, fastmath=ir.Attribute.parse("#arith.fastmath<afn>"))


def _added(values: ir.Value, total: ir.Value) -> ir.Value:
    """The sum over parts."""
    return vector.MultiDimReductionOp(vector.CombiningKind.ADD, values, total, [0]).result


def _along(factor: ir.Value, kind: ir.VectorType) -> ir.Value:
    """A row's factor for each of its elements."""
    tall = ir.VectorType.get([*ir.VectorType(factor.type).shape, 1], kind.element_type)
    return vector.broadcast(kind, vector.shape_cast(tall, factor))


def _splat(kind: ir.VectorType, number: float) -> ir.Value:
    splat = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(kind.element_type, number))
    return arith.constant(kind, splat)


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
            if ir.FlatSymbolRefAttr(call.attributes["callee"]).value == name:
                with ir.InsertionPoint(call), call.location:
                    made = [memref.alloc(each.type, [], [], alignment=_ALIGNMENT) for each in buffers]
                append_operands(call, made)
