"""Which tiles of a task get memory."""

from __future__ import annotations

from math import prod

from mlir import ir

from ...combining import kind_of, reduced_dims
from ...operations import defining_op, ops_named
from ...structured import has_one_use
from ..strips.factors import loops_of
from ..strips.fragment import is_vector, sizes_of
from ..strips.memory import memory_dims
from ..strips.registry import ELEMENTWISE_DIALECTS
from ..strips.reshape import POSITIONS

FEWEST_ROWS = 6  # of fewer, most lanes of a register would be idle
_MADE_ONCE = ("vector.multi_reduction", "math.exp")


def is_chained(block: ir.Block) -> bool:
    """Whether a contraction reads what another one has made, or sums."""
    return any(
        _comes_from_products(factor)
        for op in ops_named(block, "vector.contract")
        for factor in list(op.operands)[:2]
    )


def _comes_from_products(value: ir.Value) -> bool:
    """Whether a contraction, or a sum as the scores of few rows are, is behind ``value``."""
    seen: set[ir.Value] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        if value.owner.name == "vector.contract" or _is_sum(value.owner):
            return True
        pending += value.owner.operands
    return False


def _is_sum(op: ir.Operation) -> bool:
    return op.name == "vector.multi_reduction" and kind_of(op) == "add"


def sums_in_sums(block: ir.Block) -> list[ir.Value]:
    """What reductions make that others reduce again, for each of several results: ranks, to order by them.

    In registers it would be made again for each strip of the results.
    """
    found: dict[ir.Value, None] = {}
    for op in ops_named(block, "vector.multi_reduction"):
        source, gone = op.opview.source, set(reduced_dims(op))
        kept = {dim for dim, size in enumerate(sizes_of(source)) if size != 1} - gone
        for sums, dims in _dims_of_sums(source).items():
            if dims & gone and kept - dims:
                found[sums] = None
    return list(found)


def _dims_of_sums(value: ir.Value) -> dict[ir.Value, set[int]]:
    """The results of reductions that ``value`` is made from, and the dims of it along which each one lies."""
    owner = value.owner
    if isinstance(owner, ir.Block) or not is_vector(value):
        return {}
    if owner.name == "vector.multi_reduction":
        return {value: {dim for dim, size in enumerate(sizes_of(value)) if size != 1}}
    found: dict[ir.Value, set[int]] = {}
    if owner.name in POSITIONS:
        places = POSITIONS[owner.name](owner.opview)
        for sums, dims in _dims_of_sums(owner.operands[0]).items():
            found[sums] = {place for dim in dims if (place := places[dim]) is not None}
    elif owner.name.split(".")[0] in ELEMENTWISE_DIALECTS:
        for operand in owner.operands:
            for sums, dims in _dims_of_sums(operand).items():
                found.setdefault(sums, set()).update(dims)
    return found


def is_staged(value: ir.Value) -> bool:
    """Whether a tile is one that a reduction makes, or reads with others, or dear to make again."""
    if not is_vector(value) or value.owner.name in ("vector.transfer_read", "arith.constant"):
        return False
    if value.owner.name in _MADE_ONCE:
        return True
    is_reduced = any(
        use.owner.name == "vector.multi_reduction" and use.operand_number == 0 for use in value.uses
    )
    return is_reduced and not has_one_use(value)


def rows_factor(op: ir.Operation) -> ir.Value | None:
    """A contraction's first factor, if neither factor has lanes: dims that stay, contiguous in memory.

    It may be computed of what is read: that is done once, where its lanes are turned.
    """
    for number, loops in enumerate(loops_of(op.opview)[:2]):
        value = op.operands[number]
        read, *others = ops_from_read(value)
        is_cast = all(other.name == "vector.shape_cast" for other in others)
        if read.name != "vector.transfer_read" or (number and not is_cast):
            return None
        innermost = read.opview.base.type.rank - 1
        tile = zip(sizes_of(read.results[0]), memory_dims(read.opview), strict=True)
        places = [dim for size, dim in tile if size != 1]
        kept = [loop for size, loop in zip(sizes_of(value), loops, strict=True) if size != 1]
        along = [loop for loop, dim in zip(kept, places, strict=True) if dim == innermost]
        if not along or along[0] in loops_of(op.opview)[2]:
            return None
    return op.operands[0]


def ops_from_read(value: ir.Value) -> list[ir.Operation]:
    """The ops from the one that reads a tile to ``value``'s.

    After the first, those that drop unit dims, and element-wise ones of the tile and of numbers.
    """
    owner = value.owner
    if isinstance(owner, ir.Block):
        return [owner.owner.operation]
    if owner.name == "vector.shape_cast":
        tiles = list(owner.operands)
    elif owner.name.split(".")[0] in ELEMENTWISE_DIALECTS:
        tiles = [each for each in owner.operands if defining_op(each, "arith.constant") is None]
    else:
        return [owner]
    if len(tiles) != 1 or not is_vector(tiles[0]):
        return [owner]
    return [*ops_from_read(tiles[0]), owner]


def order_of(value: ir.Value) -> list[int]:
    """The tile's dims as memory holds them, outermost first: units, what is reduced, the others.

    A unit dim inside would leave a register's lanes apart: of 128 heads' rows read from one projection
    of queries, keys and values the factor is 64x1x64, and its lanes are the rows.
    """
    reduced: set[int] = set()
    for use in value.uses:
        op = use.owner.operation
        if op.name == "vector.multi_reduction" and use.operand_number == 0:
            reduced |= set(ir.DenseI64ArrayAttr(op.attributes["reduction_dims"]))
        elif op.name == "vector.contract" and use.operand_number < 2:
            loops = loops_of(op.opview)
            reduced |= {dim for dim, loop in enumerate(loops[use.operand_number]) if loop not in loops[2]}
    sizes = sizes_of(value)
    rows = prod(size for dim, size in enumerate(sizes) if dim not in reduced)
    last = reduced if rows < FEWEST_ROWS else set(range(len(sizes))) - reduced
    return sorted(range(len(sizes)), key=lambda dim: (sizes[dim] != 1, dim in last, dim))
