"""Whether the positions of a kernel fit into 32 bits."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ...constants import integer_of
from ...operations import defining_op, nested_ops, ops_named
from ..layouts.access import access_of
from ..layouts.overlaps import buffer_of
from ..layouts.tiles import sizes_of
from .grid import Loops
from .intervals import Known, combine
from .positions import CASTS, Positions

DYNAMIC = ir.ShapedType.get_dynamic_size()
MOST = 1 << 31
_ULT = 6  # arith.cmpi's predicate
_ACCESSES = ("vector.transfer_read", "vector.transfer_write")


def index_type(function: ir.Operation) -> ir.Type:
    """i32 if all positions that the kernel computes fit, and none is an i64 from memory unchecked; else i64.

    Positions in loops, tasks and tiles count where no buffer has them, too: what is expanded has no memory.
    So do those behind a buffer's end, where a ragged tile may lie: they are computed before they are found
    to be there.
    """
    block = function.regions[0].blocks[0]
    word, long = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    beyond = _reach(block)
    for argument in block.arguments:
        if isinstance(argument.type, ir.IndexType):
            return long
        if isinstance(argument.type, ir.MemRefType):
            shape = list(ir.MemRefType(argument.type).shape)
            if DYNAMIC in shape or prod(shape) + beyond.get(argument, 0) >= MOST:
                return long
    positions = Positions(block)
    if not all(map(_fits, (*positions.made, *_tasks(block), *_ends_of_tiles(block, positions)))):
        return long
    casts = [op for op in nested_ops(block) if op.name in CASTS and _is_long(op.operands[0].type)]
    return word if all(map(_is_checked, casts)) else long


def _fits(known: Known) -> bool:
    return known is not None and known[0] >= -MOST and known[1] < MOST


def _tasks(block: ir.Block) -> Iterator[Known]:
    """The numbers of tasks: of those behind the last one, which blocks and bands of several have, too."""
    for op in ops_named(block, "scf.forall"):
        loops, schedule = Loops.of(op), SCHEDULE.get(op) or {}
        count, counts = loops.static_count(), loops.static_counts()
        more = sum(sum(schedule.get(name, ())) for name in ("tasks", "turns", "persistent")) + 1
        band = 0 if loops.group is None else loops.group[2] * (counts[loops.group[1]] or 0)
        yield None if count is None else (0, count + more + band)


def _ends_of_tiles(block: ir.Block, positions: Positions) -> Iterator[Known]:
    """How far a tile's elements lie along each dim of its buffer."""
    for op in ops_named(block, *_ACCESSES):
        access = access_of(op)
        sizes = dict(zip(access.dims, sizes_of(access.tile), strict=True))
        for dim, index in enumerate(access.indices):
            yield combine("+", positions.of(index), (0, 2 * sizes.get(dim, 0)))


def long_source(value: ir.Value) -> ir.Value | None:
    """The i64 that a position is cast from, or None."""
    cast = defining_op(value, *CASTS)
    return cast.operands[0] if cast is not None and _is_long(cast.operands[0].type) else None


def _is_checked(cast: ir.Operation) -> bool:
    """Whether a scalar is only compared, as what it is in 64 bits, and taken where it is below a limit."""
    if isinstance(cast.results[0].type, ir.VectorType):
        return False
    for use in cast.results[0].uses:
        user = use.owner.operation
        if user.name == "arith.cmpi":
            continue
        chosen = user.name == "arith.select" and use.operand_number == 1
        if not chosen or not _is_below_limit(user.operands[0], cast.results[0]):
            return False
    return True


def _is_below_limit(condition: ir.Value, number: ir.Value) -> bool:
    check = defining_op(condition, "arith.cmpi")
    if check is None or check.operands[0] != number:
        return False
    limit = integer_of(check.operands[1])
    below = ir.IntegerAttr(check.attributes["predicate"]).value == _ULT
    return below and limit is not None and 0 <= limit < MOST


def _reach(block: ir.Block) -> dict[ir.Value, int]:
    """For each buffer without dynamic sizes how many elements after its last one a tile may lie.

    A layout has a power of two of positions along a dim: fewer than twice the tile's size.
    """
    found: dict[ir.Value, int] = {}
    for op in nested_ops(block):
        if op.name in _ACCESSES:
            access = access_of(op)
            strides = [access.strides[dim] or 0 for dim in access.dims]
            past = sum(2 * size * by for size, by in zip(sizes_of(access.tile), strides, strict=True))
            buffer = buffer_of(access)
            found[buffer] = max(found.get(buffer, 0), past)
    return found


def _is_long(kind: ir.Type) -> bool:
    element = kind.element_type if isinstance(kind, ir.VectorType) else kind
    return isinstance(element, ir.IntegerType) and element.width > 32
