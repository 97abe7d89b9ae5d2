"""Sums over hits: a block lists the indices that name one of its rows, and reads what belongs to these.

::

    %list = memref.alloca() : memref<1024xi32>
    %sums = scf.for %k = %c0 to %c4096 step %c1024 iter_args(%s = %zeros) -> (vector<8x512xf32>) {
      %i = vector.transfer_read %indices[%k] … : memref<4096xi64>, vector<1024xi64>
      %in = arith.cmpi ult, (%i - %first), 8 : vector<1024xi1>
      vector.compressstore %list[0], %in, (place << 16 | %i - %first) …
      %n = vector.multi_reduction <add>, (extui %in), 0 …
      scf.for %j = %c0 to %n iter_args(%t = %s) -> (vector<8x512xf32>) {
        %place, %row = memref.load %list[%j] …
        %v = vector.transfer_read %values[%k + %place, %c] … : memref<4096x512xf32>, vector<1x512xf32>
        %u = arith.select (vector.step == %row), (broadcast %v), %zeros
        arith.addf %t, %u
      }

A turn of that loop has several hits, whose rows are on their way together. One turn more has those that are
left: where there are fewer than it has room for, it is behind the last row there, where nothing is read.

Each block reads all indices once and, of what is added up, its own rows once, in their order: where each of M
indices was compared with each of N rows for each of their elements, all M rows came N times from the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import affine, arith, memref, scf, vector

from .access import Nest
from .body import Body
from .combiner import Combiner
from .hits import Hits
from .place import Span
from .stages import ALIGNMENT
from .vectors import reshape, zero_of

if TYPE_CHECKING:
    from .emitter import Emitter

HALF = 16  # bits of a word of the list: a place in the step above, a row of the task below
MOST = 1 << HALF - 1  # places in a step, and rows


def emit_listed(
    emitter: Emitter,
    nest: Nest,
    hits: Hits,
    combiner: Combiner,
    total: ir.Value,
    element: Callable[[], ir.Value],
) -> ir.Value:
    """``total``, a vector over the parallel loops, with what ``element`` emits at each hit."""
    step = emitter.tiles[hits.along.id]
    places = min(step, hits.along.extent or step) if step else hits.along.extent or 1
    memory = _memory(emitter, places)

    def run(carried: Sequence[ir.Value]) -> list[ir.Value]:
        start, named, words = _named(emitter, hits)
        vector.CompressStoreOp(memory, [emitter.index(0)], named, words)
        one = ir.IntegerType.get_signless(32)
        counted = arith.ExtUIOp(ir.VectorType.get(words.type.shape, one), named).result
        zero = emitter.constant(zero_of(one))
        count = vector.MultiDimReductionOp(vector.CombiningKind.ADD, counted, zero, [0]).result
        end = arith.IndexCastUIOp(ir.IndexType.get(), count).result
        at_once = emitter.listed
        whole = affine.AffineApplyOp(_whole(at_once), [end]).result

        def add(sums: ir.Value, word: ir.Value, is_there: ir.Value | None) -> ir.Value:
            place, row = _unpacked(word)
            position = arith.AddIOp(emitter.index(start), place).result
            if is_there is not None:
                behind = emitter.index(emitter.extents[hits.along])
                position = arith.SelectOp(is_there, position, behind).result
            with emitter.turn({hits.along: Span(position, 1, exact=is_there is None)}):
                _assume_hit(emitter, hits, row)
                value = reshape(element(), emitter.sizes(nest, nest.parallels))
                return combiner.combine(sums, value)

        sums = _run_through(emitter, memory, (emitter.index(0), whole, at_once), carried[0], add)
        if at_once == 1:
            return [sums]
        return [_run_through(emitter, memory, (whole, end, at_once - 1), sums, add, is_rest=True)]

    return emitter.chunks(hits.along, places, [total], run)[0]


def _memory(emitter: Emitter, places: int) -> ir.Value:
    """The block's list."""
    kind = ir.MemRefType.get([places], ir.IntegerType.get_signless(32))
    with ir.InsertionPoint.at_block_begin(emitter.forall.body):
        return memref.AllocaOp(kind, [], [], alignment=ALIGNMENT).result


def _named(emitter: Emitter, hits: Hits) -> tuple[int | ir.Value, ir.Value, ir.Value]:
    """Where the step begins, which of its indices name a row of the task, and a word for each."""
    test, loops = hits.test, emitter.domain.loops(hits.test)
    loop = loops.index(hits.along)
    span, rows = emitter.span(test, loop), emitter.span(test, loops.index(hits.rows))
    index = Body(emitter, test, [loop]).value(hits.index)
    shape, kind = index.type.shape, index.type.element_type
    first = arith.IndexCastOp(kind, emitter.index(rows.start)).result
    row = arith.SubIOp(index, emitter.stretch(first, shape)).result
    size = emitter.splat(ir.IntegerAttr.get(kind, rows.size), shape)
    named = arith.CmpIOp(arith.CmpIPredicate.ult, row, size).result
    inside = emitter.inside(test, [loop])
    if inside is not None:
        named = arith.AndIOp(named, inside).result
    word = ir.IntegerType.get_signless(32)
    words = ir.VectorType.get(shape, word)
    place = arith.IndexCastOp(words, emitter.steps(Span(0, span.size))).result
    high = arith.ShLIOp(place, emitter.splat(ir.IntegerAttr.get(word, HALF), shape)).result
    low = arith.TruncIOp(words, row).result if kind.width > word.width else row
    return span.start, named, arith.OrIOp(high, low).result


def _unpacked(word: ir.Value) -> list[ir.Value]:
    """The place and the row of a word, whose values are known to be small."""
    half = ir.IntegerType.get_signless(HALF)
    shift = arith.ConstantOp(word.type, ir.IntegerAttr.get(word.type, HALF)).result
    parts = arith.ShRUIOp(word, shift).result, word
    return [
        arith.IndexCastUIOp(ir.IndexType.get(), arith.TruncIOp(half, part).result).result for part in parts
    ]


def _assume_hit(emitter: Emitter, hits: Hits, row: ir.Value) -> None:
    """Say which of the task's rows the index at the one place that we are at names."""
    size = emitter.span(hits.test, emitter.domain.loops(hits.test).index(hits.rows)).size
    truth = emitter.splat(ir.BoolAttr.get(True), [size])
    if size > 1:
        steps = vector.StepOp(ir.VectorType.get([size], ir.IndexType.get())).result
        truth = arith.CmpIOp(arith.CmpIPredicate.eq, steps, emitter.stretch(row, [size])).result
    stored = hits.truths.type.element_type
    if stored.width > 1:
        truth = arith.ExtUIOp(ir.VectorType.get([size], stored), truth).result
    dims = emitter.domain.value_dims(hits.truths)
    emitter.assume(hits.truths, reshape(truth, [size if dim == hits.rows else 1 for dim in dims]))


def _run_through(
    emitter: Emitter,
    memory: ir.Value,
    bounds: tuple[ir.Value, ir.Value, int],
    carried: ir.Value,
    add: Callable[[ir.Value, ir.Value, ir.Value | None], ir.Value],
    *,
    is_rest: bool = False,
) -> ir.Value:
    """A loop over the words of a list, so many a step that what they ask for is on its way together.

    Each with whether it is there, which is only asked of the rest: words but the first may not be.
    """
    first, end, step = bounds
    loop = scf.ForOp(first, end, emitter.index(step), [carried])
    with ir.InsertionPoint(loop.body), emitter.turn({}):
        places = [loop.induction_variable]
        places += [arith.AddIOp(places[0], emitter.index(number)).result for number in range(1, step)]
        there: list[ir.Value | None] = [None] * step
        if is_rest:
            there[1:] = [arith.CmpIOp(arith.CmpIPredicate.ult, place, end).result for place in places[1:]]
        words = [
            memref.LoadOp(memory, [_or_first(place, places[0], is_there)]).result
            for place, is_there in zip(places, there, strict=True)
        ]
        sums = loop.inner_iter_args[0]
        for word, is_there in zip(words, there, strict=True):
            sums = add(sums, word, is_there)
        scf.YieldOp([sums])
    return loop.results[0]


def _or_first(place: ir.Value, first: ir.Value, is_there: ir.Value | None) -> ir.Value:
    """Where a word is read: the first one in place of one that is not there."""
    return place if is_there is None else arith.SelectOp(is_there, place, first).result


def _whole(step: int) -> ir.AffineMap:
    count = ir.AffineDimExpr.get(0)
    return ir.AffineMap.get(1, 0, [ir.AffineExpr.get_floor_div(count, step) * step])
