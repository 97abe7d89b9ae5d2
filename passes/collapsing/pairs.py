"""Which neighbouring dims every tensor of a kernel has side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

from mlir import ir

from ..domain import Dim, Domain
from ..structured import SCAN, maps_of
from ..tiling.access import Nest
from ..tiling.analysis import loops_in

Pair = tuple[Dim, Dim]
WHOLE = 8  # elements: 16 bytes of halves, two times that of floats
Groups = list[list[int]]  # of a tensor's dims, in order: which become one


def neighbours(domain: Domain) -> set[Pair]:
    """The dims that may be merged with the one after them."""
    tensors = [found for nest in domain.nests for found in tensors_of(domain, nest)]
    bound = {dim for nest in domain.nests for dim in _in_windows(domain, nest)}
    bound |= {dim for _, dims in tensors for dim in dims if dim and dims.count(dim) > 1}  # diagonals
    # Totals begin anew in each row.
    scans = [nest for nest in domain.nests if nest.op.name == SCAN]
    bound |= {domain.loops(nest)[loop] for nest in scans for loop in nest.reductions}
    # What makes a stage has loops of its own.
    bound |= {dim for value, dims in tensors if value in domain.stages for dim in dims if dim}
    pairs = {pair for _, dims in tensors for pair in _pairs(dims) if pair and not bound & set(pair)}
    while True:
        kept = {pair for pair in pairs if all(_agrees(pair, dims) for _, dims in tensors)}
        # A tensor that is read twice has one shape.
        apart = {
            (value, place)
            for value, dims in tensors
            for place, pair in enumerate(_pairs(dims))
            if pair not in kept
        }
        for value, dims in tensors:
            kept -= {pair for place, pair in enumerate(_pairs(dims)) if (value, place) in apart}
        if kept == pairs:
            return {pair for pair in kept if should_merge(pair, kept)}
        pairs = kept


def should_merge(pair: Pair, pairs: set[Pair]) -> bool:
    """Whether two dims are better one: unknown many rows of a known length are, if that is no wide one.

    Tasks take parts of a row that divide it, and need not ask where they end.
    """
    one, other = pair
    if one.extent:
        return True
    after = dict(pairs)
    row = [other]
    while row[-1] in after:
        row.append(after[row[-1]])
    sizes = [dim.extent for dim in row]
    return None in sizes or bool(prod(size for size in sizes if size) % WHOLE)


def tensors_of(domain: Domain, nest: Nest) -> Iterator[tuple[ir.Value, tuple[Dim | None, ...]]]:
    """Each tensor that an op reads, starts from or makes, and the dim of each of its dims (None: not one)."""
    loops = domain.loops(nest)
    for value, where in maps_of_nest(nest):
        if isinstance(value.type, ir.RankedTensorType):
            yield value, tuple(_dim_of(expr, loops) for expr in where.results)


def _in_windows(domain: Domain, nest: Nest) -> Iterator[Dim]:
    """The dims that stand in an expression with others or with a factor."""
    loops = domain.loops(nest)
    for _, where in maps_of_nest(nest):
        for expr in where.results:
            if not isinstance(expr, ir.AffineDimExpr):
                yield from (loops[loop] for loop in loops_in(expr))


def maps_of_nest(nest: Nest) -> list[tuple[ir.Value, ir.AffineMap]]:
    """Each operand and result of a nest's op, with the map from its loops."""
    op = nest.op
    if op.name == "linalg.fill":
        where = ir.AffineMap.get_identity(len(nest.kinds))
        return [(op.operands[1], where), (op.results[0], where)]
    maps = maps_of(op)
    return [
        *zip(op.operands, maps, strict=True),
        *zip(op.results, maps[len(maps) - len(op.results) :], strict=True),
    ]


def _dim_of(expr: ir.AffineExpr, loops: Sequence[Dim]) -> Dim | None:
    return loops[ir.AffineDimExpr(expr).position] if isinstance(expr, ir.AffineDimExpr) else None


def _pairs(dims: Sequence[Dim | None]) -> list[Pair | None]:
    """For each dim but the last: it and the next, if the two have elements."""
    return [
        (one, other) if one and other and one.extent != 0 and other.extent != 0 and one is not other else None
        for one, other in pairwise(dims)
    ]


def _agrees(pair: Pair, dims: Sequence[Dim | None]) -> bool:
    """Whether a tensor has both of the pair, side by side, or neither."""
    return pair in _pairs(dims) or not set(pair) & set(dims)


def groups_of(dims: Sequence[Dim | None], pairs: set[Pair]) -> Groups:
    """A tensor's dims, those that ``pairs`` merge together."""
    groups: Groups = [[0]] if dims else []
    for place, pair in enumerate(_pairs(dims), start=1):
        if pair in pairs:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups
