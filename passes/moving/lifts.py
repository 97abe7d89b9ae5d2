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
read the result: they can then read the original.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import grouped, joined_dims
from ..structured import has_one_use, make_copy, maps_of, replace_op, sizes_of, structured_ops
from .reads import is_move


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
