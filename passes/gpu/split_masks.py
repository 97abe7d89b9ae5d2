"""Steps of a loop for which a mask is true everywhere run in a loop of their own, without the mask.

Before (%row the first of a task's 128 rows)::

    %r = scf.for %n = %c0 to %end step %c64 iter_args(…) {
      %keys = arith.addi (vector.step), (vector.broadcast %n)
      %in = arith.cmpi sge, %rows, %keys                        // %row + 0 … 127, and %n + 0 … 63
      %t = arith.select %in, %s, %nothing
      …

After::

    %whole = … %row + 1 - 63, rounded up to steps of 64, from 0 to %end
    %p = scf.for %n = %c0 to %whole step %c64 iter_args(…) {
      … with %s for %t
    }
    %r = scf.for %n = %whole to %end step %c64 iter_args(%p) { … as before … }

Causal attention masks its diagonal alone, and keys past the end cost the last step alone. Reads that end
inside of their buffers wherever the mask is true are marked so. Legal where positions grow by 1 with the
loop's, so that a mask is true up to some step and no further; done for loops with products on tensor cores,
whose other work a mask's two instructions an element add to. Runs after mlopt-gpu-tensor-cores.

Effect on sm_80: causal attention's loop over 64 keys, 32 rows of 64 elements a warp, 895 -> 680 instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import affine, arith

from ...dialects.attributes import MMA
from ..base import Pass
from ..constants import index_constant, integer_of, literal_of
from ..divisors import divisor
from ..operations import block_ops, defining_op, nested_ops
from ..reshapes import RESHAPES
from ..structured import is_used
from .grids import grids_of
from .layouts.access import access_of
from .layouts.linear import Linear, linear_of
from .layouts.tiles import is_tile, sizes_of

_SLT, _SGE = 2, 5  # of arith.cmpi
_PURE = ("arith.", "vector.step", *RESHAPES)


@dataclass(frozen=True)
class SplitMasks(Pass):
    """Run the steps of loops that need no mask without it."""

    name: ClassVar[str] = "mlopt-gpu-split-masks"

    def run(self, op: ir.Operation) -> None:
        """Split the loops of each kernel that multiply on tensor cores."""
        for forall in grids_of(op):
            for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
                masks = masks_of(loop)
                if should_split(loop) and masks:
                    _split(loop, masks)


@dataclass(frozen=True)
class Mask:
    """A comparison in a loop that is true everywhere while the loop's position is below ``end``."""

    op: ir.Operation
    end: Linear


@dataclass(frozen=True)
class _Range:
    """Positions from ``first`` to ``first + more``."""

    first: Linear
    more: int


def should_split(loop: ir.Operation) -> bool:
    """Whether the mask is a part of its work that counts."""
    return any(MMA.name in op.attributes for op in block_ops(loop))


def masks_of(loop: ir.Operation) -> list[Mask]:
    """The masks that are true up to some step; none if the loop's bounds do not let it be split."""
    if integer_of(loop.operands[2]) is None or not begins_at_step(loop):
        return []
    found = [mask for op in block_ops(loop) if (mask := _mask(loop, op)) is not None]
    return [mask for mask in found if all(_is_outside(loop, value) for value in mask.end.terms)]


def begins_at_step(loop: ir.Operation) -> bool:
    """Whether a loop begins after whole steps."""
    step = integer_of(loop.operands[2])
    return step is not None and divisor(loop.operands[0]) % step == 0


def _mask(loop: ir.Operation, op: ir.Operation) -> Mask | None:
    if op.name != "arith.cmpi" or not is_tile(op.results[0]):
        return None
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    left, right = map(_range, op.operands)
    if predicate not in (_SLT, _SGE) or left is None or right is None:
        return None
    # true for all: less + less.more < more.first, and for sge no more than it
    less, more = (left, right) if predicate == _SLT else (right, left)
    end = more.first.plus(less.first, -1).plus(Linear(int(predicate == _SGE) - less.more))
    position = loop.regions[0].blocks[0].arguments[0]
    return Mask(op, end.plus(Linear(0, {position: 1})))


def _range(value: ir.Value) -> _Range | None:
    """The positions that a tile of indices has; None if it is no such tile."""
    if not is_tile(value):
        return _Range(linear_of(value), 0)
    number = literal_of(value)
    if isinstance(number, ir.IntegerAttr):
        return _Range(Linear(number.value), 0)
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "vector.step":
        return _Range(Linear(), sizes_of(value)[0] - 1)
    if op.name in RESHAPES:
        return _range(op.operands[0])
    if op.name == "arith.addi":
        one, other = map(_range, op.operands)
        if one is not None and other is not None:
            return _Range(one.first.plus(other.first), one.more + other.more)
    return None


def _is_outside(loop: ir.Operation, value: ir.Value) -> bool:
    """Whether a value is there before the loop."""
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    return block not in [
        inner for op in (loop, *nested_ops(loop)) for region in op.regions for inner in region.blocks
    ]


def _split(loop: ir.Operation, masks: Sequence[Mask]) -> None:
    """A loop for the steps below all ends, before the loop."""
    with ir.InsertionPoint(loop), loop.location:
        whole = _whole(loop, [mask.end for mask in masks])
        first = loop.clone(ir.InsertionPoint(loop)).operation
    copies = dict(zip(block_ops(loop), block_ops(first), strict=True))
    for mask in masks:
        _read_inside(loop, mask, copies)
        _hold(copies[mask.op].results[0])
    _erase_unread(first)
    first.operands[1] = loop.operands[0] = whole
    for number, result in enumerate(first.results):
        loop.operands[3 + number] = result


def _whole(loop: ir.Operation, ends: Sequence[Linear]) -> ir.Value:
    """The first step from which some mask may not be true, or the loop's end."""
    first, last, step = list(loop.operands)[:3]
    length, number = integer_of(step), integer_of(last)
    assert length is not None, "masks_of has asked"
    known = [max(-(-end.constant // length) * length, 0) for end in ends if not end.terms]
    if known:
        least = index_constant(min(known) if number is None else min(number, *known))
        last = least if number is not None else arith.minsi(last, least)
        last = last if integer_of(first) == 0 else arith.maxsi(last, first)
    for end in ends:
        if end.terms:
            last = arith.minsi(last, _rounded(arith.maxsi(_value(end), first), length))
    return last


def _value(sum_: Linear) -> ir.Value:
    terms = [ir.AffineDimExpr.get(at) * factor for at, factor in enumerate(sum_.terms.values())]
    total = sum(terms, ir.AffineConstantExpr.get(sum_.constant))
    return affine.AffineApplyOp(ir.AffineMap.get(len(terms), 0, [total]), list(sum_.terms)).result


def _rounded(end: ir.Value, step: int) -> ir.Value:
    """The first multiple of ``step`` from ``end`` on."""
    where = ir.AffineExpr.get_ceil_div(ir.AffineDimExpr.get(0), step) * step
    return affine.AffineApplyOp(ir.AffineMap.get(1, 0, [where]), [end]).result


def _read_inside(loop: ir.Operation, mask: Mask, copies: dict[ir.Operation, ir.Operation]) -> None:
    """Mark the copies of reads that end inside of their buffers while the loop is below the mask's end."""
    position = loop.regions[0].blocks[0].arguments[0]
    for op in block_ops(loop):
        if op.name != "vector.transfer_read" or mask.end.terms:
            continue
        access = access_of(op)
        sizes = list(ir.MemRefType(access.buffer.type).shape)
        inside = list(access_of(copies[op]).in_bounds)  # another mask may have said so
        for dim, (memory, size) in enumerate(zip(access.dims, sizes_of(access.tile), strict=True)):
            if access.indices[memory] == position and sizes[memory] >= mask.end.constant - 1 + size:
                inside[dim] = True
        copies[op].attributes["in_bounds"] = ir.ArrayAttr.get([ir.BoolAttr.get(each) for each in inside])


def _hold(truth: ir.Value) -> None:
    """Let what a mask chooses be what it chooses where it is true."""
    for use in list(truth.uses):
        reader = use.owner.operation
        if reader.name in RESHAPES:
            _hold(reader.results[0])
        elif reader.name == "arith.select" and use.operand_number == 0:
            reader.results[0].replace_all_uses_with(reader.operands[1])
        elif reader.name == "arith.andi":
            reader.results[0].replace_all_uses_with(reader.operands[1 - use.operand_number])


def _erase_unread(loop: ir.Operation) -> None:
    """Erase what the mask was made of."""
    for op in reversed(block_ops(loop)):
        if op.name.startswith(_PURE) and not any(map(is_used, op.results)):
            op.erase()
