"""A row's results are stored while the next row is computed.

    scf.for %r = %c0 to %c8 step %c1 {
      …                                                 // its maximum
      %s = scf.for %c … iter_args(%a = %zero) {         // 64 exponentials and their sum
        vector.store %e, %row[%c0, %c]
      }
      scf.for %c … {
        memref.prefetch %x[%r + 1, %c]
        %e = vector.load %row[%c0, %c]
        vector.store (%e / %s), %out[%r, %c] {nontemporal = true}
      }
    }
  ->
    …                                                   // the first row, up to its sum
    %last:2 = scf.for %r = %c1 to %c8 step %c1 iter_args(%before = %c0, %t = %s) {
      …
      %s = scf.for %c … iter_args(%a = %zero) {
        memref.prefetch %x[%r + 2, %c]
        …
        %f = vector.load %row[%c0, %c]
        vector.store (%f / %t), %out[%before, %c] {nontemporal = true}
        vector.store %e, %row[%c0, %c]
      }
      scf.yield %r, %s
    }
    …                                                   // the last row's results

Stores past the caches wait for memory: in a loop of their own a row's results take as long as memory does,
which has nothing to do while exponentials are computed. What asks for the next row (`strips/prefetch_row.py`)
goes with them, and asks for the row after it: the next one is read as soon as the loop is over. Loads stay
before the stores, which they would wait for where both lie at one place of a page.

Legal where the loop before goes over the same strips and, of what the results are made from, changes a strip
of one buffer alone, after these results have read it; and where nothing else of the rows touches the result's
buffer. Done where results of 4 bytes or more are stored past the caches and made of what that loop keeps,
because it was dear. The same bits. Effect on softmax of 16 MiB of f32 on a Zen 4, one thread: of rows of 1024
0.61 to 0.75 of the time, of 256 0.89, of 512 0.86, of 4096 0.80; two threads, which memory bounds, 0.82 to
1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, scf

from ...dialects.attributes import KERNEL
from ..base import Pass
from ..constants import index_constant, integer_of
from ..operations import block_ops, defining_op, nested_ops, ops_named
from .arena_layout import element_bytes
from .functions import defined_functions

_PURE = ("arith.", "math.", "vector.")
_LOADS = ("vector.load", "memref.load")
_STORE, _PREFETCH = "vector.store", "memref.prefetch"

NARROWEST = 4  # bytes of an element: memory does not wait for conversions (bf16: 1.06 of the time)

Copies = Mapping[ir.Value, ir.Value]


@dataclass(frozen=True)
class CpuLateStores(Pass):
    """Store the results of a row in the loop that computes the next one."""

    name: ClassVar[str] = "mlopt-cpu-late-stores"

    def run(self, op: ir.Operation) -> None:
        """Look at each loop over rows of each kernel."""
        for kernel in defined_functions(op):
            if KERNEL.get(kernel):
                found = [late_of(rows) for rows in ops_named(kernel, "scf.for")]
                for late in reversed(found):  # those inside of others first
                    if late is not None and can_store_late(late) and should_store_late(late):
                        _rewrite(late)


@dataclass(frozen=True)
class Late:
    """A loop over ``rows`` that ends with the loop ``stores``; ``before`` is the one before it."""

    rows: ir.Operation
    before: ir.Operation
    stores: ir.Operation
    steps: range

    @property
    def number(self) -> ir.Value:
        """The row's."""
        return self.rows.regions[0].blocks[0].arguments[0]

    def made_for(self, *names: str) -> list[ir.Operation]:
        """The ops called so in the loop ``stores``, and what it makes for them, in order."""
        ops = block_ops(self.stores)[:-1]
        wanted = {op for op in ops if op.name in names}
        for op in reversed(ops):
            if op in wanted:
                wanted |= {maker for each in op.operands if (maker := defining_op(each)) is not None}
        return [op for op in ops if op in wanted]

    def taken_by(self, ops: Iterable[ir.Operation]) -> list[ir.Value]:
        """What ``ops`` read that each row makes anew, the row's number included."""
        block = self.rows.regions[0].blocks[0]
        read = dict.fromkeys(value for op in ops for value in op.operands)
        return [value for value in read if _block_of(value) == block]

    def uses_of(self, buffer: ir.Value) -> list[ir.Operation]:
        """The ops on a buffer in the rows."""
        inside = nested_ops(self.rows)
        users = (use.owner.operation for use in buffer.uses)
        return [user for user in users if user in inside]


def late_of(rows: ir.Operation) -> Late | None:
    """The last two loops of each of several rows, if they go over the same strips."""
    bounds = [integer_of(bound) for bound in list(rows.operands)[:3]]
    known = [bound for bound in bounds if bound is not None]
    steps = range(*known) if len(known) == len(bounds) else range(0)
    loops = [op for op in block_ops(rows) if op.name == "scf.for"]
    if len(steps) < 2 or rows.results or len(loops) < 2 or block_ops(rows)[-2] != loops[-1]:
        return None
    before, stores = loops[-2:]
    same = list(before.operands)[:3] == list(stores.operands)
    return Late(rows, before, stores, steps) if same else None


def can_store_late(late: Late) -> bool:
    """Whether the results can wait for the same strip of the next row."""
    ops = block_ops(late.stores)[:-1]
    if not all(op.name.startswith(_PURE) or op.name in (*_LOADS, _PREFETCH) for op in ops):
        return False
    for op in ops:
        touched = [value for value in op.operands if isinstance(value.type, ir.MemRefType)]
        if not all(_can_wait(late, op, buffer) for buffer in touched):
            return False
    if set(late.taken_by(late.made_for(_PREFETCH))) - {late.number}:
        return False
    kinds = (value.type for value in late.taken_by(late.made_for(_STORE)))
    return all(isinstance(kind, (ir.IndexType, ir.FloatType, ir.IntegerType)) for kind in kinds)


def should_store_late(late: Late) -> bool:
    """Whether results go past the caches, as wide as they are computed, and are made of what is kept."""
    ops = block_ops(late.stores)
    stores = [op for op in ops if op.name == _STORE]
    streamed = bool(stores) and all(_is_streamed(op) for op in stores)
    kept = {op.operands[1] for op in block_ops(late.before) if op.name == _STORE}
    return streamed and any(op.name in _LOADS and op.operands[0] in kept for op in ops)


def _is_streamed(store: ir.Operation) -> bool:
    return (
        "nontemporal" in store.attributes and element_bytes(store.operands[1].type.element_type) >= NARROWEST
    )


def _can_wait(late: Late, op: ir.Operation, buffer: ir.Value) -> bool:
    """Whether ``op``, in the loop of stores, does the same to a buffer beside the next row."""
    users = late.uses_of(buffer)
    if op.name == _PREFETCH:
        return True
    if op.name == _STORE:
        return op.operands[1] == buffer and all(user.block == op.block for user in users)
    if not isinstance(buffer, ir.BlockArgument) and defining_op(buffer, "memref.alloca") is None:
        return False  # a view, of what others may write to
    writers = [user for user in users if user.name not in (*_LOADS, _PREFETCH)]
    return not writers or (len(writers) == 1 and _keeps(late, writers[0], op))


def _keeps(late: Late, store: ir.Operation, load: ir.Operation) -> bool:
    """Whether ``store``, in the loop before, writes the very strip that ``load`` reads."""
    body, own = (loop.regions[0].blocks[0] for loop in (late.before, late.stores))
    if store.name != _STORE or store.block != body or store.operands[0].type != load.results[0].type:
        return False
    *written, last = list(store.operands)[2:]
    *read, end = list(load.operands)[1:]
    outside = all(_is_outside(value, late.rows) for value in written)
    width, step = store.operands[0].type.shape[-1], integer_of(late.before.operands[2])
    along = last == body.arguments[0] and end == own.arguments[0] and step is not None and width <= step
    return written == read and outside and along


def _block_of(value: ir.Value) -> ir.Block:
    return value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    return isinstance(value.owner, ir.Block) or value.owner.operation not in nested_ops(loop)


def _rewrite(late: Late) -> None:
    """The first row, the others, each with the results of the one before, and the last one's results."""
    late_ops = late.made_for(_STORE)
    carried = late.taken_by(late_ops)
    low, high, step = late.steps.start, late.rows.operands[1], late.rows.operands[2]
    with late.rows.location, ir.InsertionPoint(late.rows):
        first = _row(late, {late.number: late.rows.operands[0]}, None)
        start = index_constant(low + late.steps.step)
        others = scf.ForOp(start, high, step, [first[value] for value in carried])
        with ir.InsertionPoint(others.body):
            before = dict(zip(carried, others.inner_iter_args, strict=True))
            again = _row(late, {late.number: others.induction_variable}, before)
            scf.YieldOp([again[value] for value in carried])
        last = late.stores.clone(ir.InsertionPoint.current).operation
        _replace([last, *nested_ops(last)], dict(zip(carried, others.results, strict=True)))
        for prefetch in ops_named(last, _PREFETCH):
            prefetch.erase()
    late.rows.erase()


def _row(late: Late, known: Copies, before: Copies | None) -> Copies:
    """A copy of all that a row does but to store, with the stores of the row ``before``, if there is one."""
    values = dict(known)
    *ops, _, _ = block_ops(late.rows)
    for op in ops:
        copy = _copy(op, values)
        if op == late.before:
            strip = {late.stores.regions[0].blocks[0].arguments[0]: copy.regions[0].blocks[0].arguments[0]}
            with ir.InsertionPoint.at_block_begin(copy.regions[0].blocks[0]):
                following = arith.addi(known[late.number], late.rows.operands[2])
                _copy_all(late.made_for(_PREFETCH), {late.number: following, **strip})
            if before is not None:
                with ir.InsertionPoint(next(each for each in block_ops(copy) if each.name == _STORE)):
                    _copy_all(late.made_for(_STORE), {**before, **strip})
    return values


def _copy_all(ops: Iterable[ir.Operation], known: Copies) -> None:
    values = dict(known)
    for op in ops:
        _copy(op, values)


def _copy(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """A copy with other operands, also inside of it; its results join ``values``."""
    copy = op.clone(ir.InsertionPoint.current).operation
    _replace([copy, *nested_ops(copy)], values)
    values.update(zip(op.results, copy.results, strict=True))
    return copy


def _replace(ops: Iterable[ir.Operation], values: Copies) -> None:
    for op in ops:
        for place, operand in enumerate(op.operands):
            if operand in values:
                op.operands[place] = values[operand]
