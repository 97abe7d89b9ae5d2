"""Which part of each dim the current task, or the current step of a loop, is at."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import affine, arith, scf, vector

from ..domain import Dim, Domain
from ..operations import defining_op
from .access import Index, Nest
from .vectors import VectorBuilder


@dataclass(frozen=True)
class Span:
    """The part of a dim that is in hand: ``size`` elements, ``step`` apart.

    ``exact`` if it never reaches beyond the dim's extent.
    """

    start: int | ir.Value
    size: int
    exact: bool = True
    step: int = 1


class Place(VectorBuilder):
    """The spans of all dims, the loops over more of them, and what was made where we are."""

    def __init__(
        self,
        domain: Domain,
        forall: scf.ForallOp,
        spans: dict[Dim, Span],
        extents: dict[Dim, int | ir.Value],
    ) -> None:
        super().__init__(forall)
        self.domain = domain
        self.extents = extents
        self._spans = [dict(spans)]
        self._memo: list[dict[Hashable, ir.Value]] = [{}]
        self._ends: dict[tuple[ir.Value, int], ir.Value] = {}

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

    @contextmanager
    def turn(self, spans: dict[Dim, Span]) -> Iterator[None]:
        """Be in a turn of a loop: only its results are seen outside."""
        with self.at(spans):
            yield

    def chunks(
        self,
        dim: Dim,
        step: int,
        carried: Sequence[ir.Value],
        body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
        *,
        tail: bool = False,
        end: ir.Value | None = None,
    ) -> list[ir.Value]:
        """An scf.for over ``dim`` in steps with ``carried`` values; returns the last ones.

        With ``tail`` the last, shorter step of a static dim is emitted after the loop, and that of another
        dim in a loop of one turn, or none; without it, every step has the same size and the last one may
        reach beyond the dim. Nothing from ``end`` on is visited, but what shares a step with something
        before it.
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
        elif tail and step > 1:
            within = self._loop(dim, (0, self._whole_steps(extent, step)), step, carried, body, exact=True)
            return self._loop(dim, (self._whole_steps(extent, step), extent), step, within, body, exact=False)
        exact = step == 1 or (isinstance(full, int) and full % step == 0)
        values = self._loop(dim, (0, full if end is None else end), step, carried, body, exact=exact)
        if isinstance(extent, int) and isinstance(full, int) and full < extent:
            with self.at({dim: Span(full, extent - full)}):
                values = list(body(values))
        return values

    def walk(
        self,
        steps: Mapping[Dim, int],
        carried: Sequence[ir.Value],
        body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """`chunks` of several dims, the first outermost; those of unknown length have a tail."""
        if not steps:
            return list(body(carried))
        (dim, step), *inner = steps.items()
        return self.chunks(
            dim, step, carried, lambda values: self.walk(dict(inner), values, body), tail=dim.extent is None
        )

    def _loop(
        self,
        dim: Dim,
        bounds: tuple[int | ir.Value, int | ir.Value],
        step: int,
        carried: Sequence[ir.Value],
        body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
        *,
        exact: bool,
    ) -> list[ir.Value]:
        loop = scf.ForOp(*map(self.index, (*bounds, step)), list(carried))
        span = Span(loop.induction_variable, step, exact)
        with ir.InsertionPoint(loop.body), self.turn({dim: span}):
            scf.YieldOp(list(body(list(loop.inner_iter_args))))
        return list(loop.results)

    def _whole_steps(self, extent: ir.Value, step: int) -> ir.Value:
        """Where the steps end that lie within an extent; known for all of the kernel."""
        key = (extent, step)
        if key not in self._ends:
            size = ir.AffineDimExpr.get(0)
            where = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_floor_div(size, step) * step])
            with ir.InsertionPoint(self.forall):
                self._ends[key] = affine.AffineApplyOp(where, [extent]).result
        return self._ends[key]

    def recall(self, key: Hashable) -> ir.Value | None:
        """A value remembered here or around here."""
        return next((memo[key] for memo in reversed(self._memo) if key in memo), None)

    def remember(self, key: Hashable, value: ir.Value) -> ir.Value:
        """Remember a value for as long as it dominates."""
        self._memo[-1][key] = value
        return value

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
        # A padded dim's own: who finds two tiles of unknown sizes at one place takes them for equally long.
        if isinstance(expr, ir.AffineDimExpr) and not index.padded:
            return operands[expr.position]
        where = ir.AffineMap.get(len(operands), 0, [expr])
        known = self.recall(("position", where, *operands))
        return affine.AffineApplyOp(where, operands).result if known is None else known

    def position_ahead(self, nest: Nest, index: Index) -> None:
        """Compute a position here, for reads in loops to come that do not change it."""
        place = self.position(nest, index)
        apply = defining_op(place, "affine.apply")
        if apply is not None:
            self.remember(("position", apply.attributes["map"].value, *apply.operands), place)

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
        if span.step != 1:
            steps = arith.MulIOp(steps, self.stretch(self.index(span.step), [span.size])).result
        return arith.AddIOp(steps, start).result
