"""Two loops instead of one: tensors are read with a dim divided, and what makes them element by element, too.

::

    %e = generic {exp} (i) ins(%x : 65536)
    generic {sum} (i reduced) ins(%e)
  ->
    %e2 = generic {exp} (p, w) ins(expand_shape %x : 64x1024)      // %e is collapse_shape %e2
    generic {sum} (p, w reduced) ins(%e2)

Legal where each dim is one loop. The element-wise work goes along so that no reshape comes between it and
the reduction, which would keep them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import index_constant
from ..operations import defining_op
from ..structured import (
    DYNAMIC,
    copy_generic,
    element_type,
    inputs_of,
    kinds_of,
    maps_of,
    replace_op,
    sizes_of,
)
from .loop_parts import ask_with_loops, dim_of_loop, with_loops
from .reshape import grouped

LONGEST_CHAIN = 32  # element-wise ops that go along


def reads_whole_dims(op: ir.Operation) -> bool:
    """Whether each dim of each operand is read along one loop, no two along the same, or at one place."""
    for where in maps_of(op):
        exprs = [expr for expr in where.results if not isinstance(expr, ir.AffineConstantExpr)]
        if not all(isinstance(expr, ir.AffineDimExpr) for expr in exprs):
            return False
        if len({expr.position for expr in exprs}) < len(exprs):
            return False
    return True


def can_divide(op: ir.Operation, loop: int) -> bool:
    """Whether each operand of ``op`` that has the loop has it as a whole dim of static size."""
    mine = ir.AffineDimExpr.get(loop, op.context)
    return reads_whole_dims(op) and not any(
        expr == mine and value.type.is_dynamic_dim(dim)
        for value, where in zip(op.operands, maps_of(op), strict=True)
        for dim, expr in enumerate(where.results)
    )


def divide_loop(
    op: ir.Operation,
    loop: int,
    width: int,
    depth: int = LONGEST_CHAIN,
    stays: Callable[[ir.Value], bool] = lambda _: False,
) -> ir.Operation:
    """``op`` with ``loop`` as two loops, the inner one of ``width`` steps; its results keep their shapes.

    Up to ``depth`` element-wise ops before it go along, but none that makes an operand which ``stays``.
    """
    inputs = len(inputs_of(op))
    places = [dim_of_loop(where, loop) for where in maps_of(op)]
    with op.location, ir.InsertionPoint(op):
        operands = []
        for number, dim in enumerate(places):
            value = op.operands[number]  # read anew: what makes it twice was replaced at its first use
            if dim is not None:
                along = 0 if number >= inputs or stays(value) else depth
                value = _init(value, dim, width) if number >= inputs else _divided(value, dim, width, along)
            operands.append(value)
        maps = [with_loops(where, loop, 1) for where in maps_of(op)]
    kinds = kinds_of(op)
    kinds = [*kinds[: loop + 1], *kinds[loop:]]
    new = copy_generic(op, operands, at=ir.InsertionPoint(op), maps=maps, kinds=kinds)
    ask_with_loops(new, loop, 1, partial(_place, width=width))
    with op.location, ir.InsertionPoint(op):
        results = [
            result
            if dim is None
            else tensor.CollapseShapeOp(old.type, result, _groups(old.type.rank, dim)).result
            for result, old, dim in zip(new.results, op.results, places[inputs:], strict=True)
        ]
    replace_op(op, results)
    return new


def _place(loops: list[ir.Value], width: int) -> ir.Value:
    """The position in the loop that has become ``loops``, the inner one of ``width`` steps."""
    outer, inner = loops
    return arith.addi(arith.muli(outer, index_constant(width)), inner)


def _divided(value: ir.Value, dim: int, width: int, depth: int) -> ir.Value:
    """``value`` with a dim as two."""
    groups, sizes = _groups(value.type.rank, dim), _sizes_divided(value, dim, width)
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
    maker = defining_op(value, "tensor.collapse_shape", "linalg.generic")
    if maker is not None and maker.name == "tensor.collapse_shape":
        source = maker.operands[0]
        if list(source.type.shape) == static and maker.attributes["reassociation"] == groups:
            return source
    elif maker is not None and depth and can_go_along(maker, dim):
        return divide_loop(maker, dim, width, depth - 1).results[0]
    dynamic = [size for size in sizes if isinstance(size, ir.Value)]
    kind = ir.RankedTensorType.get(static, element_type(value))
    return tensor.ExpandShapeOp(kind, value, groups, dynamic, static).result


def works_in_order(op: ir.Operation) -> bool:
    """Whether an op works element by element, in the order of its one result."""
    if len(op.results) != 1 or "reduction" in kinds_of(op):
        return False
    return bool(maps_of(op)[-1] == ir.AffineMap.get_identity(len(kinds_of(op)), op.context))


def can_go_along(maker: ir.Operation, dim: int) -> bool:
    """Whether an op works so, and a dim of its result can be divided."""
    return works_in_order(maker) and can_divide(maker, dim)


def _init(value: ir.Value, dim: int, width: int) -> ir.Value:
    """What the divided op writes onto: an empty tensor, or one filled as ``value`` is."""
    empty = tensor.EmptyOp(_sizes_divided(value, dim, width), element_type(value)).result
    fill = defining_op(value, "linalg.fill")
    return linalg.fill(fill.operands[0], outs=[empty]) if fill is not None else empty


def _sizes_divided(value: ir.Value, dim: int, width: int) -> list[int | ir.Value]:
    sizes = sizes_of(value)
    size = sizes[dim]
    assert isinstance(size, int), "a loop of static extent is divided"
    return [*sizes[:dim], size // width, width, *sizes[dim + 1 :]]


def _groups(rank: int, dim: int) -> ir.ArrayAttr:
    """``rank`` dims, of which one is two."""
    return grouped([[each + (each > dim)] if each != dim else [dim, dim + 1] for each in range(rank)])
