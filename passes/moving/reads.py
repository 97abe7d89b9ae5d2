"""What reads a tensor that was only moved reads the original, at other places.

::

    %s = generic {slice} (i, j) -> (i, j + 16) ins(%x)
    %t = generic {transpose} (i, j) -> (j, i) ins(%s)      ->  (i, j) -> (j, i + 16) ins(%x)
    generic {add} (i, j) ins(%t)                           ->  generic {add} (j, i + 16) ins(%x)

Legal always. Done where it does not spoil the order in memory: reductions must read on along the same
innermost loop. A product takes both of its factors transposed, but for one along whose columns the result is
written; a weight that mlopt-hoist transposes once stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from mlir import ir

from ..hoist import made_of_weights
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..structured import (
    ATTENTION,
    ROW_SCORES,
    SCORES,
    body_of,
    has_one_use,
    indexing_maps,
    inputs_of,
    kinds_of,
    label_of,
    loop_extents,
    maps_of,
    shows_all_loops,
    structured_ops,
    word_for,
)


def read_originals(func: ir.Operation) -> None:
    """Let each generic of ``func`` read through the moves before it, the first op first."""
    weights = made_of_weights(func)
    for op in [*structured_ops(func), *structured_ops(func, ATTENTION)]:
        for number in range(len(inputs_of(op))):
            _read_original(op, number, weights)


def _read_original(op: ir.Operation, number: int, weights: Set[ir.Value]) -> None:
    move = _move_read(op, number)
    if move is None or why_not_read(op, number, weights) is not None:
        return
    op.operands[number], new = move.operands[0], _maps_without(op, number, move)
    with op.location:
        op.attributes["indexing_maps"] = indexing_maps(new)


def why_not_read(op: ir.Operation, number: int, weights: Set[ir.Value]) -> str | None:
    """Why ``op`` takes operand ``number`` as it was moved; None if it was not, or ``op`` can do without."""
    move = _move_read(op, number)
    if move is None:
        return None
    new = _maps_without(op, number, move)
    if not shows_all_loops(new):
        return f"without it nothing says how long a loop of {word_for(op)} is"
    turned = move.operands[0] not in weights and should_turn(op, new)
    if not turned and not should_read(op, move, maps_of(op)[number], new[number]):
        return f"{word_for(op)} would not read along rows without it"
    return None


def _move_read(op: ir.Operation, number: int) -> ir.Operation | None:
    move = defining_op(op.operands[number], "linalg.generic")
    return move if move is not None and is_move(move) else None


def _maps_without(op: ir.Operation, number: int, move: ir.Operation) -> list[ir.AffineMap]:
    """Where ``op`` reads if it reads what ``move`` does in place of operand ``number``."""
    maps = maps_of(op)
    composed = _composed(maps_of(move)[0], maps[number], loop_extents(op))
    return [*maps[:number], composed, *maps[number + 1 :]]


def is_move(op: ir.Operation) -> bool:
    """Whether a generic yields its one input and nothing else, at the places of its result in order."""
    operations = list(body_of(op).operations)
    if len(operations) != 1 or len(op.results) != 1 or len(inputs_of(op)) != 1 or "reduction" in kinds_of(op):
        return False
    yielded, identity = (
        operations[0].operation.operands[0],
        ir.AffineMap.get_identity(len(kinds_of(op)), op.context),
    )
    return bool(yielded == body_of(op).arguments[0] and maps_of(op)[1] == identity)


def original(op: ir.Operation, number: int) -> tuple[ir.Value, ir.AffineMap]:
    """What operand ``number`` of ``op`` was before its dims changed places, and where that is read."""
    value, where = op.operands[number], maps_of(op)[number]
    move = defining_op(value, "linalg.generic")
    while move is not None and is_move(move) and maps_of(move)[0].is_permutation:
        exprs = [where.results[expr.position] for expr in maps_of(move)[0].results]
        where = ir.AffineMap.get(where.n_dims, 0, exprs, where.context)
        value = move.operands[0]
        move = defining_op(value, "linalg.generic")
    return value, where


def should_read(op: ir.Operation, move: ir.Operation, before: ir.AffineMap, after: ir.AffineMap) -> bool:
    """Whether reading the original at ``after`` is as good as reading what was moved at ``before``."""
    if not after.results or list(before.results)[-1:] == list(after.results)[-1:]:
        return True
    if "reduction" in kinds_of(op):
        return op.name == ATTENTION or label_of(op) in (
            SCORES,
            ROW_SCORES,
        )  # their tasks keep what they read close by
    in_order = _loops(after) == sorted(_loops(after))
    return in_order or has_one_use(move.results[0])


def should_turn(op: ir.Operation, maps: Sequence[ir.AffineMap]) -> bool:
    """Whether ``op`` is a product that reads its factors at ``maps`` as well as in any other order.

    Lanes run along the result's last loop: where a factor has it last, or else both have the summed one last.
    """
    if not is_contraction(op) or kinds_of(op).count("reduction") != 1:
        return False
    one, other, result = (list(where.results) for where in maps)
    number = kinds_of(op).index("reduction")
    summed = ir.AffineDimExpr.get(number, op.context)
    if summed not in one or summed not in other or not result or loop_extents(op)[number] is None:
        return False
    lanes = result[-1]
    if not isinstance(lanes, ir.AffineDimExpr) or (lanes in one) == (lanes in other):
        return False
    own = one if lanes in one else other
    return own[-1] == lanes or one[-1] == other[-1] == summed


def _composed(outer: ir.AffineMap, inner: ir.AffineMap, extents: list[int | None]) -> ir.AffineMap:
    """Where ``outer`` reads at the places that ``inner`` gives."""
    exprs: list[ir.AffineExpr] = []
    for expr in outer.results:
        loop, modulus = _part(expr)
        if isinstance(expr, ir.AffineDimExpr):
            exprs.append(inner.results[expr.position])  # all of that dim, or the same part of it
            continue
        if modulus is None:
            exprs.append(expr.compose(_without_parts(inner, extents)))
            continue
        place = _without_parts(inner, extents).results[loop]
        if not isinstance(place, (ir.AffineDimExpr, ir.AffineConstantExpr)):
            exprs.append(place)  # it stays within the part, and cannot be taken for a whole dim
        else:
            exprs.append(ir.AffineExpr.get_mod(place, modulus))
    return ir.AffineMap.get(inner.n_dims, 0, exprs, inner.context)


def _without_parts(where: ir.AffineMap, extents: list[int | None]) -> ir.AffineMap:
    """The map without each ``loop mod size`` that is the loop itself."""
    exprs = []
    for expr in where.results:
        loop, modulus = _part(expr)
        extent = None if modulus is None else extents[loop]
        is_loop = modulus is not None and extent is not None and extent <= modulus
        exprs.append(ir.AffineDimExpr.get(loop, where.context) if is_loop else expr)
    return ir.AffineMap.get(where.n_dims, 0, exprs, where.context)


def _part(expr: ir.AffineExpr) -> tuple[int, int | None]:
    """The loop and the size of ``loop mod size``; the size is None for anything else."""
    is_part = isinstance(expr, ir.AffineModExpr) and isinstance(expr.lhs, ir.AffineDimExpr)
    return (expr.lhs.position, expr.rhs.value) if is_part else (0, None)


def _loops(where: ir.AffineMap) -> list[int]:
    """The loops of the results that are one loop, with an offset or not, in order."""
    terms = [
        expr if isinstance(expr, ir.AffineDimExpr) else getattr(expr, "lhs", None) for expr in where.results
    ]
    return [term.position for term in terms if isinstance(term, ir.AffineDimExpr)]
