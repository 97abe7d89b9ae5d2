"""`mlopt-pack-weights`: weights lie in the order in which the strips of a product read them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import linalg, tensor

from ..dialects.decisions import Decision
from .base import Pass
from .costs.count import bytes_of, bytes_of_element
from .fusion.pads import can_read_through
from .hoist import made_of_weights, weights_factor
from .moving.collapses import sink
from .moving.expansions import lift_expansions
from .moving.reads import original
from .moving.splits import can_split, groups_of, parts_of
from .operations import defining_op, plain_functions
from .raising.reshape import grouped
from .rewrites import note_rewrites, rewrite_of
from .scheduling.cpu import LANES, window_lanes
from .spread_planes import PAGE
from .structured import (
    ASSUMED,
    ATTENTION,
    DYNAMIC,
    body_of,
    erase_dead,
    indexing_maps,
    inits_of,
    inputs_of,
    is_pointwise,
    kinds_of,
    label_of,
    loop_extents,
    make_copy,
    make_generic,
    maps_of,
    replace_op,
    sizes_of,
    structured_ops,
    word_for,
)
from .tiling.analysis import loops_in
from .tiling.pads import fill_of_pad
from .weights_in_place import can_read, least_rows, read_in_place, should_read


@dataclass(frozen=True)
class PackWeights(Pass):
    """Let the weights of each 64 columns of a product lie side by side; the result is made in such strips.

    ::

        %c = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (k, n)) : tensor<128x3072xf32>
        %r = generic {add} (m, n) ins(%c, %bias at (n))
      ->
        %v = tensor.expand_shape %w : tensor<768x3072xf32> into tensor<768x48x64xf32>
        %p = generic {pack} (o, k, i) ins(%v at (k, o, i)) : tensor<48x768x64xf32>
        %d = generic {matmul} (m, o, i | k) ins(%x at (m, k), %p at (o, k, i)) : tensor<128x48x64xf32>
        %s = generic {add} (m, o, i) ins(%d, expand_shape %bias at (o, i))
        %r = tensor.collapse_shape %s

    Run it before mlopt-hoist, which takes the pack to @prepare: nothing but the packed weights is kept. What
    is a transpose of a weight is packed from the weight. Output channels of convolutions are columns, too.
    Legal where one factor is made of weights and has the columns alone, a multiple of 64 of them. The columns
    of heads are strips already, 32 of them as well: only their rows are put in order. With fewer
    ``vector-bits`` than 512 a window's strip is two registers, and what it reads of a channel lies together:
    L1 holds a block of channels (`strips/products.py`), of lines 256 bytes apart it would hold a quarter.
    Done where there are several strips, the element-wise ops after the product can run on strips as well, so
    that they stay in its kernel, and steps of the other factor are not whole pages apart, as channels of
    32x32 pixels: then those are the lanes. Each product with a factor that weights make, packed or not, is in
    ``mlopt.rewrites``: the bytes of the weights are at stake, the cost model sees no order in memory.
    For CPUs: a strip is read from first to last, where its rows were far apart in
    memory, or were copied into a panel at each call. One thread of a Zen 4 core, 768 to 3072 columns, in
    GFLOP/s: 1 row 27 to 46, 4 rows 96 to 116, 8 rows 98 to 117, 128 rows 98 to 110, 512 rows 94 to 113;
    1 by 4096 by 4096 7.0 to 2.1 ms; ResNet-18 41.4 to 38.5 ms. On a Zen 3 core, with AVX2, windows in blocks
    of channels took ResNet-18 from 0.63 to 0.84 of ONNX Runtime's speed; 320 to 320 channels of 32x32 by 1x1,
    pages apart, take 6.0 ms by packed weights, 2.3 as they lie (eager 2.3), 64 to 128 of 64x64 2.0 and 0.8.
    """

    name: ClassVar[str] = "mlopt-pack-weights"
    vector_bits: int = 512

    def run(self, op: ir.Operation) -> None:
        decisions: list[Decision] = []
        for function in plain_functions(op):
            decisions += _pack_all(function, self.vector_bits)
        note_rewrites(op, self.name, decisions)


@dataclass(frozen=True)
class Packing:
    """Which operand of a contraction is packed, and the loop of its columns, ``extent`` of them.

    ``parts``: how often there are as many, as for each head. ``strip``: how many columns lie side by side.
    """

    operand: int
    column: int
    extent: int
    parts: int
    strip: int


def _pack_all(function: ir.Operation, vector_bits: int) -> list[Decision]:
    weights = made_of_weights(function)
    least = least_rows(function, weights)
    followers: set[ir.Value] = set()
    in_strips: set[ir.Value] = set()
    decisions = []
    for op in structured_ops(function):
        operand = weights_factor(op, weights)
        if operand is None:
            continue
        packing = packing_of(op, operand, vector_bits)
        if can_read(op, operand) and should_read(op, operand, least):
            reason = "it has rows enough to read them as they lie"  # and nothing of them is kept
        elif is_pages_apart(op, 1 - operand):
            reason = "tasks copy the other factor, whose steps are whole pages apart, into a panel"
            read_in_place(op, operand)  # not a transpose, whose columns would be the lanes
        else:
            reason = packing if isinstance(packing, str) else why_not_packed(op, packing) or ""
        kept = bytes_of(op.operands[operand], ASSUMED)
        decisions.append(rewrite_of(op, reason, 0, 0.0, kept=kept, word=f"weights of {word_for(op)}"))
        if reason or isinstance(packing, str):
            continue
        if packing.extent <= packing.strip:
            _order(op, packing)
            continue
        followers |= followers_of(op.results[0]) or set()
        in_strips.add(_pack(op, packing))
    for op in structured_ops(function):
        if op.results[0] in followers:
            in_strips.update(_follow(op, in_strips))
    if in_strips:
        lift_expansions(function)
    erase_dead(function)
    return decisions


def packing_of(op: ir.Operation, operand: int, vector_bits: int) -> Packing | str:
    """How to pack the weights, factor ``operand`` of ``op``; why not, if others have their columns, too."""
    if defining_op(inits_of(op)[0], "linalg.fill") is None:
        return "the product is added to something"
    maps = maps_of(op)
    data, own, written = maps[1 - operand], maps[operand], maps[2]
    if not all(isinstance(expr, ir.AffineDimExpr) for where in (own, written) for expr in where.results):
        return "they are not read, or the result is not written, at one place of each loop"
    loops = {expr.position for expr in own.results}
    elsewhere = {loop for expr in data.results for loop in loops_in(expr)}
    columns = [expr.position for expr in written.results if expr.position in loops - elsewhere]
    extents = [loop_extents(op)[column] for column in columns]
    known = [extent for extent in extents if extent is not None]
    if not known or len(known) != len(columns) or len(loops) != len(own.results):
        return "they have no columns of their own, of known number"
    *others, extent = known
    is_window = not all(isinstance(expr, ir.AffineDimExpr) for expr in data.results)
    strip = window_lanes(vector_bits) if is_window else LANES
    whole = extent % strip == 0 or (others and extent == LANES // 2)
    if not whole:
        return f"{extent} columns are no multiple of {strip}"
    return Packing(operand, columns[-1], extent, prod(others), strip)


def why_not_packed(op: ir.Operation, packing: Packing) -> str | None:
    """Why packing does not pay: one strip, or a reader in the kernel of ``op`` that would be kept apart."""
    if packing.extent <= packing.strip:
        return None if packing.parts > 1 else f"{packing.extent} columns are one strip as they lie"
    if followers_of(op.results[0]) is None:
        return "what follows in its kernel cannot run on strips"
    return None


def is_pages_apart(op: ir.Operation, data: int) -> bool:
    """Whether each step of a product, but of a window's, finds operand ``data`` in pages of its own.

    Read for each strip of packed weights their lines would drive each other out of the caches.
    """
    exprs, kinds, shape = list(maps_of(op)[data].results), kinds_of(op), op.operands[data].type.shape
    if not all(isinstance(expr, ir.AffineDimExpr) for expr in exprs):
        return False
    summed = [dim for dim, expr in enumerate(exprs) if kinds[expr.position] == "reduction"]
    if len(summed) != 1 or DYNAMIC in shape[summed[0] + 1 :]:
        return False
    apart = prod(shape[summed[0] + 1 :])
    return apart >= LANES and apart * bytes_of_element(op.operands[data]) % PAGE == 0


def followers_of(value: ir.Value) -> set[ir.Value] | None:
    """What element-wise ops make of ``value`` in its kernel; None if one of them cannot run on strips."""
    found: set[ir.Value] = set()
    values = [value]
    for each in values:  # grows
        readers = [use.owner.operation for use in each.uses]
        if readers and all(is_pointwise(reader) and can_split(reader) for reader in readers):
            results = list(dict.fromkeys(reader.results[0] for reader in readers))
            values += [made for made in results if made not in found]
            found.update(results)
        elif _would_stay(readers):
            return None
    return found


def _would_stay(readers: Sequence[ir.Operation]) -> bool:
    """Whether one of ``readers`` would be in the kernel of the product that they read, but not on strips."""
    if any(map(_is_stored_with, readers)):
        return True
    return any(map(is_pointwise, readers)) and not any(map(_is_apart, readers))


def _is_apart(op: ir.Operation) -> bool:
    """Whether ``op`` reads a product from memory, so that its other readers may do so, too."""
    return op.name in (ATTENTION, "tensor.insert_slice") or (
        op.name == "linalg.generic" and "reduction" in kinds_of(op)
    )


def _is_stored_with(op: ir.Operation) -> bool:
    """Whether ``op`` writes a part of a buffer, and is no pad that its readers do themselves."""
    readers = [use.owner.operation for result in op.results for use in result.uses]
    return op.name == "tensor.insert_slice" and (
        fill_of_pad(op) is None or not all(map(can_read_through, readers))
    )


def _pack(op: ir.Operation, packing: Packing) -> ir.Value:
    """Put a product with packed weights in the place of ``op``; returns what it makes, collapsed."""
    column, inner = packing.column, packing.column + 1  # the column's loop becomes two
    maps, kinds = maps_of(op), kinds_of(op)
    parts = {column: [packing.extent // packing.strip, packing.strip]}
    places = [loop + (loop > column) for loop in range(len(kinds))]

    def moved(where: ir.AffineMap, loops: list[int] | None = None) -> ir.AffineMap:
        dims = [ir.AffineExpr.get_dim(place) for place in places]
        spread = ir.AffineMap.get(len(kinds) + 1, 0, dims)
        exprs = [expr.compose(spread) for expr in where.results]
        if loops is not None:
            exprs = [ir.AffineExpr.get_dim(loop) for loop in loops]
        return ir.AffineMap.get(len(kinds) + 1, 0, exprs)

    def split(where: ir.AffineMap) -> list[int]:
        groups = [
            [column, inner] if expr.position == column else [places[expr.position]] for expr in where.results
        ]
        return [loop for group in groups for loop in group]

    with op.location, ir.InsertionPoint(op):
        factors, own, written = inputs_of(op), maps[packing.operand], maps[2]
        factors[packing.operand] = _packed(op, packing)
        rest = [places[loop] for loop in _walked(op, packing)]
        new = [moved(maps[0]), moved(maps[1]), moved(written, split(written))]
        new[packing.operand] = moved(own, [column, *rest, inner])
        shape: list[int | ir.Value] = []
        for expr, size in zip(written.results, sizes_of(op.results[0]), strict=True):
            shape += parts.get(expr.position, [size])
        result = op.results[0].type
        fill = defining_op(inits_of(op)[0], "linalg.fill")
        assert fill is not None
        init = linalg.fill(fill.operands[0], outs=[tensor.EmptyOp(shape, result.element_type).result])
        made = make_generic(
            factors,
            [init],
            new,
            [*kinds[:inner], "parallel", *kinds[inner:]],
            label_of(op),
            location=op.location,
            at=ir.InsertionPoint(op),
            body=body_of(op),
        )
        collapsed = tensor.CollapseShapeOp(result, made.results[0], groups_of(written, parts)).result
    replace_op(op, [collapsed])
    return collapsed


def _order(op: ir.Operation, packing: Packing) -> None:
    """Let the rows of each strip follow each other, where the columns are strips already."""
    value, where = op.operands[packing.operand], maps_of(op)[packing.operand]
    loops = [expr.position for expr in where.results]
    order = [*_walked(op, packing), packing.column]
    with op.location, ir.InsertionPoint(op):
        empty = tensor.EmptyOp(
            [value.type.shape[loops.index(loop)] for loop in order], value.type.element_type
        )
        read = ir.AffineMap.get(len(order), 0, [ir.AffineExpr.get_dim(order.index(loop)) for loop in loops])
        maps = maps_of(op)
        maps[packing.operand] = ir.AffineMap.get(
            where.n_dims, 0, [ir.AffineExpr.get_dim(loop) for loop in order]
        )
        op.attributes["indexing_maps"] = indexing_maps(maps)
    copy = make_copy(value, empty.result, read, "pack", location=op.location, at=ir.InsertionPoint(op))
    op.operands[packing.operand] = copy.results[0]


def _packed(op: ir.Operation, packing: Packing) -> ir.Value:
    """The weights as (strip, the other dims as they are walked through, column of the strip)."""
    value, where = original(op, packing.operand)
    loops = [expr.position for expr in where.results]
    order = [packing.column, *_walked(op, packing)]
    groups: list[list[int]] = []
    shape: list[int] = []
    read: list[int] = []
    for loop, size in zip(loops, value.type.shape, strict=True):
        is_column = loop == packing.column
        groups.append([len(shape), len(shape) + 1] if is_column else [len(shape)])
        shape += [size // packing.strip, packing.strip] if is_column else [size]
        read += [0, len(loops)] if is_column else [order.index(loop)]
    kind = ir.RankedTensorType.get(shape, value.type.element_type)
    view = tensor.ExpandShapeOp(kind, value, grouped(groups), [], shape).result
    sizes = [shape[read.index(dim)] for dim in range(len(read))]
    empty = tensor.EmptyOp(sizes, kind.element_type).result
    source = ir.AffineMap.get(len(read), 0, [ir.AffineExpr.get_dim(dim) for dim in read])
    copy = make_copy(view, empty, source, "pack", location=op.location, at=ir.InsertionPoint(op))
    return copy.results[0]


def _walked(op: ir.Operation, packing: Packing) -> list[int]:
    """The loops of the weights but the column's: groups, windows, then the one that a task steps along.

    That one comes before windows in narrow strips, of which L1 is to hold a block of channels.
    """
    kinds, maps = kinds_of(op), maps_of(op)
    plain = [
        expr.position for expr in maps[1 - packing.operand].results if isinstance(expr, ir.AffineDimExpr)
    ]
    loops = [expr.position for expr in maps[packing.operand].results if expr.position != packing.column]
    is_wide = packing.strip == LANES
    return sorted(loops, key=lambda loop: (kinds[loop] == "reduction", (loop in plain) == is_wide))


def _follow(op: ir.Operation, in_strips: Set[ir.Value]) -> list[ir.Value]:
    """Let ``op`` run on strips as what it reads is made in strips; returns its results, collapsed."""
    for value, where in zip(inputs_of(op), maps_of(op), strict=False):
        collapse = defining_op(value, "tensor.collapse_shape") if value in in_strips else None
        parts = None if collapse is None else parts_of(collapse, where)
        if parts:
            return sink(op, parts)
    return []
