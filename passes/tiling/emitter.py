"""Writes the tile IR of one kernel, on demand: the tile of a value is emitted when something asks for it.

The emitter knows which part of each dim the current task (or the current step of a loop) is at, its `Span`.
``tile(value)`` asks the rule of the op that makes the value; ``operand(...)`` is what rules ask for: what a
nest reads, as a vector over chosen loops of that nest. Inputs become transfer_reads of the whole buffer.

A value's tile has the value's own rank and order of dims; in a rule, vectors are over loops in loop order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import affine, arith, scf, tensor, vector

from ..domain import Dim, Domain
from .access import Access, Index, Nest, shape_of
from .registry import rule_of
from .vectors import literal_of, reshape, zero_of


@dataclass(frozen=True)
class Span:
    """The part of a dim that is in hand; ``exact`` if it never reaches beyond the dim's extent."""

    start: int | ir.Value
    size: int
    exact: bool = True


class Emitter:
    """The state while one kernel's tile IR is written; ``forall`` is the kernel's scf.forall."""

    def __init__(
        self,
        domain: Domain,
        tiles: Sequence[int],
        forall: scf.ForallOp,
        spans: dict[Dim, Span],
        extents: dict[Dim, int | ir.Value],
    ) -> None:
        self.domain = domain
        self.tiles = tuple(tiles)
        self.extents = extents
        self._forall = forall
        self._spans = [dict(spans)]
        self._memo: list[dict[Hashable, ir.Value]] = [{}]
        self._constants: dict[Hashable, ir.Value] = {}

    # -- constants: before the scf.forall, each once --

    def constant(self, attribute: ir.Attribute) -> ir.Value:
        """An arith.constant."""
        key = str(attribute)
        if key not in self._constants:
            with ir.InsertionPoint(self._forall):
                self._constants[key] = arith.ConstantOp(attribute.type, attribute).result
        return self._constants[key]

    def index(self, number: int | ir.Value) -> ir.Value:
        """A number as an index value."""
        if isinstance(number, ir.Value):
            return number
        return self.constant(ir.IntegerAttr.get(ir.IndexType.get(), number))

    def splat(self, attribute: ir.Attribute, shape: Sequence[int]) -> ir.Value:
        """A scalar attribute as a constant vector."""
        kind = ir.VectorType.get(shape, attribute.type)
        return self.constant(ir.DenseElementsAttr.get_splat(kind, attribute))

    # -- where we are --

    def dim(self, nest: Nest, loop: int) -> Dim:
        """The dim of a loop."""
        return self.domain.loops(nest)[loop]

    def span(self, nest: Nest, loop: int) -> Span:
        """The part of a loop that is in hand."""
        return self._spans[-1][self.dim(nest, loop)]

    def sizes(self, nest: Nest, loops: Sequence[int]) -> list[int]:
        """The shape of a vector over ``loops``."""
        return [self.span(nest, loop).size for loop in loops]

    @contextmanager
    def at(self, spans: dict[Dim, Span]) -> Iterator[None]:
        """Be at other parts of some dims; what is emitted here is not seen outside."""
        self._spans.append(self._spans[-1] | spans)
        self._memo.append({})
        yield
        self._memo.pop()
        self._spans.pop()

    def chunks(
        self,
        dim: Dim,
        step: int,
        carried: Sequence[ir.Value],
        body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
        *,
        tail: bool = False,
    ) -> list[ir.Value]:
        """An scf.for over ``dim`` in steps with ``carried`` values; returns the last ones.

        With ``tail`` the last, shorter step of a static dim is emitted after the loop; without it, every
        step has the same size and the last one may reach beyond the dim.
        """
        extent = self.extents[dim]
        full = extent
        if isinstance(extent, int):
            if extent == 0:
                return list(carried)
            step = min(step, extent)
            full = extent - extent % step if tail else extent
            if extent <= step:
                with self.at({dim: Span(0, extent)}):
                    return list(body(carried))
        loop = scf.ForOp(self.index(0), self.index(full), self.index(step), list(carried))
        exact = step == 1 or (isinstance(full, int) and full % step == 0)
        span = Span(loop.induction_variable, step, exact)
        with ir.InsertionPoint(loop.body), self.at({dim: span}):
            scf.YieldOp(list(body(list(loop.inner_iter_args))))
        values = list(loop.results)
        if isinstance(extent, int) and isinstance(full, int) and full < extent:
            with self.at({dim: Span(full, extent - full)}):
                values = list(body(values))
        return values

    # -- tiles --

    def tile(self, value: ir.Value) -> ir.Value:
        """The tile of a value that is made in the kernel, in the value's own order of dims."""
        found = self.domain.writer(value)
        assert found is not None, "an input has no tile of its own"
        nest, _ = found
        key = self._key(value)
        known = self.recall(key)
        if known is not None:
            return known
        with nest.op.location:
            tiles = rule_of(nest).emit(self, nest)
        for write, made in zip(nest.writes, tiles, strict=True):
            self.remember(self._key(write.value), made)
        return self._memo[-1][key]

    def tile_of_slice(self, nest: Nest) -> ir.Value:
        """What an insert_slice puts in, with the rank of the tensor that it is put into."""
        (tile,) = rule_of(nest).emit(self, nest)
        (write,) = nest.writes
        return self.result(tile, range(len(nest.kinds)), write)

    def _key(self, value: ir.Value) -> Hashable:
        dims = self.domain.value_dims(value)
        return value, tuple(self._spans[-1][dim] if dim is not None else None for dim in dims)

    def recall(self, key: Hashable) -> ir.Value | None:
        """A value remembered here or around here."""
        return next((memo[key] for memo in reversed(self._memo) if key in memo), None)

    def remember(self, key: Hashable, value: ir.Value) -> ir.Value:
        """Remember a value for as long as it dominates."""
        self._memo[-1][key] = value
        return value

    def operand(self, nest: Nest, access: Access, loops: Sequence[int]) -> ir.Value:
        """What ``nest`` reads, as a vector over ``loops``, stretched along those that it does not have."""
        shape = self.sizes(nest, loops)
        literal = literal_of(access.value)
        if literal is not None:
            return self.splat(literal, shape)
        if not shape_of(access.value):
            return self.stretch(self.scalar_of(access.value), shape)
        axes = self.axes(nest, access, loops)
        present = [axis for axis in axes if axis is not None]
        turned = sorted(present, key=loops.index)
        if turned == present or self.domain.writer(access.value) is not None:
            return self.arrange(self.own(nest, access), axes, loops, shape)
        own = self.read(nest, access, [axes.index(axis) for axis in turned])
        return self.arrange(own, turned, loops, shape)

    def own(self, nest: Nest, access: Access) -> ir.Value:
        """What ``nest`` reads, in the value's own order of dims."""
        if self.domain.writer(access.value) is not None:
            return self.tile(access.value)
        return self.read(nest, access)

    def scalar_of(self, value: ir.Value) -> ir.Value:
        """A scalar or a 0-d tensor: the scalar itself, or the 0-d vector of one made here."""
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        if self.domain.writer(value) is not None:
            return self.tile(value)
        return self.recall(value) or self.remember(value, tensor.ExtractOp(value, []).result)

    def axes(self, nest: Nest, access: Access, loops: Sequence[int]) -> list[int | None]:
        """The loop that runs along each dim of a tile that is read; None along dims of one element."""
        axes: list[int | None] = []
        for index in access.indices:
            among = [loop for loop in index.loops if loop in loops]
            wide = [loop for loop in among if self.span(nest, loop).size != 1]
            assert len(wide) <= 1, "two tiled loops in one dim"
            axes.append(next(iter(wide or among), None))
        return axes

    def read(self, nest: Nest, access: Access, order: Sequence[int] | None = None) -> ir.Value:
        """The transfer_read of an input; ``order`` picks and orders the dims of the vector."""
        starts, sizes, exact = [], [], []
        for index in access.indices:
            starts.append(self.position(nest, index))
            spans = [self.span(nest, loop) for loop in index.loops]
            assert index.stride == 1 or all(span.size == 1 for span in spans), "a step takes single elements"
            sizes.append(max((span.size for span in spans), default=1))
            exact.append(all(span.exact for span in spans))
        order = range(len(sizes)) if order is None else order
        return self.transfer_read(access.value, starts, sizes, exact, order)

    def transfer_read(
        self,
        source: ir.Value,
        starts: Sequence[ir.Value],
        sizes: Sequence[int],
        exact: Sequence[bool],
        order: Sequence[int],
    ) -> ir.Value:
        """A vector of ``sizes[d]`` elements along each dim d in ``order``, and one along the others."""
        key = ("read", source, tuple(starts), tuple(sizes), tuple(order))
        known = self.recall(key)
        if known is not None:
            return known
        element = source.type.element_type
        dims = [ir.AffineDimExpr.get(dim) for dim in order]
        where = ir.AffineMapAttr.get(ir.AffineMap.get(len(sizes), 0, dims))
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(exact[dim]) for dim in order])
        result = ir.VectorType.get([sizes[dim] for dim in order], element)
        padding = self.constant(zero_of(element))
        read = vector.TransferReadOp(result, source, list(starts), where, padding, bounds)
        return self.remember(key, read.result)

    def position(self, nest: Nest, index: Index) -> ir.Value:
        """The first position of the tile in one dim: `Index` at the starts of the spans."""
        operands: list[ir.Value] = []

        def term(start: int | ir.Value) -> ir.AffineExpr:
            if not isinstance(start, ir.Value):
                return ir.AffineConstantExpr.get(start)
            if start not in operands:
                operands.append(start)
            return ir.AffineDimExpr.get(operands.index(start))

        expr = term(index.start)
        for loop in index.loops:
            expr = expr + term(self.span(nest, loop).start) * index.stride
        if index.rest is not None:
            starts = [term(self.span(nest, loop).start) for loop in range(len(nest.kinds))]
            expr = expr + index.rest.compose(ir.AffineMap.get(len(operands), 0, starts))
        # simplify_affine_expr returns the base class
        expr = ir.AffineExpr.simplify_affine_expr(expr, len(operands), 0).maybe_downcast()
        if isinstance(expr, ir.AffineConstantExpr):
            return self.index(expr.value)
        if isinstance(expr, ir.AffineDimExpr):
            return operands[expr.position]
        return affine.AffineApplyOp(ir.AffineMap.get(len(operands), 0, [expr]), operands).result

    # -- shapes of vectors --

    def arrange(
        self, value: ir.Value, axes: Sequence[int | None], loops: Sequence[int], shape: Sequence[int]
    ) -> ir.Value:
        """A vector whose dims run along ``axes`` as a vector over ``loops`` of ``shape``."""
        kept = [axis for axis in axes if axis in loops]
        ordered = sorted(kept, key=loops.index)
        if kept != ordered:
            value = reshape(
                value, [size for size, axis in zip(value.type.shape, axes, strict=True) if axis in loops]
            )
            value = vector.TransposeOp(
                ir.VectorType.get(
                    [value.type.shape[kept.index(axis)] for axis in ordered], value.type.element_type
                ),
                value,
                [kept.index(axis) for axis in ordered],
            ).result
        aligned = [size if loop in kept else 1 for loop, size in zip(loops, shape, strict=True)]
        leading = next((at for at, loop in enumerate(loops) if loop in kept), len(loops))
        if list(value.type.shape) != aligned:
            value = reshape(value, aligned[leading:])
        return self.stretch(value, shape)

    def stretch(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A scalar or a vector broadcast to ``shape``."""
        if isinstance(value.type, ir.VectorType):
            if list(value.type.shape) == list(shape):
                return value
            element = value.type.element_type
        else:
            element = value.type
        literal = literal_of(value)
        if literal is not None:
            return self.splat(literal, shape)
        return vector.BroadcastOp(ir.VectorType.get(shape, element), value).result

    def result(self, value: ir.Value, loops: Sequence[int], write: Access) -> ir.Value:
        """A vector over ``loops`` as the tile of what is written, in the value's own order of dims."""
        order = [index.loops[0] for index in write.indices if index.loops]
        if not isinstance(value.type, ir.VectorType):
            return self.stretch(value, [1] * len(write.indices))
        shape = dict(zip(loops, value.type.shape, strict=True))
        value = self.arrange(value, loops, order, [shape[loop] for loop in order])
        return reshape(value, [shape[index.loops[0]] if index.loops else 1 for index in write.indices])

    def inside(self, nest: Nest, loops: Sequence[int]) -> ir.Value | None:
        """Which elements of a vector over ``loops`` are within the extents; None if all are."""
        shape = self.sizes(nest, loops)
        mask: ir.Value | None = None
        for loop in loops:
            span = self.span(nest, loop)
            if span.exact:
                continue
            extent = self.stretch(self.index(self.extents[self.dim(nest, loop)]), [span.size])
            within = arith.CmpIOp(arith.CmpIPredicate.slt, self.steps(span), extent).result
            within = self.arrange(within, [loop], loops, shape)
            mask = within if mask is None else arith.AndIOp(mask, within).result
        return mask

    def steps(self, span: Span) -> ir.Value:
        """The positions of a span as a vector of indices."""
        start = self.stretch(self.index(span.start), [span.size])
        if span.size == 1:
            return start
        steps = vector.StepOp(ir.VectorType.get([span.size], ir.IndexType.get())).result
        return arith.AddIOp(steps, start).result
