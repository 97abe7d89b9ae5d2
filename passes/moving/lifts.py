"""A collapse of what was transposed becomes a transpose of what was collapsed, for products to read.

::

    %t = generic {transpose} (b, h, d, n) -> (b, h, n, d) ins(%k)
    %c = tensor.collapse_shape %t [[0, 1], [2], [3]]
    generic {bmm} (b, m, n | d) ins(…, %c at (b, d, n))
  ->
    %c = tensor.collapse_shape %k [[0, 1], [2], [3]]
    %t = generic {transpose} (b, d, n) -> (b, n, d) ins(%c)
    generic {bmm} (b, m, n | d) ins(…, %t at (b, d, n))

Legal where the dims that are joined lie side by side before the transpose, too. Done where products alone
read the result: they can then read the original. In the same way a dim is split before what has it is moved:

::

    %s = generic {slice} (b, t, n) -> (b, t, 1, n) ins(%x)
    %e = tensor.expand_shape %s into 2x128x12x64
  ->
    %v = tensor.expand_shape %x into 2x128x3x12x64
    %e = generic {slice} (b, t, h, d) -> (b, t, 1, h, d) ins(%v)

Legal where the sizes of its parts are known, and all of the dim is moved, or a part of it that lies in whole
blocks of the inner parts: ``h + 8`` of 24 heads is (g + 2, r) of 6 groups of 4. Done where products and
attention alone read the parts, which then read them where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlir import ir
from mlir.dialects import tensor

from ..hoist import made_of_weights
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import grouped, joined_dims
from ..structured import (
    DYNAMIC,
    has_one_use,
    make_copy,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
    word_for,
)
from ..subsets import Size, split
from .heads import is_for_products
from .reads import is_move
from .splits import Parts, parts_of
from .takes import loop_of


def lift_collapses(func: ir.Operation) -> None:
    """Collapse before transposing in ``func``."""
    for collapse in structured_ops(func, "tensor.collapse_shape"):
        move = defining_op(collapse.operands[0], "linalg.generic")
        if move is None or not is_move(move) or not _is_moved_for_products(collapse, move):
            continue
        places = _places(move)
        groups = joined_dims(collapse)
        if places is not None and can_lift(places, groups):
            _lift(collapse, move, places, groups)


def lift_parts(func: ir.Operation) -> None:
    """Split before moving in ``func``."""
    weights = made_of_weights(func)
    for expand in structured_ops(func, "tensor.expand_shape"):
        move = defining_op(expand.operands[0], "linalg.generic")
        if move is None or not is_move(move) or move.results[0] in weights:
            continue
        if not is_for_products(expand.results[0]):
            continue
        parts = parts_of(expand, maps_of(move)[-1])
        if parts is not None and can_lift_parts(move, parts):
            _lift_parts(expand, move, parts)


def can_lift_parts(move: ir.Operation, parts: Parts) -> bool:
    """Whether each loop that splits runs through one dim of what is moved, or blocks of it, and no other."""
    dims = zip(maps_of(move)[0].results, move.operands[0].type.shape, strict=True)
    places = [(expr, size) for expr, size in dims if not isinstance(expr, ir.AffineConstantExpr)]
    others = [expr for expr, _ in places if not isinstance(expr, ir.AffineDimExpr)]
    if not all(isinstance(expr.rhs, ir.AffineConstantExpr) for expr in others):
        return False
    loops = [loop_of(expr) for expr, _ in places]
    if any(loops.count(ir.AffineDimExpr.get(loop)) != 1 for loop in parts):
        return False
    return all(_is_in_blocks(expr, size, _parts_at(expr, parts)) for expr, size in places)


def _parts_at(expr: ir.AffineExpr, parts: Parts) -> list[int]:
    """The parts of the loop that runs through a dim, or a part of it, at ``expr``; none if it stays one."""
    if isinstance(expr, ir.AffineConstantExpr):
        return []
    loop = loop_of(expr)
    return parts.get(loop.position, []) if isinstance(loop, ir.AffineDimExpr) else []


def _is_in_blocks(expr: ir.AffineExpr, extent: int, sizes: list[int]) -> bool:
    """Whether a dim splits as a loop that runs through a part of it: in whole blocks of the inner parts."""
    if not sizes or isinstance(expr, ir.AffineDimExpr):
        return True
    block = prod(sizes[1:])
    is_part = isinstance(expr, (ir.AffineAddExpr, ir.AffineModExpr)) and extent != DYNAMIC
    return is_part and block > 0 and extent % block == expr.rhs.value % block == 0


def can_lift(places: list[int], groups: list[list[int]]) -> bool:
    """Whether each group of dims lies side by side at ``places``, in the same order."""
    return all(
        [places[dim] for dim in group] == list(range(places[group[0]], places[group[0]] + len(group)))
        for group in groups
    )


def _is_moved_for_products(collapse: ir.Operation, move: ir.Operation) -> bool:
    """Whether ``collapse`` alone reads what was moved, and products alone read that."""
    readers = [use.owner.operation for use in collapse.results[0].uses]
    return has_one_use(move.results[0]) and all(is_contraction(reader) for reader in readers)


def _places(move: ir.Operation) -> list[int] | None:
    """For each dim of a transposed tensor the dim that it was before; None if it is more than transposed."""
    read = maps_of(move)[0]
    if not read.is_permutation:
        return None
    before = [expr.position for expr in read.results]
    return [before.index(dim) for dim in range(read.n_dims)]


def _lift(collapse: ir.Operation, move: ir.Operation, places: list[int], groups: list[list[int]]) -> None:
    result = collapse.results[0]
    order = sorted(range(len(groups)), key=lambda number: places[groups[number][0]])
    kept = [[places[dim] for dim in groups[number]] for number in order]
    shape = [result.type.shape[number] for number in order]
    at = ir.InsertionPoint(collapse)
    with at, collapse.location:
        kind = ir.RankedTensorType.get(shape, result.type.element_type)
        source = tensor.CollapseShapeOp(kind, move.operands[0], grouped(kept)).result
    if order == sorted(order):
        replace_op(collapse, [source])
        return
    read = ir.AffineMap.get(len(groups), 0, [ir.AffineDimExpr.get(number) for number in order])
    with at, collapse.location:
        sizes = sizes_of(source)
        init = tensor.EmptyOp(
            [sizes[order.index(number)] for number in range(len(order))], kind.element_type
        ).result
    made = make_copy(source, init, read, "transpose", location=move.location, at=at)
    replace_op(collapse, list(made.results))


def _lift_parts(expand: ir.Operation, move: ir.Operation, parts: Parts) -> None:
    first = [group[0] for group in joined_dims(expand)]
    rank, element = expand.results[0].type.rank, expand.results[0].type.element_type
    at = ir.InsertionPoint(expand)
    with at, expand.location:
        renumbered = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(dim) for dim in first])
        shape: list[Size] = []
        exprs: list[ir.AffineExpr] = []
        groups: list[list[int]] = []
        for expr, size in zip(maps_of(move)[0].results, sizes_of(move.operands[0]), strict=True):
            loops = _parts_at(expr, parts)
            sizes: Sequence[Size] = _sizes_of(expr, size, loops)
            groups.append(list(range(len(shape), len(shape) + len(sizes))))
            shape += sizes
            exprs.append(_of_blocks(expr, prod(loops[1:])).compose(renumbered))
            if loops:
                start = first[loop_of(expr).position] + 1
                exprs += [ir.AffineExpr.get_dim(start + part) for part in range(len(loops) - 1)]
        static, dynamic = split(shape)
        kind = ir.RankedTensorType.get(static, element)
        source = tensor.ExpandShapeOp(kind, move.operands[0], grouped(groups), dynamic, static).result
        init = tensor.EmptyOp(sizes_of(expand.results[0]), element).result
        where = ir.AffineMap.get(rank, 0, exprs)
    made = make_copy(source, init, where, word_for(move), location=move.location, at=at)
    replace_op(expand, list(made.results))


def _sizes_of(expr: ir.AffineExpr, size: Size, loops: list[int]) -> Sequence[Size]:
    """What a dim of ``size`` splits into that is read at ``expr`` by a loop of parts."""
    if not loops or isinstance(expr, ir.AffineDimExpr):
        return loops or [size]
    assert isinstance(size, int)
    return [size // prod(loops[1:]), *loops[1:]]


def _of_blocks(expr: ir.AffineExpr, block: int) -> ir.AffineExpr:
    """Where a loop over blocks reads what ``expr`` reads one by one."""
    if block == 1 or isinstance(expr, ir.AffineDimExpr):
        return expr
    number = expr.rhs.value // block
    is_sum = isinstance(expr, ir.AffineAddExpr)
    return expr.lhs + number if is_sum else ir.AffineExpr.get_mod(expr.lhs, number)
