"""`mlopt-turn-rows`: a product reads its weights as they lie; its rows are turned, not they."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import tensor

from .base import Pass
from .hoist import made_of_weights, weights_factor
from .moving.reads import original
from .moving.writes import make_in_order
from .operations import defining_op
from .raising.bodies import is_contraction
from .structured import (
    DYNAMIC,
    erase_dead,
    indexing_maps,
    inits_of,
    inputs_of,
    kinds_of,
    loop_extents,
    make_copy,
    maps_of,
    sizes_of,
    structured_ops,
)
from .tiling.analysis import loops_in

LEAST_BYTES = 1 << 20  # of weights: a copy of fewer is no matter
LANES = 64  # of a strip: rows that are a multiple of it leave no lane empty
_BYTES = 4  # of an f32
MOST_ROWS = 512  # more are in so many pages that each task copies its strip of them


@dataclass(frozen=True)
class TurnRows(Pass):
    """Let a product read the weights of a linear layer as they lie, and its rows from columns.

    ::

        %t = generic {transpose} (k, n) ins(%w at (n, k))
        %c = generic {matmul} (m, n | k) ins(%x at (m, k), %t at (k, n)) : tensor<128x3072xf32>
      ->
        %y = generic {transpose} (k, m) ins(%x at (m, k))
        %c = generic {matmul} (m, n | k) ins(%y at (k, m), %w at (n, k)) : tensor<128x3072xf32>

    Registers run along the rows. Run it before mlopt-pack-weights, which keeps a copy of what it packs: of
    these weights nothing is kept. Legal where the weights are a matrix that the summed loop runs along, as it
    does along the rows. Done in f32 for 64 to 512 rows, a multiple of 64 and no more than the columns, and
    1 MB of weights, where it makes no kernel more: a product and the element-wise ops after it make the rows,
    for this product alone, and make them in columns as well.

    GPT-2-small of 128 tokens, each block's second layer after the GELU: its process at its peak 1.44 to 1.33
    GB; a call takes as long, 160 ms of one thread of a Zen 5 core.
    """

    name: ClassVar[str] = "mlopt-turn-rows"

    def run(self, op: ir.Operation) -> None:
        for each in op.regions[0].blocks[0].operations:
            function = each.operation
            if function.name == "func.func" and len(function.regions[0].blocks) == 1:
                _turn_all(function)


def _turn_all(function: ir.Operation) -> None:
    weights = made_of_weights(function)
    turned = False
    for op in structured_ops(function):
        number = weights_factor(op, weights)
        if number is not None and can_turn(op, number) and should_turn(op, number):
            _turn(op, number)
            turned = True
    if turned:
        erase_dead(function)  # transposes of weights
        make_in_order(function)
        erase_dead(function)


def can_turn(op: ir.Operation, number: int) -> bool:
    """Whether the summed loop runs along the rows and along those of the weights, operand ``number``."""
    data, (_, own) = maps_of(op)[1 - number], original(op, number)
    plain = all(isinstance(expr, ir.AffineDimExpr) for where in (data, own) for expr in where.results)
    if not plain or len(data.results) < 2 or len(own.results) != 2:
        return False
    *_, row, walked = (expr.position for expr in data.results)
    column, last = (expr.position for expr in own.results)
    kinds = kinds_of(op)
    summed = [loop for loop, kind in enumerate(kinds) if kind == "reduction"]
    starts_anew = defining_op(inits_of(op)[0], "linalg.fill") is not None
    return starts_anew and summed == [walked] == [last] and kinds[row] == kinds[column] and row != column


def should_turn(op: ir.Operation, number: int) -> bool:
    """Whether the rows fill strips of lanes, fewer than the columns that they serve, and cost no kernel."""
    rows, columns = (
        loop_extents(op)[where.results[place].position]
        for where, place in ((maps_of(op)[1 - number], -2), (original(op, number)[1], 0))
    )
    if rows is None or columns is None or rows % LANES or not 0 < rows <= min(MOST_ROWS, columns):
        return False
    return _is_single(op) and _is_large(op.operands[number]) and _come_from_product(op, 1 - number)


def _come_from_product(op: ir.Operation, number: int) -> bool:
    """Whether a product and element-wise ops after it make operand ``number`` of ``op``, for it alone.

    One kernel does that, and makes it in columns as well.
    """
    makers, reads = [op], [(op.operands[number], True)]
    for value, is_straight in reads:  # grows
        maker = defining_op(value)
        if maker is None or maker in makers or maker.name == "arith.constant":
            continue
        if not is_straight or maker.name != "linalg.generic" or len(maker.results) != 1:
            return False
        makers.append(maker)
        if "reduction" not in kinds_of(maker):
            found = zip(inputs_of(maker), maps_of(maker), strict=False)
            reads += [(each, where.is_permutation) for each, where in found if not _is_broadcast(where)]
        elif not is_contraction(maker):
            return False
    readers = [use.owner.operation for maker in makers[1:] for use in maker.results[0].uses]
    return sum(map(is_contraction, makers[1:])) == 1 and all(reader in makers for reader in readers)


def _is_broadcast(where: ir.AffineMap) -> bool:
    """Whether what is read at ``where`` is the same along some loop."""
    return len({loop for expr in where.results for loop in loops_in(expr)}) < where.n_dims


def _is_large(weights: ir.Value) -> bool:
    sizes = weights.type.shape
    return DYNAMIC not in sizes and prod(sizes) * _BYTES >= LEAST_BYTES


def _is_single(op: ir.Operation) -> bool:
    return all(isinstance(value.type.element_type, ir.F32Type) for value in op.operands)


def has_rows_in_columns(op: ir.Operation, number: int) -> bool:
    """Whether a product reads its weights, operand ``number``, as this pass leaves them."""
    data, own = list(maps_of(op)[1 - number].results), list(maps_of(op)[number].results)
    if len(own) != 2 or data[-2:-1] != own[-1:]:
        return False
    lanes = data[-1]
    extent = loop_extents(op)[lanes.position] if isinstance(lanes, ir.AffineDimExpr) else None
    return _is_single(op) and extent is not None and extent % LANES == 0 and extent <= MOST_ROWS


def _turn(op: ir.Operation, number: int) -> None:
    """Read the weights, operand ``number``, where they are, and the other factor from its transpose."""
    maps = maps_of(op)
    op.operands[number], maps[number] = original(op, number)
    rows, where = op.operands[1 - number], list(maps[1 - number].results)
    *outer, row, walked = range(len(where))
    order = [*outer, walked, row]
    maps[1 - number] = ir.AffineMap.get(len(kinds_of(op)), 0, [where[dim] for dim in order], op.context)
    with op.location, ir.InsertionPoint(op):
        sizes = sizes_of(rows)
        empty = tensor.EmptyOp([sizes[dim] for dim in order], rows.type.element_type).result
        source = ir.AffineMap.get(len(order), 0, [ir.AffineExpr.get_dim(dim) for dim in order])
        turned = make_copy(rows, empty, source, "transpose", location=op.location, at=ir.InsertionPoint(op))
        op.operands[1 - number] = turned.results[0]
        op.attributes["indexing_maps"] = indexing_maps(maps)
