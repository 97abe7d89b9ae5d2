"""Lanes for which a polynomial does not hold: libm computes them one by one, if there are any."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir
from mlir.dialects import arith, scf, vector

from .lanes import Lanes

Scalar = Callable[..., ir.Value]
_DYNAMIC = ir.ShapedType.get_dynamic_size()


def unless_rare(
    b: Lanes, rare: ir.Value, call: Scalar, operands: Sequence[ir.Value], result: ir.Value
) -> ir.Value:
    """``result``, but what ``call`` makes of all lanes' scalars where any lane is ``rare``."""
    if b.shape is not None:
        rare = vector.reduction(ir.IntegerType.get_signless(1), vector.CombiningKind.OR, rare)
    choice = scf.IfOp(rare, [b.float_type], has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.YieldOp([call(*operands) if b.shape is None else _lane_by_lane(b.shape[0], call, operands)])
    with ir.InsertionPoint(choice.else_block):
        scf.YieldOp([result])
    return choice.results[0]


def _lane_by_lane(lanes: int, call: Scalar, operands: Sequence[ir.Value]) -> ir.Value:
    index = ir.IndexType.get()
    loop = scf.ForOp(*(arith.constant(index, value) for value in (0, lanes, 1)), [operands[0]])
    with ir.InsertionPoint(loop.body):
        place = [loop.induction_variable]
        elements = [vector.extract(operand, place, [_DYNAMIC]) for operand in operands]
        scf.YieldOp([vector.insert(call(*elements), loop.inner_iter_args[0], place, [_DYNAMIC])])
    return loop.results[0]
