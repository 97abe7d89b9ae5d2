"""An op with some of its loops split in parts: what it reads is expanded, and so is what it makes."""

from __future__ import annotations

from collections.abc import Collection

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import index_constant
from ..operations import defining_op
from ..raising.reshape import grouped
from ..structured import (
    DYNAMIC,
    body_of,
    inputs_of,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
)

Parts = dict[int, list[int]]  # the static sizes that a loop splits into


def parts_of(reshape: ir.Operation, where: ir.AffineMap) -> Parts | None:
    """What the loops become that run through the joined side of ``reshape`` at ``where``.

    ``reshape`` is a tensor.collapse_shape or a tensor.expand_shape; None if it has parts of unknown sizes, or
    a joined dim that is not one loop.
    """
    is_collapse = reshape.name == "tensor.collapse_shape"
    apart = reshape.operands[0] if is_collapse else reshape.results[0]
    parts: Parts = {}
    for expr, group in zip(where.results, reshape.attributes["reassociation"], strict=True):
        sizes = [apart.type.shape[each.value] for each in group]
        if len(sizes) == 1:
            continue
        if DYNAMIC in sizes or not isinstance(expr, ir.AffineDimExpr) or expr.position in parts:
            return None
        parts[expr.position] = sizes
    return parts


def can_split(op: ir.Operation, loops: Collection[int] | None = None) -> bool:
    """Whether each dim of what ``op`` reads and writes is one loop, of which it needs no number.

    Where it is known which ``loops`` would split, it may compute with their numbers, and read rows along
    others.
    """
    for inner in body_of(op).operations:
        if inner.operation.name == "linalg.index" and (
            loops is None
            or (inner.operation.attributes["dim"].value in loops and _is_of_row(inner.operation))
        ):
            return False
    return all(isinstance(expr, ir.AffineDimExpr) for where in maps_of(op) for expr in where.results)


def split(op: ir.Operation, parts: Parts) -> list[ir.Value]:
    """The results of a new op before ``op`` with loops split into ``parts``; it takes over the body."""
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
    _renumber(new, first, parts)
    return list(new.results)


def groups_of(where: ir.AffineMap, parts: Parts) -> ir.ArrayAttr:
    """How the dims of a tensor, read at ``where`` by loops that split, group to those before."""
    groups: list[list[int]] = []
    total = 0
    for expr in where.results:
        more = len(parts.get(expr.position, [1]))
        groups.append(list(range(total, total + more)))
        total += more
    return grouped(groups)


def _places(count: int, parts: Parts) -> list[list[int]]:
    """The numbers of the loops that each loop becomes."""
    places: list[list[int]] = []
    total = 0
    for loop in range(count):
        more = len(parts.get(loop, [1]))
        places.append(list(range(total, total + more)))
        total += more
    return places


def _is_of_row(index: ir.Operation) -> bool:
    """Whether rows of a tensor are read along a loop, of which this is the number."""
    readers = (use.owner for use in index.results[0].uses)
    return any(
        reader.name == "tensor.extract" and reader.operands[-1] == index.results[0] for reader in readers
    )


def _renumber(op: ir.Operation, first: list[list[int]], parts: Parts) -> None:
    """Let the body of ``op`` compute the numbers of loops from those of their parts."""
    for inner in [each.operation for each in body_of(op).operations]:
        if inner.name != "linalg.index":
            continue
        loop = inner.attributes["dim"].value
        with inner.location, ir.InsertionPoint(inner):
            number = linalg.IndexOp(first[loop][0]).result
            for place, size in zip(first[loop][1:], parts.get(loop, [])[1:], strict=True):
                number = arith.addi(arith.muli(number, index_constant(size)), linalg.IndexOp(place).result)
        replace_op(inner, [number])


def _expanded(value: ir.Value, where: ir.AffineMap, parts: Parts) -> ir.Value:
    """``value`` with the dims split whose loops are; what it was collapsed from, if that is it."""
    if not any(expr.position in parts for expr in where.results):
        return value
    attribute = groups_of(where, parts)
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
    fill = defining_op(value, "linalg.fill")
    if fill is not None:
        return linalg.fill(fill.operands[0], outs=[tensor.EmptyOp(shape, kind.element_type).result])
    if defining_op(value, "tensor.empty") is not None:
        return tensor.EmptyOp(shape, kind.element_type).result
    return tensor.ExpandShapeOp(kind, value, attribute, dynamic, static).result
