"""What attention's scores are multiplied by is multiplied behind their maximum, as one number with log2 e.

Before::

    %t = arith.mulf %s, %scale : vector<128x64xf32>
    %m = vector.multi_reduction <maximumf>, %t, %top [1]
    %w = math.exp (%t - %m)                                   // rounded to half floats for a product
    %k = math.exp (%top - %m)

After::

    %m = vector.multi_reduction <maximumf>, %s, %top [1]
    %w = math.exp2 ((%s - %m) * %both) fastmath<afn>          // %both = %scale * log2 e
    %k = math.exp2 ((%top - %m) * %both) fastmath<afn>

The difference is made first, so that the greatest score has the weight 1 however large it is. Minus infinity,
as of keys that a mask takes away, stays what it is. With ``afn`` a weight below 2^-126 may count as 0: beside
that of the greatest score, 1, it is nothing, and eager's own kernels take it for 0, too. Others are off
by 5 + 2 |x| ulp of f32 where a score is x less than the greatest one: three roundings of the exponent are
1.5 |x| of them. Next they are rounded to 8 or 11 bits.

Legal in a loop that carries the maximum for nothing but these exponentials, whose weights tensor cores take
as half floats, for a scale above 0 and large enough that no difference which overflows would have counted;
without such a scale it is log2 e alone. Runs after mlopt-gpu-tensor-cores.

Effect on sm_80: attention's loop over 64 keys, for 32 rows of 64 elements a warp, 948 -> 668 instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log2
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, math

from ...dialects.attributes import MMA
from ..base import Pass
from ..combining import kind_of
from ..constants import splat_constant, splat_of
from ..operations import block_ops, defining_op, nested_ops
from ..reshapes import RESHAPES
from ..structured import has_one_use, is_used
from .grids import grids_of

LEAST = 1e-30  # with it a difference beyond the largest f32 is at least 10^8, of which exp makes 0


@dataclass(frozen=True)
class LateScales(Pass):
    """Scale exponents behind the maximum that they are relative to."""

    name: ClassVar[str] = "mlopt-gpu-late-scales"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of each kernel that make weights for tensor cores."""
        for forall in grids_of(op):
            for loop in [each for each in nested_ops(forall) if each.name == "scf.for"]:
                found = can_scale_late(loop)
                if isinstance(found, Softmax):
                    _rewrite(found)


@dataclass(frozen=True)
class Softmax:
    """The scores, their running maximum, and the exponentials of what is less by that."""

    scores: ir.Value
    maximum: ir.Operation
    exponentials: list[ir.Operation]


def can_scale_late(loop: ir.Operation) -> Softmax | str:
    """The softmax that a loop makes weights of for a product on tensor cores, or why it makes none."""
    weights = next((found for op in block_ops(loop) if (found := _weights(op)) is not None), None)
    less = None if weights is None else defining_op(weights.operands[0], "arith.subf")
    if less is None:
        return "no product on tensor cores has exponentials of differences for its rows"
    scores = less.operands[0]
    maximum = next((op for op in block_ops(loop) if _is_maximum(op, scores)), None)
    if maximum is None:
        return "what its exponents are relative to is no maximum of theirs"
    top, body = maximum.operands[1], loop.regions[0].blocks[0]
    if not isinstance(top.owner, ir.Block) or top.owner != body:
        return "its maximum is not carried"
    number = ir.BlockArgument(top).arg_number - 1
    differences = _differences(maximum.results[0], number)
    if is_used(loop.results[number]) or differences is None:
        return "its maximum is used for more than differences from it"
    if any(op.operands[0] not in (scores, top) for op in differences):
        return "differences from its maximum are not of what it is the maximum of"
    readers = {use.owner.operation for value in (scores, top) for use in value.uses}
    if readers - {maximum, *differences}:
        return "its scores are read for more than differences"
    exponentials = [_exponential(op) for op in differences]
    found = [op for op in exponentials if op is not None]
    if len(found) < len(exponentials):
        return "its differences are read for more than exponentials"
    return Softmax(scores, maximum, found)


def _weights(product: ir.Operation) -> ir.Operation | None:
    """The exp whose rounded results are the first factor of a product on tensor cores."""
    if MMA.name not in product.attributes:
        return None
    rounded = defining_op(product.operands[0], "arith.truncf")
    return None if rounded is None else defining_op(rounded.operands[0], "math.exp")


def _is_maximum(op: ir.Operation, scores: ir.Value) -> bool:
    return op.name == "vector.multi_reduction" and op.operands[0] == scores and kind_of(op) == "maximumf"


def _differences(maximum: ir.Value, number: int) -> list[ir.Operation] | None:
    """The subtractions of a maximum, for which 0 may stand where it is -inf; None: it is used for more.

    The loop may carry it, as its result ``number``.
    """
    found: list[ir.Operation] = []
    pending = [maximum]
    while pending:
        value = pending.pop()
        for use in value.uses:
            reader, at = use.owner.operation, use.operand_number
            if reader.name == "arith.subf" and at == 1:
                found.append(reader)
            elif reader.name in RESHAPES or (
                reader.name == "arith.select" and _number(reader.operands[1]) == 0
            ):
                pending.append(reader.results[0])
            elif not (reader.name == "scf.yield" and at == number) and not _asks_for_nothing(reader):
                return None
    return found


def _asks_for_nothing(op: ir.Operation) -> bool:
    """Whether an op compares with minus infinity."""
    return op.name == "arith.cmpf" and _number(op.operands[1]) == -inf


def _exponential(less: ir.Operation) -> ir.Operation | None:
    """The one exp of a difference."""
    if not has_one_use(less.results[0]):
        return None
    (use,) = less.results[0].uses
    return use.owner.operation if use.owner.operation.name == "math.exp" else None


def _rewrite(found: Softmax) -> None:
    scale = scale_of(found.scores)
    factor = log2(e) * (1.0 if scale is None else scale)
    if scale is not None:
        plain = _unscaled(found.scores)
        found.scores.replace_all_uses_with(plain)
    for power in found.exponentials:
        exponent = power.operands[0]
        with ir.InsertionPoint(power), power.location:
            made = scaled_power(exponent, factor)
        power.results[0].replace_all_uses_with(made)
        power.erase()


def scaled_power(exponent: ir.Value, factor: float) -> ir.Value:
    """Two to the power of ``factor`` times a tile, as GPUs approximate it."""
    both = splat_constant(exponent.type, ir.FloatAttr.get(exponent.type.element_type, factor))
    return math.exp2(arith.mulf(exponent, both), fastmath=arith.FastMathFlags.afn)


def scale_of(scores: ir.Value) -> float | None:
    """The number that all scores but those of minus infinity are multiplied by; None: none that can wait."""
    op = defining_op(scores, "arith.mulf", "arith.select")
    if op is None:
        return None
    if op.name == "arith.select":
        return scale_of(op.operands[1]) if _number(op.operands[2]) == -inf else None
    scale = _number(op.operands[1])
    return scale if scale is not None and LEAST <= scale < inf else None


def _number(value: ir.Value) -> float | None:
    found = splat_of(value)
    return ir.FloatAttr(found).value if isinstance(found, ir.FloatAttr) else None


def _unscaled(scores: ir.Value) -> ir.Value:
    """The scores without what `scale_of` has found."""
    op = scores.owner.operation
    if op.name == "arith.mulf":
        return op.operands[0]
    with ir.InsertionPoint(op), op.location:
        return arith.select(op.operands[0], _unscaled(op.operands[1]), op.operands[2])
