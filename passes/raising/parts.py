"""What the rewrites of partial results share: matching the generics around them, and making new ones."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import linalg

from ..operations import defining_op
from ..structured import body_of, kinds_of, make_empty, make_generic, maps_of
from .reshape import RESHAPES


def body_ops(op: ir.Operation | None, *names: str) -> list[ir.Operation]:
    """The ops of a generic's body if they are called ``names``; else none."""
    if op is None or op.name != "linalg.generic":
        return []
    ops = [inner.operation for inner in body_of(op).operations][:-1]
    return ops if [inner.name for inner in ops] == list(names) else []


def is_elementwise(op: ir.Operation) -> bool:
    """Whether a generic reads all its operands as it writes its results."""
    return "reduction" not in kinds_of(op) and all(where == maps_of(op)[-1] for where in maps_of(op))


def readers_of(value: ir.Value) -> list[ir.Operation]:
    """What reads a tensor, in its shape or with dims joined."""
    readers = []
    for use in value.uses:
        reader = use.owner.operation
        readers += readers_of(reader.results[0]) if reader.name == "tensor.collapse_shape" else [reader]
    return readers


def is_same(one: ir.Value, other: ir.Value) -> bool:
    """Whether two values are one, or one tensor in the same shape."""
    if one == other:
        return True
    first, second = (defining_op(value, *RESHAPES) for value in (one, other))
    if first is None or second is None or first.name != second.name or one.type != other.type:
        return False
    same_dims = first.attributes["reassociation"] == second.attributes["reassociation"]
    return bool(same_dims and is_same(first.operands[0], second.operands[0]))


def elementwise(
    like: ir.Value,
    inputs: list[ir.Value],
    maps: list[ir.AffineMap],
    at: ir.InsertionPoint,
    compute: Callable[..., ir.Value],
) -> ir.Value:
    """A new generic in the shape of ``like``."""
    location = like.location
    identity = ir.AffineMap.get_identity(like.type.rank, like.context)
    init = make_empty(like, location=location, at=at)
    kinds = ["parallel"] * like.type.rank
    op = make_generic(inputs, [init], [*maps, identity], kinds, None, location=location, at=at)
    block = body_of(op)
    with ir.InsertionPoint(block), location:
        linalg.YieldOp([compute(*list(block.arguments)[: len(inputs)])])
    return op.results[0]
