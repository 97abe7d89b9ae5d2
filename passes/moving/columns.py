"""Products whose readers take their columns apart become products of some of the columns each.

::

    %y = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n)) : tensor<64x256xf32>
    %r = generic {mul} (i, j) ins(%y at (i, j mod 256), %y at (i, j + 128)) : tensor<64x128xf32>
  ->
    %a = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n mod 256)) : tensor<64x128xf32>
    %b = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n + 128))
    %r = generic {mul} (i, j) ins(%a at (i, j), %b at (i, j))

mlopt-fuse lets the tasks of one kernel make a tile of each (`siblings.py`): a gated linear unit, or the
heads of queries, keys and values that are stored apart. Element-wise ops between go along. Of weights the
columns are put side by side by mlopt-hoist, once. Legal where element-wise ops alone read what is made, each
one some of its columns, no column in two parts. Done where the parts are few, of one size, and none loses
the strips that mlopt-pack-weights makes of the whole. Such weights are kept in a copy: mlopt-weights-in-place
leaves parts of them alone.

One thread of a Zen 5 core, time against two kernels: a SwiGLU of one layer, 768 to two halves of 2048 in f32,
1 row 0.60, 16 rows 0.70, 128 rows 0.90, 512 rows 1.02; queries, keys and values of 768, 128 rows, 0.98.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import accumulate, pairwise

from mlir import ir
from mlir.dialects import linalg, tensor

from ...dialects.attributes import WHOLE
from ..hoist import made_of_weights
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import grouped, joined_dims
from ..siblings import MOST
from ..structured import (
    copy_generic,
    element_type,
    indexing_maps,
    inits_of,
    inputs_of,
    loop_extents,
    make_copy,
    maps_of,
    sizes_of,
    structured_ops,
    word_for,
)
from ..subsets import split
from .heads import too_small
from .splits import can_split
from .takes import Take, loop_of, takes_of, work_after

STRIP = 64  # columns that mlopt-pack-weights puts side by side


def part_columns(func: ir.Operation) -> bool:
    """Let products of ``func`` make their columns apart where they are read so; whether any does."""
    weights = made_of_weights(func)
    found = False
    for product in [op for op in structured_ops(func) if is_contraction(op)]:
        work, readers = work_after(product)
        takes, other = takes_of(work, readers)
        if all(take.count == take.value.type.shape[-1] for take in takes):
            continue
        reason = can_part(work, takes, other) or should_part(work, takes, weights)
        if reason is None:
            _part([op for op in structured_ops(func) if op in work], takes, weights)
            found = True
            continue
        for op in dict.fromkeys((*work, *(take.view for take in takes if take.view is not None))):
            WHOLE.set(op, reason)
    return found


def can_part(work: Sequence[ir.Operation], takes: Sequence[Take], other: ir.Operation | None) -> str | None:
    """Why a product and the ops after it cannot make columns apart for who takes them; None if they can."""
    if other is not None:
        return f"{word_for(other)} reads the product, too, as a whole"
    product = work[0]
    if not all(map(can_split, work)) or defining_op(inits_of(product)[0], "linalg.fill") is None:
        return "the product's kernel has a loop that cannot have parts"
    left, right, written = maps_of(product)
    if any(
        list(where.results).count(maps_of(op)[-1].results[-1]) > 1 for op in work for where in maps_of(op)
    ):
        return "what is read along a diagonal has no columns"
    if written.results[-1] in left.results or written.results[-1] not in right.results:
        return "the columns that are taken are rows of the product's left factor"
    parts = sorted({(take.start, take.count) for take in takes})
    if any(start + count > behind for (start, count), (behind, _) in pairwise(parts)):
        return "parts of the product's columns that are read overlap"
    return None


def should_part(work: Sequence[ir.Operation], takes: Sequence[Take], weights: Set[ir.Value]) -> str | None:
    """Why the parts of a product would not make one kernel that is as quick as the whole; None if they do."""
    product = work[0]
    parts = {(take.start, take.count) for take in takes}
    counts = {count for _, count in parts}
    if len(parts) > MOST:
        return f"the product's columns are read in {len(parts)} parts: a task makes tiles of at most {MOST}"
    if len(counts) > 1:
        return "the product's columns are read in parts of different sizes, which share no tile"
    if any(take.view is not None for take in takes) and not _has_weights(work, weights):
        return "what is no weight cannot be read from a column on and in parts at once"
    small = next((reason for take in takes if (reason := _too_small(take)) is not None), None)
    if small is not None:
        return small
    (count,), whole = counts, product.results[0].type.shape[-1]
    if product.operands[1] in weights and whole % STRIP == 0 and count % STRIP:
        return f"of {count} columns, no multiple of {STRIP}, the weights would not be packed"
    return None


def _has_weights(work: Sequence[ir.Operation], weights: Set[ir.Value]) -> bool:
    """Whether all that ``work`` reads along the product's columns is made of weights, or by ``work``."""
    made = {op.results[0] for op in work}
    reads = [
        value
        for op in work
        for value, where in zip(inputs_of(op), maps_of(op), strict=False)
        if maps_of(op)[-1].results[-1] in where.results
    ]
    return all(value in weights or value in made for value in reads)


def _too_small(take: Take) -> str | None:
    """Why a part would not be made as the view has it that its reader reads."""
    if take.view is None:
        return None
    shape = take.view.results[0].type.shape
    extents = loop_extents(take.reader)
    where = maps_of(take.reader)[take.operand]
    *rows, _ = ([shape[each.value] for each in group] for group in take.view.attributes["reassociation"])
    return too_small(rows, [extents[loop_of(where.results[dim]).position] or 1 for dim in take.inside])


def _part(work: Sequence[ir.Operation], takes: Sequence[Take], weights: Set[ir.Value]) -> None:
    """Make each part by a product of its own, and by copies of the ops after it, for those who take it."""
    of_part = {
        part: _columns(work, *part, weights) for part in sorted({(take.start, take.count) for take in takes})
    }
    for take in takes:
        value, maps = of_part[take.start, take.count][take.value], maps_of(take.reader)
        if take.view is not None:
            value = _viewed(value, take)
        where = maps[take.operand]
        rows = list(where.results)[: -take.columns]
        exprs = [*rows, *(loop_of(where.results[dim]) for dim in take.inside)]
        maps[take.operand] = ir.AffineMap.get(where.n_dims, 0, exprs, where.context)
        take.reader.operands[take.operand] = value
        with take.reader.location:
            take.reader.attributes["indexing_maps"] = indexing_maps(maps)


def _viewed(value: ir.Value, take: Take) -> ir.Value:
    """A part as its reader reads it: the rows as the view has them, and the columns that are read."""
    assert take.view is not None
    groups = joined_dims(take.view)
    dims = [dim for group in groups[:-1] for dim in group] + list(take.inside)
    with take.reader.location, ir.InsertionPoint(take.reader):
        sizes, extents = sizes_of(take.view.results[0]), loop_extents(take.reader)
        for dim in take.inside:
            sizes[dim] = extents[loop_of(maps_of(take.reader)[take.operand].results[dim]).position]
        static, dynamic = split([sizes[dim] for dim in dims])
        if len(static) == value.type.rank:
            return value
        kind = ir.RankedTensorType.get(static, value.type.element_type)
        ends = [*accumulate(len(group) for group in groups[:-1]), len(dims)]
        starts = [0, *ends[:-1]]
        own = grouped([list(range(start, end)) for start, end in zip(starts, ends, strict=True)])
        return tensor.ExpandShapeOp(kind, value, own, dynamic, static).result


def _columns(
    work: Sequence[ir.Operation], start: int, count: int, weights: Set[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """Copies of a product and of the ops after it that make some columns: for each result, its part."""
    made: dict[ir.Value, ir.Value] = {}
    for op in work:
        maps, at = maps_of(op), ir.InsertionPoint(op)
        column = maps[-1].results[-1]
        operands = []
        for number, (value, where) in enumerate(zip(inputs_of(op), maps, strict=False)):
            if value in made or column not in where.results:
                operands.append(made.get(value, value))
            elif value in weights:
                operands.append(_slice(op, value, list(where.results).index(column), start, count))
            else:
                operands.append(value)
                size = value.type.shape[list(where.results).index(column)]
                maps[number] = _from(where, column, start, None if size == count else size)
        with op.location, at:
            init = tensor.EmptyOp([*sizes_of(op.results[0])[:-1], count], element_type(op.results[0])).result
            fill = defining_op(inits_of(op)[0], "linalg.fill")
            if fill is not None:
                init = linalg.fill(fill.operands[0], outs=[init])
            copy = copy_generic(op, [*operands, init], at=at, maps=maps)
        made[op.results[0]] = copy.results[0]
    return made


def _slice(op: ir.Operation, value: ir.Value, dim: int, start: int, count: int) -> ir.Value:
    """A part of a weight: mlopt-hoist keeps it."""
    where, size = ir.AffineMap.get_identity(value.type.rank, op.context), value.type.shape[dim]
    read = _from(where, where.results[dim], start, None if size == count else size)
    with op.location, ir.InsertionPoint(op):
        sizes = sizes_of(value)
        init = tensor.EmptyOp([*sizes[:dim], count, *sizes[dim + 1 :]], element_type(value)).result
        return make_copy(value, init, read, "slice", location=op.location, at=ir.InsertionPoint(op)).results[
            0
        ]


def _from(where: ir.AffineMap, loop: ir.AffineExpr, start: int, size: int | None) -> ir.AffineMap:
    """The map with ``loop`` from ``start`` on; from 0 on it is written ``loop mod size`` (`slices`)."""
    place = loop + start if start or size is None else ir.AffineExpr.get_mod(loop, size)
    exprs = [place if expr == loop else expr for expr in where.results]
    return ir.AffineMap.get(where.n_dims, 0, exprs, where.context)
