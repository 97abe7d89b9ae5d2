"""What the rewrites of partial results share: matching the generics around them, and making new ones."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import linalg

from ..operations import defining_op
from ..structured import CASTS, body_of, inputs_of, kinds_of, make_empty, make_generic, maps_of
from .reshape import RESHAPES


def body_ops(op: ir.Operation | None, *names: str) -> list[ir.Operation]:
    """The ops of a generic's body if they are called ``names``; else none."""
    if op is None or op.name != "linalg.generic":
        return []
    ops = [inner.operation for inner in body_of(op).operations][:-1]
    return ops if [inner.name for inner in ops] == list(names) else []


def reads_as_it_writes(op: ir.Operation) -> bool:
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
    """Whether two values are one, or one tensor in the same shape, or the same part of it."""
    if one == other:
        return True
    first, second = (defining_op(value, *RESHAPES, "linalg.generic") for value in (one, other))
    if first is None or second is None or first.name != second.name or one.type != other.type:
        return False
    if first.name == "linalg.generic":
        return _is_same_part(first, second)
    same_dims = first.attributes["reassociation"] == second.attributes["reassociation"]
    return bool(same_dims and is_same(first.operands[0], second.operands[0]))


def _is_same_part(first: ir.Operation, second: ir.Operation) -> bool:
    """Whether two generics read one tensor at the same places, and do no more than to cast what they read."""
    casts = _casts_in(first)
    if casts is None or casts != _casts_in(second) or maps_of(first) != maps_of(second):
        return False
    return is_same(first.operands[0], second.operands[0])


def _casts_in(op: ir.Operation) -> list[tuple[str, ir.Type]] | None:
    """The casts of what ``op`` reads, which it yields then; None if it does something else."""
    *casts, end = (inner.operation for inner in body_of(op).operations)
    value = body_of(op).arguments[0]
    for cast in casts:
        if cast.name not in CASTS or cast.operands[0] != value:
            return None
        value = cast.results[0]
    is_all = len(inputs_of(op)) == 1 and list(end.operands) == [value]
    return [(cast.name, cast.results[0].type) for cast in casts] if is_all else None


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
