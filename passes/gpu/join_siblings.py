"""Products of warpgroups that share a factor are made in one loop, which brings that factor once.

Before, as of silu(x @ w) * (x @ v)::

    %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], …
      %y = vector.transfer_read %b[%j, %k], …
      %t = vector.contract {…, mlopt.mma = "m64n128k16.bf16"} %x, %y, %s
      scf.yield %t
    }
    … of %d …
    %e = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x128xf32>) {
      %x = vector.transfer_read %a[%i, %k], …
      %z = vector.transfer_read %c[%j, %k], …
      …
    }

After::

    %d, %e = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero, %u = %zero) -> (…) {
      %x = vector.transfer_read %a[%i, %k], …
      %y = vector.transfer_read %b[%j, %k], …
      %t = vector.contract {…} %x, %y, %s
      %z = vector.transfer_read %c[%j, %k], …
      %v = vector.contract {…} %x, %z, %u
      scf.yield %t, %v
    }
    … of %d …

Legal behind mlopt-gpu-warpgroup-products for loops of the same steps, the later of which needs nothing that
is made from the earlier one on, where nothing between them writes. Done where a read is the same, and three
steps of all factors fit ``shared`` bytes. One loop has one ring, so that its copies can have a warp of their
own (mlopt-gpu-warp-roles). Shorter rows, which mlopt-gpu-keep-rows keeps, are none that loops read twice.

Effect on sm_90a, silu(x @ w) * (x @ v) in bf16 by blocks of 128x128x64: 48 KB for 64 of the depth, not 64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ...dialects.attributes import MMA
from ..base import Pass
from ..operations import attributes_of, block_ops, nested_ops
from .buffers import written_by
from .grids import grids_of
from .layouts.access import bytes_of
from .layouts.tiles import sizes_of
from .layouts.warpgroup import PATTERN_BYTES, warpgroup_of
from .layouts.warps import BLOCK_SHARED

_READ = "vector.transfer_read"
_STAGES = 3  # at least


@dataclass(frozen=True)
class JoinSiblings(Pass):
    """Join loops of products that share a factor; ``shared``: the bytes of a block's shared memory."""

    name: ClassVar[str] = "mlopt-gpu-join-siblings"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Join the loops of each kernel, the last two first."""
        for forall in grids_of(op):
            loops = [each for each in block_ops(forall) if _multiplies(each)]
            for one, other in reversed(list(pairwise(loops))):
                if can_join(one, other) and should_join(one, other, self.shared):
                    _join(one, other)


def can_join(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether the ``other`` loop can be run with ``one``, in its place."""
    body = block_ops(one.parent.operation)
    between = body[body.index(one) : body.index(other)]
    used = [value for op in (other, *nested_ops(other)) for value in op.operands]
    late = [value for value in used if value.owner in between]
    writes = written_by([each for op in between for each in (op, *nested_ops(op))])
    return not late and not writes and list(one.operands)[:3] == list(other.operands)[:3]


def should_join(one: ir.Operation, other: ir.Operation, shared: int) -> bool:
    """Whether they share a factor, and all factors of three steps fit."""
    reads, others = ([op for op in block_ops(loop) if op.name == _READ] for loop in (one, other))
    same = {one.regions[0].blocks[0].arguments[0]: other.regions[0].blocks[0].arguments[0]}
    new = [op for op in others if not any(_alike(op, each, same) for each in reads)]
    tiles = [op.results[0] for op in (*reads, *new)]
    slot = sum(prod(sizes_of(tile)) * bytes_of(tile.type.element_type) for tile in tiles)
    return len(new) < len(others) and _STAGES * slot <= shared - PATTERN_BYTES * len(tiles)


def _multiplies(op: ir.Operation) -> bool:
    """Whether a loop makes products of warpgroups, and nothing but reads and positions besides."""
    if op.name != "scf.for":
        return False
    products = [each for each in block_ops(op) if MMA.name in each.attributes]
    return bool(products) and all(warpgroup_of(each) is not None for each in products)


def _alike(op: ir.Operation, other: ir.Operation, same: dict[ir.Value, ir.Value]) -> bool:
    """Whether two ops make the same, if values of the ``other`` one are the ``same`` as these."""
    operands = [same.get(value, value) for value in other.operands]
    same_attributes = attributes_of(op) == attributes_of(other)
    return op.name == other.name and list(op.operands) == operands and same_attributes


def _join(one: ir.Operation, other: ir.Operation) -> None:
    first, end, step, *starts = one.operands
    with ir.InsertionPoint(one), one.location:
        loop = scf.ForOp(first, end, step, [*starts, *list(other.operands)[3:]])
    carried = iter(loop.inner_iter_args)
    with ir.InsertionPoint(loop.body), one.location:
        last = scf.YieldOp([]).operation
    yielded: list[ir.Value] = []
    for old in (one, other):
        at, *arguments = old.regions[0].blocks[0].arguments
        at.replace_all_uses_with(loop.induction_variable)
        for argument in arguments:
            argument.replace_all_uses_with(next(carried))
        *ops, end_of = block_ops(old)
        yielded += end_of.operands
        _move(ops, loop.operation, last)
    with ir.InsertionPoint(last), one.location:
        scf.YieldOp(yielded)
    last.erase()
    results = iter(loop.results)
    for old in (one, other):
        for result in old.results:
            result.replace_all_uses_with(next(results))
        old.erase()


def _move(ops: Sequence[ir.Operation], loop: ir.Operation, last: ir.Operation) -> None:
    """Move ops to a loop's end; what it has already is taken from there."""
    for op in ops:
        there = next((each for each in block_ops(loop) if _alike(each, op, {})), None)
        if there is None or MMA.name in op.attributes:
            op.move_before(last)
            continue
        for result, known in zip(op.results, there.results, strict=True):
            result.replace_all_uses_with(known)
        op.erase()
