"""Which columns of a product its readers take, of all rows, and what element-wise work stands between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ..raising.reshape import joined_dims
from ..structured import DYNAMIC, is_pointwise, loop_extents, maps_of


@dataclass(frozen=True)
class Take:
    """``reader`` reads ``count`` columns of ``value`` from ``start`` on; by ``view``, or as it is.

    ``inside`` are those of the last ``columns`` dims of what it reads that it runs through.
    """

    reader: ir.Operation
    operand: int
    value: ir.Value
    view: ir.Operation | None
    start: int
    count: int
    columns: int
    inside: tuple[int, ...]


def work_after(product: ir.Operation) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """A product with the element-wise ops behind it that go through it in its order; what else reads it.

    Up to the first reader that reduces, say: it keeps the product whole.
    """
    work, others = [product], []
    for op in work:  # grows
        for use in op.results[0].uses:
            reader = use.owner.operation
            is_through = is_pointwise(reader) and maps_of(reader)[use.operand_number] == maps_of(reader)[-1]
            if is_through:
                work += [reader] if reader not in work else []
                continue
            others.append(reader)
            if not is_pointwise(reader) and reader.name not in ("tensor.expand_shape", "func.return"):
                return work, others
    return work, others


def takes_of(
    work: Sequence[ir.Operation], readers: Sequence[ir.Operation]
) -> tuple[list[Take], ir.Operation | None]:
    """How ``readers`` take columns of what a product and the ops after it make; one that does not."""
    made = {op.results[0] for op in work}
    takes: list[Take] = []
    other = None
    for reader in dict.fromkeys(readers):
        is_view = reader.name == "tensor.expand_shape"
        users = [use.owner.operation for use in reader.results[0].uses] if is_view else [reader]
        for user in dict.fromkeys(users):
            read = {reader.results[0]} if is_view else made
            found = [
                _take(user, at, reader if is_view else None)
                for at, each in enumerate(user.operands)
                if each in read
            ]
            takes += [take for take in found if take is not None]
            other = user if None in found else other
    return takes, other


def _take(reader: ir.Operation, number: int, view: ir.Operation | None) -> Take | None:
    """Which columns of all rows ``reader`` reads, if it is element-wise and they lie side by side."""
    if not is_pointwise(reader):
        return None
    value = reader.operands[number]
    exprs, extents = list(maps_of(reader)[number].results), loop_extents(reader)
    groups = [[dim] for dim in range(value.type.rank)]
    if view is not None:
        groups = joined_dims(view)
    if not groups:  # a dot product, seen with dims of 1
        return None
    *rows, columns = groups
    if not all(isinstance(exprs[dim], ir.AffineDimExpr) for group in rows for dim in group):
        return None
    start, count, inside, is_whole = 0, 1, [], True
    for dim in reversed(columns):
        size, place = value.type.shape[dim], _place(exprs[dim], extents)
        if size == DYNAMIC or place is None or sum(place) > size or (not is_whole and place[1] != 1):
            return None
        start += place[0] * prod(value.type.shape[each] for each in columns if each > dim)
        count *= place[1]
        is_whole = is_whole and place[1] == size
        inside += [] if isinstance(exprs[dim], ir.AffineConstantExpr) else [dim]
    loops = [loop_of(exprs[dim]) for dim in (*(dim for group in rows for dim in group), *inside)]
    if not inside or any(loop in loops[:at] for at, loop in enumerate(loops)):
        return None
    base = value if view is None else view.operands[0]
    return Take(reader, number, base, view, start, count, len(columns), tuple(reversed(inside)))


def _place(expr: ir.AffineExpr, extents: Sequence[int | None]) -> tuple[int, int] | None:
    """Where in a dim a reader starts, and how much it reads; None if that is not known."""
    start, loop = 0, expr
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value, 1
    if isinstance(expr, ir.AffineAddExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        start, loop = expr.rhs.value, expr.lhs
    elif isinstance(expr, ir.AffineModExpr):
        loop = expr.lhs
    extent = extents[loop.position] if isinstance(loop, ir.AffineDimExpr) else None
    return None if extent is None else (start, extent)


def loop_of(expr: ir.AffineExpr) -> ir.AffineExpr:
    """The loop that runs through a part of a dim."""
    return expr if isinstance(expr, ir.AffineDimExpr) else expr.lhs
