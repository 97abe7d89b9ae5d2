"""Writing ops over the finest dims of attention's rows, and the op ``mlopt.attention`` itself."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import linalg, tensor

from ...dialects.attributes import OP, ROUNDS
from ..operations import defining_op
from ..raising.reshape import grouped, unsqueeze
from ..structured import (
    ATTENTION,
    DYNAMIC,
    body_of,
    dim_of,
    indexing_maps,
    inputs_of,
    iterator_types,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
)
from ..subsets import Size as Extent
from ..subsets import split
from ..tiling.analysis import loops_in
from .rows import Rows, Shape

# For each loop of an op the factors that it is split into; None: it stays one loop.
Splits = Sequence[Sequence[int] | None]


class Rewriter:
    """Writes ops with loops split into ``factors``, at the insertion point."""

    def __init__(self, rows: Rows, factors: Shape) -> None:
        self.rows = rows
        self.factors = factors

    def extent(self, factor: int) -> Extent:
        """A factor as a number or an index value."""
        size = self.factors[factor]
        if not size.symbols:
            return int(size.number)
        value, dim = self.rows.known[size]
        return dim_of(value, dim)

    def generic(
        self, op: ir.Operation, splits: Splits, known: dict[int, ir.Value], label: str | None = None
    ) -> ir.Value:
        """``op`` over the split loops, reading ``known`` operands; it gives up its body."""
        loops = numbered(splits)
        count = sum(map(len, loops))
        operands, maps = [], []
        for number, (value, where) in enumerate(zip(op.operands, maps_of(op), strict=True)):
            if number in known or number == len(inputs_of(op)):
                value = known.get(number, value)
                places = [place for expr in where.results for place in loops[expr.position]]
                exprs = [ir.AffineDimExpr.get(place) for place in places]
            else:
                value, exprs = self.operand(value, where, splits)
            operands.append(value)
            maps.append(ir.AffineMap.get(count, 0, exprs))
        *inputs, init = operands
        for inner in body_of(op).operations:
            if inner.operation.name == "linalg.index":
                (place,) = loops[inner.operation.attributes["dim"].value]
                kind = ir.IntegerType.get_signless(64)
                inner.operation.attributes["dim"] = ir.IntegerAttr.get(kind, place)
        kinds = [kind for parts, kind in zip(loops, kinds_of(op), strict=True) for _ in parts]
        made = make_generic(
            inputs,
            [self._init(init, maps_of(op)[-1], splits)],
            maps,
            kinds,
            label or label_of(op),
            location=op.location,
            at=ir.InsertionPoint.current,
            body=body_of(op),
        )
        return made.results[0]

    def operand(
        self, value: ir.Value, where: ir.AffineMap, splits: Splits
    ) -> tuple[ir.Value, list[ir.AffineExpr]]:
        """A tensor with its dims split as the loops are, and where it is read then."""
        loops = numbered(splits)
        heads = [ir.AffineDimExpr.get(parts[0]) if parts else ir.AffineConstantExpr.get(0) for parts in loops]
        renumbered = ir.AffineMap.get(sum(map(len, loops)), 0, heads)
        groups: list[list[int]] = []
        sizes: list[Extent] = []
        exprs: list[ir.AffineExpr] = []
        for dim, expr in enumerate(where.results):
            factors = splits[expr.position] if isinstance(expr, ir.AffineDimExpr) else None
            if factors is not None and len(factors) > 1:
                parts = [self.extent(factor) for factor in factors]
                exprs += [ir.AffineDimExpr.get(place) for place in loops[expr.position]]
            else:
                parts = [dim_of(value, dim) if value.type.shape[dim] == DYNAMIC else value.type.shape[dim]]
                exprs.append(expr.compose(renumbered))
            groups.append(list(range(len(sizes), len(sizes) + len(parts))))
            sizes += parts
        if len(sizes) == len(where.results):
            return value, exprs
        static, dynamic = split(sizes)
        kind = ir.RankedTensorType.get(static, value.type.element_type)
        return tensor.ExpandShapeOp(kind, value, grouped(groups), dynamic, static).result, exprs

    def empty(self, old: ir.Value, where: ir.AffineMap, splits: Splits) -> ir.Value:
        """An empty tensor like ``old``, whose dims are loops, split as they are."""
        sizes: list[Extent] = []
        for dim, expr in enumerate(where.results):
            factors = splits[expr.position]
            if factors is not None:
                sizes += [self.extent(factor) for factor in factors]
            else:
                size = old.type.shape[dim]
                sizes.append(dim_of(old, dim) if size == DYNAMIC else size)
        return tensor.EmptyOp(sizes, old.type.element_type).result

    def _init(self, old: ir.Value, where: ir.AffineMap, splits: Splits) -> ir.Value:
        """What the new op starts from: the same number, or nothing."""
        empty = self.empty(old, where, splits)
        fill = defining_op(old, "linalg.fill")
        return empty if fill is None else linalg.fill(fill.operands[0], outs=[empty])


def numbered(splits: Splits) -> list[list[int]]:
    """The numbers of the new loops that each loop becomes."""
    loops: list[list[int]] = []
    count = 0
    for factors in splits:
        parts = 1 if factors is None else len(factors)
        loops.append(list(range(count, count + parts)))
        count += parts
    return loops


def can_split(op: ir.Operation, splits: Splits, known: Sequence[int]) -> bool:
    """Whether loops that become several, or none, stand alone wherever ``op`` uses them."""
    changed = {loop for loop, factors in enumerate(splits) if factors is not None and len(factors) != 1}
    for number, where in enumerate(maps_of(op)):
        for expr in where.results:
            if isinstance(expr, ir.AffineDimExpr):
                continue
            if number in known or loops_in(expr) & changed:
                return False
    indices = [inner.operation for inner in body_of(op).operations if inner.operation.name == "linalg.index"]
    return not any(index.attributes["dim"].value in changed for index in indices)


def make_attention(
    scores: ir.Value,
    values: ir.Value,
    init: ir.Value,
    maps: Sequence[ir.AffineMap],
    zero_rows: bool,
    zero_nans: bool,
    causal: int,
    rounds: str,
) -> ir.Value:
    """The op ``mlopt.attention``; the last loop runs along the keys. ``rounds``: to which type, if any."""
    kinds = ["parallel"] * (maps[0].n_dims - 1) + ["reduction"]
    op = ir.Operation.create(
        ATTENTION,
        results=[init.type],
        operands=[scores, values, init],
        attributes={
            "indexing_maps": indexing_maps(maps),
            "iterator_types": iterator_types(kinds),
            "zero_rows": ir.BoolAttr.get(zero_rows),
            "zero_nans": ir.BoolAttr.get(zero_nans),
            "causal": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), causal),
        },
    )
    OP.set(op, "attention")
    if rounds:
        ROUNDS.set(op, rounds)
    return op.results[0]


def joined(value: ir.Value, kind: ir.RankedTensorType, groups: Sequence[Sequence[int]]) -> ir.Value:
    """``value`` as a tensor of type ``kind``, each dim of which is a group of its dims, or has size 1."""
    wide = [list(group) for group in groups if group]
    if any(len(group) > 1 for group in wide):
        sizes = [size for size, group in zip(kind.shape, groups, strict=True) if group]
        flat = ir.RankedTensorType.get(sizes, kind.element_type)
        value = tensor.CollapseShapeOp(flat, value, grouped(wide)).result
    return unsqueeze(value, kind, [dim for dim, group in enumerate(groups) if not group])
