"""Which loops over attention's keys can be divided over blocks."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from ...combining import kind_of
from ...constants import integer_of, splat_of
from ...operations import block_ops, defining_op
from ...reshapes import RESHAPES
from ..threads.grid import Loops

_FOR, _REDUCTION = "scf.for", "vector.multi_reduction"


@dataclass(frozen=True)
class Keys:
    """A loop over so many ``keys``, ``step`` at a time, that carries a maximum, a sum and weighted sums.

    ``keys``: None if nobody knows how many. ``factor``: of exponents, that are powers of two then; None:
    they are of e.
    """

    loop: ir.Operation
    keys: int | None
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
    if first != 0 or step is None:
        return "its loop does not run over keys from 0 on, in steps of a known length"
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
