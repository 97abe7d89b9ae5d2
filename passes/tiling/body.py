"""The body of a linalg.generic, op by op, on tiles: arith and math ops work on vectors as on scalars."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, cf, tensor, vector

from ..operations import attributes_of
from .access import Access, Nest
from .analysis import loop_of, loops_behind
from .emitter import Emitter


class Body:
    """Maps the values of one generic's body to vectors over ``loops``; ``known`` are given in advance."""

    def __init__(
        self,
        emitter: Emitter,
        nest: Nest,
        loops: Sequence[int],
        known: dict[ir.Value, ir.Value] | None = None,
    ) -> None:
        self.emitter = emitter
        self.nest = nest
        self.loops = list(loops)
        self.shape = emitter.sizes(nest, loops)
        self._vectors = dict(known or {})
        self._scalars: dict[ir.Value, ir.Value] = {}

    def value(self, value: ir.Value) -> ir.Value:
        """A value of the body as a vector over the loops."""
        return self.emitter.stretch(self._any(value), self.shape)

    def yielded(self) -> list[ir.Value]:
        """The values that the body yields."""
        assert self.nest.body is not None
        return list(self.nest.body.operations[len(self.nest.body.operations) - 1].operands)

    def _any(self, value: ir.Value) -> ir.Value:
        """As `value`, but what is the same for all elements may stay a scalar."""
        if value not in self._vectors:
            self._vectors[value] = self._map(value, alone=False)
        return self._vectors[value]

    def _scalar(self, value: ir.Value) -> ir.Value:
        """A value of the body that depends on loops of one element only, as a scalar."""
        if value not in self._scalars:
            self._scalars[value] = self._map(value, alone=True)
        return self._scalars[value]

    def _map(self, value: ir.Value, *, alone: bool) -> ir.Value:
        """The value for all elements, or (``alone``) for the only one that it is asked for."""
        nest, emitter = self.nest, self.emitter
        if isinstance(value, ir.BlockArgument):
            if value.owner != nest.body:
                return value
            access = nest.reads[value.arg_number]
            assert access is not None
            return self._element(access) if alone else emitter.operand(nest, access, self.loops)
        op = value.owner.operation
        if op.block != nest.body:
            return value
        with op.location:
            if op.name == "arith.constant":
                return emitter.constant(op.attributes["value"])
            if op.name == "linalg.index":
                return self._index(op.attributes["dim"].value, alone=alone)
            if op.name == "tensor.extract":
                return self._gather(op, alone=alone)
            find = self._scalar if alone else self._any
            return self._elementwise(op, [find(operand) for operand in op.operands])

    def _elementwise(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
        kind = op.results[0].type
        if any(isinstance(operand.type, ir.VectorType) for operand in operands):
            operands = [self.emitter.stretch(operand, self.shape) for operand in operands]
            kind = ir.VectorType.get(self.shape, kind)
        attributes = attributes_of(op)
        return ir.Operation.create(op.name, [kind], list(operands), attributes).results[0]

    def _index(self, loop: int, *, alone: bool) -> ir.Value:
        span = self.emitter.span(self.nest, loop)
        if alone or span.size == 1:
            return self.emitter.index(span.start)
        return self.emitter.arrange(self.emitter.steps(span), [loop], self.loops, self.shape)

    def _gather(self, op: ir.Operation, *, alone: bool) -> ir.Value:
        """tensor.extract: along loops a row of the table, at computed positions one element."""
        emitter, nest = self.emitter, self.nest
        table, positions = op.operands[0], list(op.operands)[1:]
        if not positions:
            return emitter.scalar_of(table)
        starts, sizes, exact = [], [], []
        axes: list[int | None] = []
        for position in positions:
            loop = loop_of(position)
            if alone or loop is None or emitter.span(nest, loop).size == 1:
                starts.append(self._scalar(position))
                sizes.append(1)
                exact.append(True)
                axes.append(None)
            else:
                span = emitter.span(nest, loop)
                starts.append(emitter.index(span.start))
                sizes.append(span.size)
                exact.append(span.exact)
                axes.append(loop)
        if all(axis is None for axis in axes):
            return tensor.ExtractOp(table, starts).result
        kept = sorted((axis for axis in axes if axis is not None), key=self.loops.index)
        row = emitter.transfer_read(table, starts, sizes, exact, [axes.index(axis) for axis in kept])
        return emitter.arrange(row, kept, self.loops, self.shape)

    def _element(self, access: Access) -> ir.Value:
        """The one element that an access reads."""
        value = access.value
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        domain = self.emitter.domain
        if domain.writer(value) is None and value not in domain.stages and access.padding is None:
            starts = [self.emitter.position(self.nest, index) for index in access.indices]
            return tensor.ExtractOp(value, starts).result
        return vector.ExtractOp(self.emitter.own(self.nest, access), [], [0] * len(access.indices)).result

    def asserts(self) -> None:
        """Emit the body's run-time checks; a check for many elements is and-ed to one."""
        assert self.nest.body is not None
        for op in self.nest.body.operations:
            if op.operation.name == "cf.assert":
                with op.location:
                    cf.AssertOp(self._condition(op.operation.operands[0]), op.operation.attributes["msg"])

    def _condition(self, condition: ir.Value) -> ir.Value:
        emitter, nest = self.emitter, self.nest
        if all(emitter.span(nest, loop).size == 1 for loop in loops_behind(nest, condition)):
            return self._scalar(condition)
        holds = self.value(condition)
        inside = emitter.inside(nest, self.loops)
        true = ir.BoolAttr.get(True)
        if inside is not None:  # padding is never wrong
            holds = arith.SelectOp(inside, holds, emitter.splat(true, self.shape)).result
        return vector.MultiDimReductionOp(
            vector.CombiningKind.AND, holds, emitter.constant(true), list(range(len(self.shape)))
        ).result
