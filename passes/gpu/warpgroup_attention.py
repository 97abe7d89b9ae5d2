"""Both products of attention are made by warpgroups: the weights stay in registers, between them.

Before (eight warps)::

    %q = vector.transfer_read %x[%i, %c0], %pad : memref<…xbf16>, vector<128x64xbf16>
    %r = scf.for %n = %c0 to %keys step %c128 iter_args(…, %acc = %zero) {
      %k = vector.transfer_read %y[%n, %c0], %pad : memref<…xbf16>, vector<128x64xbf16>
      %s = vector.contract {…, mlopt.mma = "m16n8k16.bf16"} %q, %k, %nothing
      … %p = arith.truncf (math.exp2 …) …
      %v = vector.transfer_read %z[%n, %c0], %pad : memref<…xbf16>, vector<128x64xbf16>
      %t = vector.contract {…, mlopt.mma = "m16n8k16.bf16"} %p, %v, %scaled
      …

After, with the instructions of four warps::

      %s = vector.contract {…, mlopt.mma = "m64n128k16.bf16"} %q, %k, %nothing
      …
      %t = vector.contract {…, mlopt.mma = "m64n64k16.bf16"} %p, %v, %scaled

A wgmma has both factors in shared memory, or that of the rows in registers: where the first product leaves
its results is where the second one wants its rows, two of them in a register once they are rounded. So
queries, keys and values are copied once for all warps, and no thread loads any.

Legal on sm_90a alone, for half floats, in loops of a kernel that go on where the one before has ended (as
mlopt-gpu-split-masks makes them of one), each of one such product of queries that are read before the loops,
and one of what is computed of it. A block has 64 rows for each of its warpgroups, or a power of two of them;
keys and heads make rows of 32, 64 or a multiple of 128 bytes, results up to 256 columns. What is read may be
copied ahead as by mlopt-gpu-warpgroup-products; the queries, two steps, and what else changes hands in one
fit ``shared`` bytes. What stays with mma.sync has the reason in mlopt.by_warps, which
`mlopt explain --layout` tells. Runs after mlopt-gpu-split-masks; mlopt-gpu-attention-loads copies.

Effect on sm_90a: a step of 128 keys of a warp's 16 rows, 64 elements a head, has 518 instructions, 12 of them
products; by mma.sync one of 64 keys and 32 rows has 679, 128 of them products (ptxas 13.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BY_WARPS, MMA
from ..base import Pass
from ..constants import integer_of
from ..operations import block_ops, defining_op, nested_ops
from .grids import grids_of
from .layouts.access import access_of
from .layouts.instructions import makes_factor
from .layouts.roles import Roles, roles_of
from .layouts.tiles import contract_loops, sizes_of
from .layouts.warpgroup import (
    PATTERN_BYTES,
    ROWS,
    WARPS,
    Factor,
    Warpgroup,
    factor_of,
    warpgroup_for,
    warpgroup_of,
)
from .layouts.warps import BLOCK_SHARED, warps_of
from .rings import read_alike
from .warpgroup_products import STAGES, factor_problem

_READ = "vector.transfer_read"
_KINDS = ("bf16", "f16")


@dataclass(frozen=True)
class WarpgroupAttention(Pass):
    """Mark attention's products for warpgroups; ``shared``: the bytes of shared memory of a block."""

    name: ClassVar[str] = "mlopt-gpu-warpgroup-attention"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Mark the products of each kernel that multiplies what it has multiplied."""
        for forall in grids_of(op):
            products = [each for each in nested_ops(forall) if MMA.name in each.attributes]
            if not any(map(makes_factor, products)):
                continue
            found = can_use(forall, products, self.shared)
            for product in products:
                if isinstance(found, str):
                    BY_WARPS.set(product, found)
                else:
                    MMA.set(product, str(found[product]))


@dataclass(frozen=True)
class Step:
    """A loop's two products: ``scores`` of rows that are read before, and that of what becomes of them."""

    loop: ir.Operation
    scores: ir.Operation
    sums: ir.Operation

    @property
    def reads(self) -> list[ir.Operation]:
        """Of the keys and the values."""
        return [product.operands[1].owner.operation for product in (self.scores, self.sums)]


def steps_of(forall: ir.Operation) -> list[Step] | str:
    """The loops of a kernel's attention, in their order, or why it is none."""
    products = [each for each in nested_ops(forall) if MMA.name in each.attributes]
    found = []
    for loop in [op for op in block_ops(forall) if op.name == "scf.for"]:
        own = [op for op in products if op.block == loop.regions[0].blocks[0]]
        if not own:
            continue
        if len(own) != 2 or not makes_factor(own[0]) or makes_factor(own[1]):
            return "its loop has others than a product and one of what is made of it"
        found.append(Step(loop, *own))
    if 2 * len(found) != len(products):
        return "no loop adds it up"
    for one, other in pairwise(found):
        (_, end, length), (first, _, step) = (list(each.loop.operands)[:3] for each in (one, other))
        if first != end or integer_of(step) != integer_of(length):
            return "its loops do not go on where the one before has ended"
    return found


def marked_steps(forall: ir.Operation) -> list[Step]:
    """The loops of a kernel's attention if warpgroups make it."""
    found = steps_of(forall)
    marked = not isinstance(found, str) and all(warpgroup_of(each.scores) is not None for each in found)
    return found if marked and not isinstance(found, str) else []


def can_use(
    forall: ir.Operation, products: Sequence[ir.Operation], shared: int
) -> dict[ir.Operation, Warpgroup] | str:
    """The instructions for a kernel's ``products``, or why warpgroups cannot make them."""
    steps = steps_of(forall)
    if isinstance(steps, str):
        return steps
    warps, marks = warps_of(forall), dict[ir.Operation, Warpgroup]()
    for step in steps:
        rows, groups = _roles(step.scores).rows.size, warps // WARPS
        if rows < ROWS * groups:
            return f"its {rows} rows are not {ROWS} for each of {groups} warpgroups"
        for product, read in ((step.scores, (0, 1)), (step.sums, (1,))):
            found = warpgroup_for(product, warps, read)
            if isinstance(found, str):
                return found
            if found.kind not in _KINDS:
                return f"factors of {found.kind} are none of attention, whose weights are half floats"
            marks[product] = found
        if (problem := _problem(forall, step)) is not None:
            return problem
    assert len(marks) == len(products), "steps_of has asked"
    last = steps[-1]
    alike = (zip(step.reads, last.reads, strict=True) for step in steps)
    if not all(read_alike(one, other) for pairs in alike for one, other in pairs):
        return "its loops read others than the last one"
    if not _is_known(last.loop.operands[1], steps[0].loop):
        return "it is not known before its first loop where the last one ends"
    slot = sum(_bytes(product, 1) for product in (last.scores, last.sums))
    room = shared - 3 * PATTERN_BYTES - _bytes(last.scores, 0) - _others(last)
    if STAGES * slot > room:
        return f"{STAGES} steps of {slot} bytes do not fit the {room} bytes of shared memory that are left"
    return marks


def _problem(forall: ir.Operation, step: Step) -> str | None:
    """Why a loop's factors are not where warpgroups take them."""
    if integer_of(step.loop.operands[2]) is None:
        return "its step is not a number"
    queries = step.scores.operands[0]
    if queries.owner.operation.block != forall.regions[0].blocks[0]:
        return "its rows are read in each step"
    for factor in (queries, *(read.results[0] for read in step.reads)):
        if (problem := factor_problem(step.loop, factor)) is not None:
            return problem
    if any(read.block != step.scores.block for read in step.reads):
        return "a factor is that of all steps"
    scores, sums = _roles(step.scores), _roles(step.sums)
    made, taken = contract_loops(step.scores)[2], contract_loops(step.sums)[0]
    assert sums.depth is not None, "mlopt-gpu-tensor-cores has asked"
    sides = made.index(scores.rows.loops[0]), made.index(scores.columns.loops[0])
    if sides != (taken.index(sums.rows.loops[0]), taken.index(sums.depth)):
        return "its rows are the next product's depth"
    return None


def _roles(product: ir.Operation) -> Roles:
    found = roles_of(product)
    assert isinstance(found, Roles), "mlopt-gpu-tensor-cores has asked"
    return found


def _is_known(value: ir.Value, before: ir.Operation) -> bool:
    """Whether a value of the kernel is there before one of its loops."""
    op = defining_op(value)
    return op is None or op.block != before.block or op.is_before_in_block(before)


def _bytes(product: ir.Operation, number: int) -> int:
    factor = factor_of(product, number)
    assert isinstance(factor, Factor), "warpgroup_for has asked"
    return factor.bytes


def _others(step: Step) -> int:
    """What else a step reads, as a mask, which may change hands in shared memory."""
    reads = [op for op in block_ops(step.loop) if op.name == _READ and op not in step.reads]
    wide = [op for op in reads if len([size for size in sizes_of(op.results[0]) if size > 1]) > 1]
    return sum(access_of(op).bytes for op in wide)
