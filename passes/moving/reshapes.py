"""Element-wise ops and row reductions run on a matmul's rows as they are, and reshape what they make.

::

    %e = tensor.expand_shape %m : tensor<6x32xf32> into tensor<2x3x32xf32>
    %r = generic (i, j, k) ins(%e at (i, j, k), %bias at (k))
  ->
    %r1 = generic (i, k) ins(%m at (i, k), %bias at (k))
    %r = tensor.expand_shape %r1

Legal where each tensor has all of the loops that become one, one after the other, or none of them, and the
body does not ask for their numbers. The view between two kernels would keep them apart; it moves to the end.
Element-wise work on inputs that such an op alone reads goes along: a residual that is cast, say.
"""

from __future__ import annotations

import math

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import index_constant
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import grouped
from ..structured import (
    DYNAMIC,
    body_of,
    inputs_of,
    is_pointwise,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
    word_for,
)
from .expansions import rests_on_rows

Groups = list[list[int]]  # of loops, in order; most have one loop


def sink_expansions(func: ir.Operation) -> None:
    """Move expand_shapes behind the generics of ``func`` that read them, the first op first."""
    for op in structured_ops(func):
        if is_contraction(op):
            continue
        for value, where in zip(inputs_of(op), maps_of(op), strict=False):
            groups = _loop_groups(value, where)
            if groups is not None and can_join(op, groups) is None:
                _join(op, groups)
                break


def _loop_groups(value: ir.Value, where: ir.AffineMap) -> Groups | None:
    """The loops that read the dims which an expand_shape has split, or None."""
    expand = defining_op(value, "tensor.expand_shape")
    if expand is None or defining_op(expand.operands[0], "linalg.generic") is None:
        return None  # nothing is won unless what makes it can be in the same kernel
    joined: Groups = []
    for group in expand.attributes["reassociation"]:
        exprs = [where.results[each.value] for each in group]
        if len(exprs) > 1:
            if not all(isinstance(expr, ir.AffineDimExpr) for expr in exprs):
                return None
            joined.append([expr.position for expr in exprs])
    inside = {loop for loops in joined for loop in loops}
    return sorted(joined + [[loop] for loop in range(where.n_dims) if loop not in inside])


def can_join(op: ir.Operation, groups: Groups) -> str | None:
    """Why the loops of each group cannot be one."""
    kinds = kinds_of(op)
    for loops in groups:
        if len(loops) > 1 and loops != list(range(loops[0], loops[0] + len(loops))):
            return f"{word_for(op)} goes through the parts in another order"
        if len({kinds[loop] for loop in loops}) > 1:
            return f"{word_for(op)} reduces some of the parts only"
    many = {loop for loops in groups if len(loops) > 1 for loop in loops}
    for inner in body_of(op).operations:
        if inner.operation.name == "linalg.index" and inner.operation.attributes["dim"].value in many:
            return f"{word_for(op)} asks at which part it is"
    if any(_dims_joined(where, groups) is None for where in maps_of(op)):
        return f"{word_for(op)} has another tensor with some of the parts only"
    return None


def why_not_joined(op: ir.Operation, value: ir.Value, where: ir.AffineMap) -> str | None:
    """Why ``op`` does not run through ``value``, an expanded tensor that it reads at ``where``, as it was."""
    if is_contraction(op):
        return f"{word_for(op)} is a product, which goes through the parts"
    groups = _loop_groups(value, where)
    if groups is None:
        return f"{word_for(op)} does not go through all of the parts, each in a loop of its own"
    return can_join(op, groups)


def _dims_joined(where: ir.AffineMap, groups: Groups) -> Groups | None:
    """How the dims of an operand join with the loops; None if some of a group are missing or apart."""
    of_loop = {loop: loops for loops in groups for loop in loops}
    dims: Groups = []
    position = 0
    while position < len(where.results):
        expr = where.results[position]
        loops = of_loop[expr.position] if isinstance(expr, ir.AffineDimExpr) else []
        if len(loops) <= 1:
            if not isinstance(expr, ir.AffineDimExpr) and _uses_any(expr, groups, where.n_dims):
                return None
            dims.append([position])
            position += 1
            continue
        exprs = list(where.results)[position : position + len(loops)]
        if [each.position if isinstance(each, ir.AffineDimExpr) else None for each in exprs] != loops:
            return None
        dims.append(list(range(position, position + len(loops))))
        position += len(loops)
    return dims


def _uses_any(expr: ir.AffineExpr, groups: Groups, count: int) -> bool:
    """Whether an expression contains a loop that would be joined with others."""
    many = {loop for loops in groups if len(loops) > 1 for loop in loops}
    zeros = [
        ir.AffineExpr.get_constant(0, expr.context)
        if loop in many
        else ir.AffineDimExpr.get(loop, expr.context)
        for loop in range(count)
    ]
    return bool(expr.compose(ir.AffineMap.get(count, 0, zeros, expr.context)) != expr)


def _join(op: ir.Operation, groups: Groups) -> None:
    with op.location, ir.InsertionPoint(op):
        renumbered = _renumbering(groups, len(kinds_of(op)))
        operands, maps = [], []
        for number, where in enumerate(maps_of(op)):
            dims = _dims_joined(where, groups)
            assert dims is not None
            maker = _work_for(op, op.operands[number], dims)
            if maker is not None:
                _join(maker, dims)
            operands.append(_collapsed(op.operands[number], dims))
            exprs = [where.results[each[0]].compose(renumbered) for each in dims]
            maps.append(ir.AffineMap.get(len(groups), 0, exprs))
        for inner in body_of(op).operations:
            if inner.operation.name == "linalg.index":
                loop = inner.operation.attributes["dim"].value
                number = next(place for place, loops in enumerate(groups) if loops[0] == loop)
                inner.operation.attributes["dim"] = ir.IntegerAttr.get(
                    ir.IntegerType.get_signless(64), number
                )
        kinds = [kinds_of(op)[loops[0]] for loops in groups]
        inputs = len(inputs_of(op))
        new = make_generic(
            operands[:inputs],
            operands[inputs:],
            maps,
            kinds,
            label_of(op),
            location=op.location,
            at=ir.InsertionPoint(op),
            body=body_of(op),
        )
        results = [
            _expanded(result, old, _dims_joined(where, groups) or [])
            for result, old, where in zip(new.results, op.results, maps_of(op)[inputs:], strict=True)
        ]
    replace_op(op, results)


def _work_for(op: ir.Operation, value: ir.Value, dims: Groups) -> ir.Operation | None:
    """The element-wise work on inputs that makes ``value`` for ``op`` alone, if it can join ``dims``, too."""
    maker = defining_op(value, "linalg.generic")
    if maker is None or not is_pointwise(maker) or all(len(group) == 1 for group in dims):
        return None
    if any(use.owner.operation != op for use in value.uses) or rests_on_rows(value):
        return None
    identity = ir.AffineMap.get_identity(len(kinds_of(maker)), maker.context)
    return maker if maps_of(maker)[-1] == identity and can_join(maker, dims) is None else None


def _renumbering(groups: Groups, count: int) -> ir.AffineMap:
    """A map from the old loops to the new ones; only the first of each group matters."""
    places = {loops[0]: number for number, loops in enumerate(groups)}
    exprs = [
        ir.AffineDimExpr.get(places[loop]) if loop in places else ir.AffineExpr.get_constant(0)
        for loop in range(count)
    ]
    return ir.AffineMap.get(len(groups), 0, exprs)


def _collapsed(value: ir.Value, dims: Groups) -> ir.Value:
    """``value`` with its dims joined as ``dims`` says."""
    if all(len(group) == 1 for group in dims):
        return value
    attribute = grouped(dims)
    expand = defining_op(value, "tensor.expand_shape")
    if expand is not None and expand.attributes["reassociation"] == attribute:
        return expand.operands[0]
    fill = defining_op(value, "linalg.fill")
    if fill is not None:
        return linalg.fill(fill.operands[0], outs=[_collapsed(fill.operands[1], dims)])
    sizes = sizes_of(value)
    products = [multiplied([sizes[dim] for dim in group]) for group in dims]
    if defining_op(value, "tensor.empty") is not None:
        return tensor.EmptyOp(products, value.type.element_type).result
    shape = [DYNAMIC if isinstance(size, ir.Value) else size for size in products]
    kind = ir.RankedTensorType.get(shape, value.type.element_type)
    return tensor.CollapseShapeOp(kind, value, attribute).result


def _expanded(value: ir.Value, old: ir.Value, dims: Groups) -> ir.Value:
    """``value`` in the shape of ``old``."""
    if value.type == old.type and all(len(group) == 1 for group in dims):
        return value
    sizes = sizes_of(old)
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
    dynamic = [size for size in sizes if isinstance(size, ir.Value)]
    return tensor.ExpandShapeOp(old.type, value, grouped(dims), dynamic, static).result


def multiplied(sizes: list[int | ir.Value]) -> int | ir.Value:
    """The product of sizes, computed here if they are numbers."""
    static = math.prod(size for size in sizes if isinstance(size, int))
    dynamic = [size for size in sizes if isinstance(size, ir.Value)]
    if not dynamic or static == 0:
        return static
    product = dynamic[0]
    for size in dynamic[1:]:
        product = arith.muli(product, size)
    return product if static == 1 else arith.muli(product, index_constant(static))
