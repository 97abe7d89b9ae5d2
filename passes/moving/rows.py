"""A product's rows stay in the order in which they lie, and what reads them apart reads them in its own.

::

    %t = generic {transpose} (t, b, c) -> (b, t, c) ins(%x)
    %r = tensor.collapse_shape %t [[0, 1], [2]]
    %y = generic {matmul} (m, n | k) ins(%r at (m, k), %w at (k, n))
    %e = tensor.expand_shape %y [[0, 1], [2]]
  ->
    %r = tensor.collapse_shape %x [[0, 1], [2]]
    %y = generic {matmul} (m, n | k) ins(%r at (m, k), %w at (k, n))
    %v = tensor.expand_shape %y [[0, 1], [2]]
    %e = generic {transpose} (t, b, n) -> (b, t, n) ins(%v)

Legal where the sizes are known, the rows are one factor's, and the product and the element-wise ops behind it
read nothing else along them; views that split the rows as they were joined are the only readers. Done where
products or attention alone read what is transposed then, which take it as it is, or ops in the order in which
the rows lay: attention of a model whose rows are sequences first transposes nothing so.

Effect: nn.TransformerEncoderLayer (pre-norm) of two sequences is 7 kernels instead of 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import joined_dims
from ..structured import (
    ATTENTION,
    DYNAMIC,
    inits_of,
    inputs_of,
    kinds_of,
    make_copy,
    maps_of,
    replace_op,
    structured_ops,
)
from ..subsets import kept_dims
from .heads import work_after
from .reads import is_move
from .splits import can_split


class _Rows(NamedTuple):
    """Rows that ``move`` has put in another order, and ``collapse`` has joined for an operand."""

    operand: int
    move: ir.Operation
    collapse: ir.Operation
    dims: list[int]  # of what is moved: those that are joined
    order: list[int]  # their numbers, from 0 on, as they lie before the move
    column: int  # the dim of the product's result that they are


def keep_rows(func: ir.Operation) -> bool:
    """Let products of ``func`` go through rows as they lay before they were moved; whether any does."""
    found = False
    for product in structured_ops(func):
        rows = _rows_of(product) if is_contraction(product) else None
        if rows is None:
            continue
        work, views = work_after(product)
        if can_keep(work, views, rows) and all(should_keep(view, rows) for view in views):
            _keep(product, views, rows)
            found = True
    return found


def _rows_of(product: ir.Operation) -> _Rows | None:
    """The rows of one factor, which are no other's, if they were moved before they were joined."""
    factors, result = maps_of(product)[:2], maps_of(product)[-1]
    for operand, where in enumerate(factors):
        collapse = defining_op(product.operands[operand], "tensor.collapse_shape")
        move = None if collapse is None else defining_op(collapse.operands[0], "linalg.generic")
        if collapse is None or move is None or not is_move(move) or not maps_of(move)[0].is_permutation:
            continue
        before = [expr.position for expr in maps_of(move)[0].results]
        for expr, dims in zip(where.results, joined_dims(collapse), strict=True):
            places = [before.index(dim) for dim in dims]
            is_row = expr in result.results and expr not in factors[1 - operand].results
            if is_row and places != sorted(places):
                order = sorted(range(len(dims)), key=places.__getitem__)
                return _Rows(operand, move, collapse, dims, order, list(result.results).index(expr))
    return None


def can_keep(work: Sequence[ir.Operation], views: Sequence[ir.Operation], rows: _Rows) -> bool:
    """Whether a product and the work behind it may go through ``rows`` in any order, as ``views`` show."""
    product, *_ = work
    sizes = [rows.move.results[0].type.shape[dim] for dim in rows.dims]
    if DYNAMIC in sizes or not views or defining_op(inits_of(product)[0], "linalg.fill") is None:
        return False
    for view in views:
        if view.name != "tensor.expand_shape":
            return False
        kind = view.results[0].type
        if [kind.shape[dim] for dim in joined_dims(view)[rows.column]] != sizes or not kind.has_static_shape:
            return False
    made = [op.results[0] for op in work]
    for op in work:
        row = maps_of(op)[-1].results[rows.column]
        others = [
            where
            for number, (value, where) in enumerate(zip(inputs_of(op), maps_of(op), strict=False))
            if value not in made and (op != product or number != rows.operand)
        ]
        if not can_split(op) or any(row in where.results for where in others):
            return False
    return True


def should_keep(view: ir.Operation, rows: _Rows) -> bool:
    """Whether nothing has to transpose what ``view`` splits, if its rows lie in another order."""
    dims = joined_dims(view)[rows.column]
    return _takes_order(view.results[0], [dims[number] for number in rows.order])


def _takes_order(value: ir.Value, dims: list[int]) -> bool:
    """Whether all that read ``value``, moved perhaps, take its ``dims`` in this order as well or better."""
    return all(_reads_in_order(use.owner.operation, use.operand_number, dims) for use in value.uses)


def _reads_in_order(op: ir.Operation, operand: int, dims: list[int]) -> bool:
    if op.name == ATTENTION or is_contraction(op):
        return True
    if op.name == "tensor.expand_shape":
        groups = joined_dims(op)
        parts = [groups[dim] for dim in dims]
        whole = all(len(group) == 1 for group in parts)
        return whole and _takes_order(op.results[0], [group[0] for group in parts])
    if op.name == "tensor.extract_slice":
        kept = kept_dims(op)
        return _takes_order(op.results[0], [kept.index(dim) for dim in dims if dim in kept])
    if op.name == "linalg.generic":
        exprs = [maps_of(op)[operand].results[dim] for dim in dims]
        if not all(isinstance(expr, ir.AffineDimExpr) for expr in exprs):
            return False
        loops = [expr.position for expr in exprs]
        in_order = loops == sorted(loops)
        return in_order if not is_move(op) else in_order or _takes_order(op.results[0], loops)
    return op.name == "func.return" and dims == sorted(dims)


def _keep(product: ir.Operation, views: Sequence[ir.Operation], rows: _Rows) -> None:
    shape, dims = list(rows.move.results[0].type.shape), list(range(len(kinds_of(rows.move))))
    for dim, number in zip(rows.dims, rows.order, strict=True):
        dims[dim] = rows.dims[number]
    places = [dims.index(expr.position) for expr in maps_of(rows.move)[0].results]
    collapse, kind = rows.collapse, rows.collapse.results[0].type
    with collapse.location, ir.InsertionPoint(collapse):
        value = _moved(rows.move.operands[0], places, [shape[dim] for dim in dims], rows.move)
        groups = collapse.attributes["reassociation"]
        product.operands[rows.operand] = tensor.CollapseShapeOp(kind, value, groups).result
    for view in views:
        _transpose(view, rows)


def _transpose(view: ir.Operation, rows: _Rows) -> None:
    """Split rows as they lie now, and move them where ``view`` has them."""
    kind = view.results[0].type
    places = list(range(kind.rank))
    parts = joined_dims(view)[rows.column]
    for dim, number in zip(parts, rows.order, strict=True):
        places[dim] = parts[number]
    shape = [kind.shape[dim] for dim in places]
    with view.location, ir.InsertionPoint(view):
        apart = ir.RankedTensorType.get(shape, kind.element_type)
        groups = view.attributes["reassociation"]
        value = tensor.ExpandShapeOp(apart, view.operands[0], groups, [], shape).result
        moved = _moved(value, places, kind.shape, view)
    replace_op(view, [moved])


def _moved(source: ir.Value, places: Sequence[int], shape: Sequence[int], op: ir.Operation) -> ir.Value:
    """``source``, each of whose dims goes to one of ``places``, at the current insertion point."""
    if list(places) == list(range(len(places))):
        return source
    at = ir.InsertionPoint.current
    init = tensor.EmptyOp(shape, source.type.element_type).result
    read = ir.AffineMap.get(len(places), 0, [ir.AffineExpr.get_dim(place) for place in places])
    return make_copy(source, init, read, "transpose", location=op.location, at=at).results[0]
