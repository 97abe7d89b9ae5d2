"""Images with their pads and views, and what is tied to them: all have their channels last, or none has."""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from ..groups import is_init
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import joined_dims
from ..structured import (
    DYNAMIC,
    inits_of,
    inputs_of,
    maps_of,
)
from ..tiling.pads import fill_of_pad

RANK = 3  # of an image at least: two dims and the channels

Images = dict[ir.Value, int]  # the dim of each that goes last


def root_of(value: ir.Value, dim: int) -> tuple[ir.Value, int] | None:
    """What a tensor is a pad or view of, and where its ``dim`` is there; None if the view divides it.

    None, too, if that has too few dims for an image, as a sequence has whose steps of two a view divides.
    """
    view = defining_op(value, "tensor.insert_slice", "tensor.expand_shape")
    if view is None or (view.name == "tensor.insert_slice" and fill_of_pad(view) is None):
        return (value, dim) if value.type.rank >= RANK else None
    if view.name == "tensor.insert_slice":
        return root_of(view.operands[0], dim)
    source = joined_dims(view)
    return root_of(view.operands[0], source.index([dim])) if [dim] in source else None


def parts_of(root: ir.Value, dim: int) -> list[tuple[ir.Value, int]] | None:
    """A tensor and its pads and views, each with its ``dim``; None if not all of them can be turned."""
    maker = defining_op(root, "linalg.generic")
    if maker is None or _is_onto(maker):
        return None
    found = [(root, dim)]
    for value, place in found:  # grows
        if DYNAMIC in value.type.shape:
            return None
        for use in value.uses:
            reader = use.owner.operation
            if reader.name == "linalg.generic" and not is_init(reader, use.operand_number):
                continue
            if reader.name == "tensor.insert_slice" and use.operand_number == 0 and fill_of_pad(reader):
                found.append((reader.results[0], place))
                continue
            group = joined_dims(reader)[place] if reader.name == "tensor.expand_shape" else []
            if len(group) != 1:
                return None
            found.append((reader.results[0], group[0]))
    return found


def _is_onto(maker: ir.Operation) -> bool:
    """Whether an op starts from something else than a fill, or nothing."""
    return any(defining_op(init, "tensor.empty", "linalg.fill") is None for init in inits_of(maker))


def add_image(images: Images, value: ir.Value, dim: int) -> None:
    """Put an image among those to turn, and what is tied to it."""
    waiting = [(value, dim)]
    while waiting:
        root = root_of(*waiting.pop())
        if root is None or root[0] in images:
            continue
        parts = parts_of(*root) or []
        images.update(parts)
        for each, place in parts:
            waiting += _tied(each, place)


def _tied(value: ir.Value, dim: int) -> Iterator[tuple[ir.Value, int]]:
    """What the ops that make or read an image have beside it, but for products, and where its ``dim`` is."""
    ops = [use.owner.operation for use in value.uses]
    maker = defining_op(value)
    for op in [*ops, *([maker] if maker is not None else [])]:
        if op.name != "linalg.generic" or is_contraction(op):
            continue
        inputs, maps = inputs_of(op), maps_of(op)
        tensors = [*zip(inputs, maps, strict=False), *zip(op.results, maps[len(inputs) :], strict=True)]
        loops = {loops_along(where)[dim] for each, where in tensors if each == value}
        for each, where in tensors:
            for loop in loops - {None}:
                if loop in loops_along(where) and len(where.results) >= RANK:
                    yield each, loops_along(where).index(loop)


def loops_along(where: ir.AffineMap) -> list[int | None]:
    """The loop of each dim, None where it is not one alone."""
    return [expr.position if isinstance(expr, ir.AffineDimExpr) else None for expr in where.results]
