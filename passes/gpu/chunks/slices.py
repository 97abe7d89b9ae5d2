"""The tiles of one step: what an op needs, written again with fewer elements along a dim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir import ir
from mlir.dialects import arith, vector

from ...combining import kind_of, neutral_of, rows_of_scan
from ...constants import splat_constant
from ...operations import attributes_of
from ...reshapes import RESHAPES
from ..layouts.access import access_of
from ..layouts.tiles import is_tile, is_uniform, sizes_of
from .choice import Steps


class Slice:
    """Writes the tiles of the step that begins at ``start`` to the insertion point."""

    def __init__(
        self, steps: Steps, start: ir.Value, before: Mapping[ir.Operation, ir.Value] | None = None
    ) -> None:
        """``before``: of each scan along the dim the totals of the steps before this one."""
        self.steps = steps
        self.start = start
        self._before = before or {}
        self._made: dict[ir.Value, ir.Value] = {}
        self.after: dict[ir.Operation, ir.Value] = {}  # the totals up to the end of this step

    def tile(self, value: ir.Value) -> ir.Value:
        """A tile's elements of this step; the tile itself if it has not the dim."""
        if not self.steps.within(value):
            return value
        if value not in self._made:
            op = value.owner.operation
            with op.location:
                self._made[value] = self._emit(op, value)
        return self._made[value]

    def shape(self, value: ir.Value) -> list[int]:
        """The shape of a tile in this step."""
        within = self.steps.within(value)
        return [self.steps.size if dim in within else size for dim, size in enumerate(sizes_of(value))]

    def write(self, op: ir.Operation) -> None:
        """The part of a transfer_write."""
        access = access_of(op)
        indices, bounds = self._place(op)
        attributes = attributes_of(op) | {"in_bounds": bounds}
        operands = [self.tile(access.tile), access.buffer, *indices]
        ir.Operation.create(op.name, [], operands, attributes)

    def reduce(self, op: ir.Operation, accumulator: ir.Value) -> ir.Value:
        """The part of a multi_reduction; what lies beyond the extent does not count."""
        source = op.operands[0]
        part = self.tile(source)
        if self.steps.ragged:
            neutral = neutral_of(kind_of(op), source.type.element_type)
            part = arith.SelectOp(self._inside(source), part, splat_constant(part.type, neutral)).result
        operands = [part, accumulator]
        return ir.Operation.create(op.name, [op.results[0].type], operands, attributes_of(op)).results[0]

    def _emit(self, op: ir.Operation, value: ir.Value) -> ir.Value:
        kind = ir.VectorType.get(self.shape(value), value.type.element_type)
        if op.name == "vector.transfer_read":
            indices, bounds = self._place(op)
            operands = [op.operands[0], *indices, op.operands[len(op.operands) - 1]]
            return ir.Operation.create(
                op.name, [kind], operands, attributes_of(op) | {"in_bounds": bounds}
            ).results[0]
        if op.name == "vector.step":
            first = vector.BroadcastOp(kind, self.start).result
            return arith.AddIOp(vector.StepOp(kind).result, first).result
        if op.name == "vector.scan":
            return self._scan(op, kind)
        operands = [self._operand(op, operand, kind) for operand in op.operands]
        return ir.Operation.create(op.name, [kind], operands, attributes_of(op)).results[0]

    def _scan(self, op: ir.Operation, kind: ir.VectorType) -> ir.Value:
        rows = ir.VectorType.get([kind.shape[dim] for dim in rows_of_scan(op)], kind.element_type)
        source = self._operand(op, op.operands[0], kind)
        first = self._before[op] if op in self._before else self._operand(op, op.operands[1], rows)
        made = ir.Operation.create(op.name, [kind, rows], [source, first], attributes_of(op)).results
        self.after[op] = made[1]
        return made[0]

    def _operand(self, op: ir.Operation, operand: ir.Value, kind: ir.VectorType) -> ir.Value:
        if is_tile(operand) and is_uniform(operand) and op.name not in RESHAPES:
            if op.name == "vector.multi_reduction":
                return uniform(operand, self._accumulator(op))
            return uniform(operand, kind.shape)
        return self.tile(operand)

    def _accumulator(self, op: ir.Operation) -> Sequence[int]:
        return self.shape(op.results[0])

    def _place(self, op: ir.Operation) -> tuple[list[ir.Value], ir.Attribute]:
        """The indices of a transfer, further on by the start, and which of its dims stay in bounds."""
        access = access_of(op)
        indices, bounds = list(access.indices), list(access.in_bounds)
        for dim in self.steps.within(access.tile):
            memory = access.dims[dim]
            indices[memory] = arith.AddIOp(indices[memory], self.start).result
            bounds[dim] = bounds[dim] and not self.steps.ragged
        return indices, ir.ArrayAttr.get([ir.BoolAttr.get(flag) for flag in bounds])

    def _inside(self, source: ir.Value) -> ir.Value:
        """Which elements of a tile are before the extent."""
        (dim,) = self.steps.within(source)
        shape = self.shape(source)
        line = ir.VectorType.get([self.steps.size], ir.IndexType.get())
        first = vector.BroadcastOp(line, self.start).result
        places = arith.AddIOp(vector.StepOp(line).result, first).result
        extent = splat_constant(line, ir.IntegerAttr.get(ir.IndexType.get(), self.steps.extent))
        within = arith.CmpIOp(arith.CmpIPredicate.slt, places, extent).result
        truth = ir.IntegerType.get_signless(1)
        column = ir.VectorType.get([self.steps.size, *(1 for _ in shape[dim + 1 :])], truth)
        return vector.BroadcastOp(
            ir.VectorType.get(shape, truth), vector.ShapeCastOp(column, within).result
        ).result


def uniform(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A tile that is one scalar, in another shape."""
    kind = ir.VectorType.get(shape, value.type.element_type)
    op = value.owner.operation
    if op.name == "arith.constant":
        return splat_constant(kind, ir.DenseElementsAttr(op.attributes["value"]).get_splat_value())
    if op.name in RESHAPES:
        source = op.operands[0]
        return uniform(source, shape) if is_tile(source) else vector.BroadcastOp(kind, source).result
    operands = [uniform(operand, shape) if is_tile(operand) else operand for operand in op.operands]
    return ir.Operation.create(op.name, [kind], operands, attributes_of(op)).results[0]
