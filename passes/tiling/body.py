"""The body of a linalg.generic, op by op, on tiles: arith and math ops work on vectors as on scalars."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, cf, tensor, vector

from .access import Index, Nest
from .emitter import Emitter

_OTHERS = ("linalg.index", "linalg.yield", "tensor.extract", "cf.assert")


def body_problem(nest: Nest) -> str | None:
    """Why a generic's body cannot be mapped onto tiles."""
    assert nest.body is not None
    for op in nest.body.operations:
        name = op.operation.name
        elementwise = name.startswith(("arith.", "math.")) and not op.operation.regions
        if not elementwise and name not in _OTHERS:
            return f"{name} in the body"
        for value in op.operation.results:
            if isinstance(value.type, ir.ComplexType):
                return "complex numbers"
    return None


def single_loops(nest: Nest) -> set[int]:
    """The loops that can only run one element at a time.

    They are in an index with a factor or a division, they share a dim with another tiled loop, or the
    position that a gather reads depends on them.
    """
    loops: set[int] = set()
    for access in (*nest.reads, *nest.writes):
        for index in access.indices if access else ():
            if index.rest is not None:
                loops |= loops_in(index.rest)
            if index.stride != 1:
                loops |= set(index.loops)
            elif len(index.loops) > 1:
                by_kind = sorted(index.loops, key=lambda loop: nest.kinds[loop] == "reduction")
                loops |= set(by_kind[1:])
    for op in nest.body.operations if nest.body else ():
        if op.operation.name == "tensor.extract":
            rows: set[int | None] = set()
            for position in list(op.operation.operands)[1:]:
                loop = _loop_of(position)
                if loop is None or loop in rows:  # computed, or the diagonal of a table
                    loops |= loops_behind(nest, position)
                rows.add(loop)
    return loops


def loops_in(expr: ir.AffineExpr) -> set[int]:
    """The dims of an affine expression."""
    if isinstance(expr, ir.AffineDimExpr):
        return {expr.position}
    if isinstance(expr, ir.AffineBinaryExpr):
        return loops_in(expr.lhs) | loops_in(expr.rhs)
    return set()


def loops_behind(nest: Nest, value: ir.Value) -> set[int]:
    """The loops that a value of the body depends on."""
    if isinstance(value, ir.BlockArgument):
        if value.owner != nest.body:
            return set()
        access = nest.reads[value.arg_number]
        assert access is not None
        return {loop for index in access.indices
                for loop in (*index.loops, *(loops_in(index.rest) if index.rest is not None else ()))}
    op = value.owner
    if op.operation.block != nest.body:
        return set()
    if op.name == "linalg.index":
        return {op.attributes["dim"].value}
    return set().union(*(loops_behind(nest, operand) for operand in op.operands))


def _loop_of(position: ir.Value) -> int | None:
    """The loop whose index ``position`` is."""
    owner = position.owner
    if isinstance(owner, ir.Block) or owner.name != "linalg.index":
        return None
    number: int = owner.attributes["dim"].value
    return number


class Body:
    """Maps the values of one generic's body to vectors over ``loops``; ``known`` are given in advance."""

    def __init__(self, emitter: Emitter, nest: Nest, loops: Sequence[int],
                 known: dict[ir.Value, ir.Value] | None = None) -> None:
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
            self._vectors[value] = self._map(value)
        return self._vectors[value]

    def _map(self, value: ir.Value) -> ir.Value:
        nest, emitter = self.nest, self.emitter
        if isinstance(value, ir.BlockArgument):
            if value.owner != nest.body:
                return value
            access = nest.reads[value.arg_number]
            assert access is not None
            return emitter.operand(nest, access, self.loops)
        op = value.owner.operation
        if op.block != nest.body:
            return value
        with op.location:
            if op.name == "arith.constant":
                return emitter.constant(op.attributes["value"])
            if op.name == "linalg.index":
                return self._index(op.attributes["dim"].value)
            if op.name == "tensor.extract":
                return self._gather(op)
            return self._elementwise(op, [self._any(operand) for operand in op.operands])

    def _elementwise(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
        kind = op.results[0].type
        if any(isinstance(operand.type, ir.VectorType) for operand in operands):
            operands = [self.emitter.stretch(operand, self.shape) for operand in operands]
            kind = ir.VectorType.get(self.shape, kind)
        attributes = {name: op.attributes[name] for name in op.attributes}
        return ir.Operation.create(op.name, [kind], list(operands), attributes).results[0]

    def _index(self, loop: int) -> ir.Value:
        span = self.emitter.span(self.nest, loop)
        if span.size == 1:
            return self.emitter.index(span.start)
        return self.emitter.arrange(self.emitter.steps(span), [loop], self.loops, self.shape)

    def _gather(self, op: ir.Operation) -> ir.Value:
        """tensor.extract: along loops a row of the table, at computed positions one element."""
        emitter, nest = self.emitter, self.nest
        table, positions = op.operands[0], list(op.operands)[1:]
        if not positions:
            return emitter.scalar_of(table)
        starts, sizes, exact = [], [], []
        axes: list[int | None] = []
        for position in positions:
            loop = _loop_of(position)
            if loop is None or emitter.span(nest, loop).size == 1:
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

    def _scalar(self, value: ir.Value) -> ir.Value:
        """A value of the body that depends on loops of one element only, as a scalar."""
        if value not in self._scalars:
            self._scalars[value] = self._map_scalar(value)
        return self._scalars[value]

    def _map_scalar(self, value: ir.Value) -> ir.Value:
        nest, emitter = self.nest, self.emitter
        if isinstance(value, ir.BlockArgument):
            if value.owner != nest.body:
                return value
            access = nest.reads[value.arg_number]
            assert access is not None
            return self._element(access.value, access.indices)
        op = value.owner.operation
        if op.block != nest.body:
            return value
        if op.name == "arith.constant":
            return emitter.constant(op.attributes["value"])
        if op.name == "linalg.index":
            return emitter.index(emitter.span(nest, op.attributes["dim"].value).start)
        if op.name == "tensor.extract":
            starts = [self._scalar(position) for position in list(op.operands)[1:]]
            return tensor.ExtractOp(op.operands[0], starts).result
        return self._elementwise(op, [self._scalar(operand) for operand in op.operands])

    def _element(self, value: ir.Value, indices: Sequence[Index]) -> ir.Value:
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        if self.emitter.domain.writer(value) is None:
            starts = [self.emitter.position(self.nest, index) for index in indices]
            return tensor.ExtractOp(value, starts).result
        return vector.ExtractOp(self.emitter.tile(value), [], [0] * len(indices)).result

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
            vector.CombiningKind.AND, holds, emitter.constant(true), list(range(len(self.shape)))).result
