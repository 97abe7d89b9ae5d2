"""Ops run on what was made apart as it is, and collapse what they make.

::

    %y = tensor.collapse_shape %c : tensor<2x4x8x5x5xf32> into tensor<2x32x5x5xf32>
    %r = generic (n, c, i, j) ins(%y at (n, c, i, j), %bias at (c))
  ->
    %b = tensor.expand_shape %bias : tensor<32xf32> into tensor<4x8xf32>
    %r1 = generic (n, g, c, i, j) ins(%c at (n, g, c, i, j), %b at (g, c))
    %r = tensor.collapse_shape %r1

Legal where each tensor that has the collapsed dim's loop has it as a dim of its own, the sizes are known, and
the body does not ask for its number. The view between two kernels would keep them apart; it moves to the end.
Done for what grouped convolutions make, if one op reads it or all that do are element-wise (the sigmoid and
product of silu), and for what was moved or computed where all its readers can follow and none of them reads
another op's result that would have to be expanded instead.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import tensor

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..structured import (
    ATTENTION,
    has_one_use,
    inputs_of,
    is_pointwise,
    kinds_of,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from .expansions import can_lift
from .splits import Parts, can_split, groups_of, parts_of, split

_MAKERS = ("linalg.generic", ATTENTION)


def sink_collapses(func: ir.Operation) -> None:
    """Move collapse_shapes of what ops of ``func`` make behind the ops that read them, the first op first."""
    for op in structured_ops(func):
        for number, where in enumerate(maps_of(op)[: len(inputs_of(op))]):
            collapse = defining_op(op.operands[number], "tensor.collapse_shape")
            parts = None if collapse is None else parts_of(collapse, where)
            if collapse is not None and parts is not None and should_split(op, collapse, parts) is None:
                sink(op, parts)
                break


def should_split(op: ir.Operation, collapse: ir.Operation, parts: Parts) -> str | None:
    """Why ``op``, with loops split into ``parts``, would not be in a kernel with what was collapsed."""
    value = collapse.results[0]
    if is_contraction(op):
        return f"{word_for(op)}, a product, has one loop for the joined dims"
    if not can_split(op):
        return f"{word_for(op)} asks where it is, or reads at computed places"
    if defining_op(collapse.operands[0], *_MAKERS) is None:
        return "the joined dims are not what a kernel makes"
    maker = _first_maker(collapse.operands[0])
    if maker is not None and is_contraction(maker):
        if "reduction" in kinds_of(op):
            return f"{word_for(op)} reduces what a product makes"
        if has_one_use(value):
            return None
        others = [use.owner.operation for use in value.uses]
        other = next((each for each in others if each.name != "func.return" and not is_pointwise(each)), None)
        if other is not None:
            return f"{word_for(other)} reads the joined dims of {word_for(maker)}, too"
    return takes_parts(op, value, parts)


def takes_parts(op: ir.Operation, value: ir.Value, parts: Parts) -> str | None:
    """Why a reader of ``value`` may not split, or ``op`` would leave a kernel by splitting into ``parts``."""
    readers = (use.owner.operation for use in value.uses)
    whole = next((reader for reader in readers if not _takes_parts(reader)), None)
    if whole is not None:
        return f"{word_for(whole)} reads them joined"
    for other, where in zip(inputs_of(op), maps_of(op), strict=False):
        dims = [dim for dim, expr in enumerate(where.results) if expr.position in parts]
        maker = None if other == value else defining_op(other, *_MAKERS)
        if dims and maker is not None and not can_lift(other, dims):
            return f"{word_for(op)} also reads {word_for(maker)}, which cannot be made in these parts"
    return None


def why_not_split(op: ir.Operation, collapse: ir.Operation, where: ir.AffineMap) -> str | None:
    """Why ``op``, which reads at ``where`` what was collapsed, does not run through what it was before."""
    parts = parts_of(collapse, where)
    if parts is None:
        return f"{word_for(op)} has no loop for a joined dim, or its parts have unknown sizes"
    return should_split(op, collapse, parts)


def _can_follow(op: ir.Operation) -> bool:
    """Whether the loops of ``op`` may split; a product's tiles run along three."""
    return not is_contraction(op) and can_split(op)


def _takes_parts(reader: ir.Operation) -> bool:
    """Whether it is all one to ``reader`` that the parts of what it reads are computed as such."""
    return reader.name == "func.return" or (reader.name == "linalg.generic" and _can_follow(reader))


def sink(op: ir.Operation, parts: Parts) -> list[ir.Value]:
    """Put ``op`` with loops split into ``parts`` in its place; returns what it makes, collapsed."""
    maps = maps_of(op)[len(inputs_of(op)) :]
    kinds = [result.type for result in op.results]
    with ir.InsertionPoint(op), op.location:
        results = [
            tensor.CollapseShapeOp(kind, result, groups_of(where, parts)).result
            if any(expr.position in parts for expr in where.results)
            else result
            for result, kind, where in zip(split(op, parts), kinds, maps, strict=True)
        ]
    replace_op(op, results)
    for result in results:
        _read_parts(result)
    return results


def _read_parts(value: ir.Value) -> None:
    """Let those that put the parts of ``value`` back, a collapse, read these as they are."""
    collapse = defining_op(value, "tensor.collapse_shape")
    if collapse is None:
        return
    whole, groups = collapse.operands[0], collapse.attributes["reassociation"]
    for reader in [use.owner.operation for use in value.uses]:
        is_back = reader.name == "tensor.expand_shape" and reader.attributes["reassociation"] == groups
        if is_back and reader.results[0].type == whole.type:
            replace_op(reader, [whole])


def _first_maker(value: ir.Value) -> ir.Operation | None:
    """The op at the beginning of a chain of element-wise ones, each on what the one before it makes."""
    maker = defining_op(value, "linalg.generic")
    while maker is not None and "reduction" not in kinds_of(maker):
        before = [defining_op(operand, "linalg.generic") for operand in inputs_of(maker)]
        maker = next((each for each in before if each is not None), None)
    return maker
