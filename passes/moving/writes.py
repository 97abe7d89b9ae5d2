"""What is made in one order and read in another by its only reader is made in the reader's order.

::

    %r = generic {relu} (i, j) ins(%x at (j, i))           ->  generic {relu} (i, j) ins(%x at (i, j))
    %a = generic {add} (i, j) ins(%r at (i, j), 1)         ->  generic {add} (i, j) ins(… at (i, j), 1)
    %t = generic {transpose} (i, j) -> (j, i) ins(%a)

Legal where all of it is element-wise and each tensor between has one reader: their loops have no order. Nor
have those of a product that starts from a fill: its rows, but not what is in them, are made in the reader's
order, and so are those of a gather that are moved before others read them. Done for the whole chain of what
the reader reads, where no more tensors are read across rows than before, and nothing leaves the kernel of
what made its input: a reduction's rows stay with it.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import linalg, tensor

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..structured import (
    ATTENTION,
    body_of,
    has_one_use,
    indexing_maps,
    inits_of,
    inputs_of,
    is_used,
    kinds_of,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
)
from .reads import is_move
from .splits import can_split

_Edge = tuple[ir.Operation, int, ir.AffineMap]  # a reader, the number of its operand, where it reads that


def make_in_order(func: ir.Operation) -> None:
    """Turn what element-wise ops of ``func`` read in another order than it was made in, the last op first."""
    for op in reversed(structured_ops(func)):
        if "reduction" in kinds_of(op):
            continue
        edges: list[_Edge] = []
        for number, turn in enumerate(maps_of(op)[: len(inputs_of(op))]):
            if can_turn(op.operands[number], turn):
                edges = _chain((op, number, turn))
                if should_turn(edges):
                    for edge in edges:
                        _turn(*edge)
        in_order = maps_of(op)[0] == maps_of(op)[-1]
        if edges and is_move(op) and in_order and op.operands[0].type == op.results[0].type:
            replace_op(op, [op.operands[0]])


def gather_in_order(func: ir.Operation) -> None:
    """Let gathers of ``func`` have their rows where moves alone would put them, for all who read those."""
    for move in structured_ops(func):
        turn = maps_of(move)[0]
        if is_move(move) and can_gather_in_order(move.operands[0], turn):
            _turn(move, 0, turn)
            replace_op(move, [move.operands[0]])


def can_gather_in_order(value: ir.Value, turn: ir.AffineMap) -> bool:
    """Whether a gather makes ``value``, for this reader alone, and would read the same rows in its order."""
    maker = _maker_alone(value, turn)
    last = ir.AffineDimExpr.get(turn.n_dims - 1, turn.context)
    return maker is not None and _is_element_by_itself(maker) and _gathers(maker) and turn.results[-1] == last


def can_turn(value: ir.Value, turn: ir.AffineMap) -> bool:
    """Whether ``value``, read at ``turn``, can be made in the order of the reader's loops instead."""
    maker = _maker_alone(value, turn)
    if maker is None:
        return False
    if "reduction" in kinds_of(maker):
        return _keeps_rows(maker, turn)
    return _is_element_by_itself(maker) and not _gathers(maker)


def _maker_alone(value: ir.Value, turn: ir.AffineMap) -> ir.Operation | None:
    """What makes ``value``, in order and for one reader, which reads it at ``turn``, another order."""
    maker = defining_op(value, "linalg.generic")
    if maker is None or turn == _identity(turn) or not turn.is_permutation:
        return None
    alone = len(maker.results) == 1 and has_one_use(value) and _is_made_in_order(maker)
    return maker if alone else None


def _is_element_by_itself(maker: ir.Operation) -> bool:
    """Whether nothing is reduced, and no element starts from what was there."""
    return "reduction" not in kinds_of(maker) and not is_used(list(body_of(maker).arguments)[-1])


def _gathers(maker: ir.Operation) -> bool:
    return any(inner.operation.name.startswith("tensor.") for inner in body_of(maker).operations)


def _is_made_in_order(maker: ir.Operation) -> bool:
    """Whether a result has the parallel loops in order, the reduced ones after them."""
    made_at = maps_of(maker)[-1]
    loops = [ir.AffineDimExpr.get(loop, made_at.context) for loop in range(len(made_at.results))]
    return list(made_at.results) == loops and kinds_of(maker)[: len(loops)].count("reduction") == 0


def _keeps_rows(maker: ir.Operation, turn: ir.AffineMap) -> bool:
    """Whether ``maker`` is a product whose vectors, along the result's last loop, stay as they are."""
    if not is_contraction(maker) or defining_op(inits_of(maker)[0], "linalg.fill") is None:
        return False
    if not can_split(maker):
        return False
    last = ir.AffineDimExpr.get(turn.n_dims - 1, turn.context)
    return turn.results[-1] == last or _has_lanes_along(maker, list(turn.results).index(last))


def _has_lanes_along(maker: ir.Operation, loop: int) -> bool:
    """Whether one factor of a product is contiguous along ``loop``, and the other along what is summed."""
    lasts = [where.results[-1] for where in maps_of(maker)[:2] if where.results]
    summed = [number for number, kind in enumerate(kinds_of(maker)) if kind == "reduction"]
    wanted = [ir.AffineDimExpr.get(each, maker.context) for each in (loop, *summed)]
    return len(summed) == 1 and lasts in (wanted, wanted[::-1])


def should_turn(edges: list[_Edge]) -> bool:
    """Whether the ops at ``edges``, turned, read no more tensors across their rows than before.

    Nor may one of them then read across what it reads in order, within the kernel of what makes it.
    """
    before = after = 0
    inside = {(op, number) for op, number, _ in edges[1:]}
    for op, number, turn in edges:
        before += _is_across(maps_of(op)[number])
        maker = op.operands[number].owner.operation
        for at, (value, where) in enumerate(zip(inputs_of(maker), maps_of(maker), strict=False)):
            if (maker, at) in inside:
                continue
            turned = _after(where, _whole(maker, turn))
            before += _is_across(where)
            after += _is_across(turned)
            source = defining_op(value)
            is_made = source is not None and source.name.startswith(("linalg.", ATTENTION))
            is_made = is_made and not is_contraction(maker)  # whose factors come from memory
            if is_made and turned not in (where, _identity(turned)):
                return False
    return after <= before


def _chain(last: _Edge) -> list[_Edge]:
    """The edge ``last`` and those before it whose makers turn with it, readers first."""
    edges = [last]
    for op, number, turn in edges:  # grows
        maker = op.operands[number].owner.operation
        for at, (value, where) in enumerate(zip(inputs_of(maker), maps_of(maker), strict=False)):
            turned = _after(where, _whole(maker, turn))
            if can_turn(value, turned):
                edges.append((maker, at, turned))
    return edges


def _turn(op: ir.Operation, number: int, turn: ir.AffineMap) -> None:
    """Let operand ``number`` of ``op``, read at ``turn``, be made in the order of the loops of ``op``."""
    maker = op.operands[number].owner.operation
    loops = [expr.position for expr in turn.results]
    kind = maker.results[0].type.element_type
    with maker.location, ir.InsertionPoint(maker):
        sizes = sizes_of(inits_of(maker)[0])
        init = tensor.EmptyOp([sizes[loops.index(loop)] for loop in range(len(loops))], kind).result
        if is_contraction(maker):
            init = linalg.fill(inits_of(maker)[0].owner.operands[0], outs=[init])
        whole = _whole(maker, turn)
        maps = [_after(where, whole) for where in maps_of(maker)[:-1]]
        maker.attributes["indexing_maps"] = indexing_maps([*maps, maps_of(maker)[-1]])
        for inner in body_of(maker).operations:
            if inner.operation.name == "linalg.index":
                loop = loops[inner.operation.attributes["dim"].value]
                inner.operation.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loop)
    maker.operands[len(maps)] = init
    maker.results[0].set_type(init.type)
    with op.location:
        op.attributes["indexing_maps"] = indexing_maps(
            [_identity(turn) if at == number else where for at, where in enumerate(maps_of(op))]
        )


def _whole(maker: ir.Operation, turn: ir.AffineMap) -> ir.AffineMap:
    """``turn`` with the reduced loops of ``maker``, which stay where they are."""
    count = len(kinds_of(maker))
    reduced = [ir.AffineDimExpr.get(loop, turn.context) for loop in range(turn.n_dims, count)]
    return ir.AffineMap.get(count, 0, [*turn.results, *reduced], turn.context)


def _identity(where: ir.AffineMap) -> ir.AffineMap:
    """The map that reads at each loop, in order."""
    return ir.AffineMap.get_identity(where.n_dims, where.context)


def _after(where: ir.AffineMap, turn: ir.AffineMap) -> ir.AffineMap:
    """The places ``where`` of an op's operand when loop n of the op is the loop that ``turn`` has at n."""
    return ir.AffineMap.get(turn.n_dims, 0, [expr.compose(turn) for expr in where.results], where.context)


def _is_across(where: ir.AffineMap) -> bool:
    """Whether a step of the last loop goes to another row of what is read at ``where``."""
    last = where.n_dims - 1
    zeros = [
        ir.AffineExpr.get_constant(0, where.context)
        if loop == last
        else ir.AffineDimExpr.get(loop, where.context)
        for loop in range(where.n_dims)
    ]
    still = ir.AffineMap.get(where.n_dims, 0, zeros, where.context)
    return any(expr.compose(still) != expr for expr in list(where.results)[:-1])
