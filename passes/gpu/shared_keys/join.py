"""How a task joins the parts of its tile: as the loop over keys does its steps, with the same exponential."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from mlir import ir
from mlir.dialects import arith, math, scf, vector

from ...constants import constant, index_constant, splat_constant
from ..late_scales import scaled_power
from .match import Keys


class Join:
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
        return scaled_power(exponent, self.factor)


def _added(values: ir.Value, total: ir.Value) -> ir.Value:
    """The sum over parts."""
    return vector.MultiDimReductionOp(vector.CombiningKind.ADD, values, total, [0]).result


def _along(factor: ir.Value, kind: ir.VectorType) -> ir.Value:
    """A row's factor for each of its elements."""
    tall = ir.VectorType.get([*ir.VectorType(factor.type).shape, 1], kind.element_type)
    return vector.broadcast(kind, vector.shape_cast(tall, factor))


def _splat(kind: ir.VectorType, number: float) -> ir.Value:
    return splat_constant(kind, ir.FloatAttr.get(kind.element_type, number))
