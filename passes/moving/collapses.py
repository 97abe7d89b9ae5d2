"""Element-wise ops run on a grouped convolution's result as it is, and collapse what they make.

::

    %y = tensor.collapse_shape %c : tensor<2x4x8x5x5xf32> into tensor<2x32x5x5xf32>
    %r = generic (n, c, i, j) ins(%y at (n, c, i, j), %bias at (c))
  ->
    %b = tensor.expand_shape %bias : tensor<32xf32> into tensor<4x8xf32>
    %r1 = generic (n, g, c, i, j) ins(%c at (n, g, c, i, j), %b at (g, c))
    %r = tensor.collapse_shape %r1

Legal where each tensor that has the collapsed dim's loop has it as a dim of its own, the sizes are known, and
the body does not ask for its number. The view between two kernels would keep them apart; it moves to the end.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import tensor

from ..raising.bodies import is_contraction
from ..raising.reshape import grouped
from ..structured import (
    DYNAMIC,
    body_of,
    defining_op,
    has_one_use,
    inputs_of,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
)

Parts = dict[int, list[int]]  # the static sizes that a loop splits into


def sink_collapses(func: ir.Operation) -> None:
    """Move collapse_shapes of contractions behind the element-wise ops of ``func`` that read them."""
    for op in structured_ops(func):
        if "reduction" in kinds_of(op):
            continue
        for value, where in zip(inputs_of(op), maps_of(op), strict=False):
            parts = _loop_parts(value, where)
            if parts is not None and can_split(op):
                _split(op, parts)
                break


def _loop_parts(value: ir.Value, where: ir.AffineMap) -> Parts | None:
    """What the loops become that read the dims of a collapsed contraction; None if ``value`` is none."""
    collapse = defining_op(value, "tensor.collapse_shape")
    maker = None if collapse is None else _first_maker(collapse.operands[0])
    if collapse is None or maker is None or not has_one_use(value) or not is_contraction(maker):
        return None
    source = collapse.operands[0]
    parts: Parts = {}
    for expr, group in zip(where.results, collapse.attributes["reassociation"], strict=True):
        sizes = [source.type.shape[each.value] for each in group]
        if len(sizes) == 1:
            continue
        if DYNAMIC in sizes or not isinstance(expr, ir.AffineDimExpr) or expr.position in parts:
            return None
        parts[expr.position] = sizes
    return parts


def _first_maker(value: ir.Value) -> ir.Operation | None:
    """The op at the beginning of a chain of element-wise ones, each on what the one before it makes."""
    maker = defining_op(value, "linalg.generic")
    while maker is not None and "reduction" not in kinds_of(maker):
        before = [defining_op(operand, "linalg.generic") for operand in inputs_of(maker)]
        maker = next((each for each in before if each is not None), None)
    return maker


def can_split(op: ir.Operation) -> bool:
    """Whether each dim of what ``op`` reads and writes is one loop, of which it needs no number."""
    for inner in body_of(op).operations:
        if inner.operation.name == "linalg.index":
            return False
    return all(isinstance(expr, ir.AffineDimExpr) for where in maps_of(op) for expr in where.results)


def _split(op: ir.Operation, parts: Parts) -> None:
    first = _places(len(kinds_of(op)), parts)
    with op.location, ir.InsertionPoint(op):
        operands, maps = [], []
        for value, where in zip(op.operands, maps_of(op), strict=True):
            operands.append(_expanded(value, where, parts))
            loops = [at for expr in where.results for at in first[expr.position]]
            exprs = [ir.AffineExpr.get_dim(at) for at in loops]
            maps.append(ir.AffineMap.get(sum(map(len, first)), 0, exprs))
        inputs = len(inputs_of(op))
        new = make_generic(
            operands[:inputs],
            operands[inputs:],
            maps,
            [kind for kind, places in zip(kinds_of(op), first, strict=True) for _ in places],
            label_of(op),
            location=op.location,
            at=ir.InsertionPoint(op),
            body=body_of(op),
        )
        results = [
            tensor.CollapseShapeOp(old.type, result, _groups(where, parts)).result
            if any(expr.position in parts for expr in where.results)
            else result
            for result, old, where in zip(new.results, op.results, maps_of(op)[inputs:], strict=True)
        ]
    replace_op(op, results)


def _places(count: int, parts: Parts) -> list[list[int]]:
    """The numbers of the loops that each loop becomes."""
    places: list[list[int]] = []
    total = 0
    for loop in range(count):
        more = len(parts.get(loop, [1]))
        places.append(list(range(total, total + more)))
        total += more
    return places


def _groups(where: ir.AffineMap, parts: Parts) -> ir.ArrayAttr:
    """How the dims of the new operand group to those of the old one."""
    groups: list[list[int]] = []
    total = 0
    for expr in where.results:
        more = len(parts.get(expr.position, [1]))
        groups.append(list(range(total, total + more)))
        total += more
    return grouped(groups)


def _expanded(value: ir.Value, where: ir.AffineMap, parts: Parts) -> ir.Value:
    """``value`` with the dims split whose loops are; what it was collapsed from, if that is it."""
    if not any(expr.position in parts for expr in where.results):
        return value
    attribute = _groups(where, parts)
    shape: list[int | ir.Value] = []
    for expr, size in zip(where.results, sizes_of(value), strict=True):
        shape += parts.get(expr.position, [size])
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in shape]
    dynamic = [size for size in shape if isinstance(size, ir.Value)]
    kind = ir.RankedTensorType.get(static, value.type.element_type)
    collapse = defining_op(value, "tensor.collapse_shape")
    if collapse is not None and collapse.attributes["reassociation"] == attribute:
        source = collapse.operands[0]
        if source.type == kind:  # not in other sizes of the same product
            return source
    if defining_op(value, "tensor.empty") is not None:
        return tensor.EmptyOp(shape, kind.element_type).result
    return tensor.ExpandShapeOp(kind, value, attribute, dynamic, static).result
