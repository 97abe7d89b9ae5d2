"""Plain reductions: the element-wise part on a tile with the reduced dims, then vector.multi_reduction.

The reduced dims are whole rows; a dim whose length is not known, or that the schedule divides, is reduced in
chunks, and what lies beyond it is replaced by the combiner's neutral element (the padding of a read went
through exp and the like). Chunks of known length, and those along memory, are combined element by element and
reduced once, after the last. Where a schedule says so, only rows that count are read (``listed.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir import ir
from mlir.dialects import arith, vector

from ..constants import literal_of
from ..domain import Dim
from .access import Nest
from .analysis import single_loops
from .body import Body
from .combiner import Combiner, combiners, convert
from .emitter import Emitter
from .hits import find_hits
from .listed import emit_listed
from .place import Span
from .registry import SINGLE, WHOLE
from .walks import runs_along_memory, steps_of


def can_tile(nest: Nest) -> str | None:
    """Independent combiners, and no window among the reduced loops."""
    if nest.body is None or not nest.reductions:
        return "not a reduction"
    if single_loops(nest) & set(nest.reductions):
        return "a reduction over a window"
    if combiners(nest) is None:
        return "a reduction whose results depend on each other"
    return None


def needs(nest: Nest) -> dict[int, int]:
    """Whole rows."""
    return dict.fromkeys(nest.reductions, WHOLE) | dict.fromkeys(single_loops(nest), SINGLE)


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The reduced tiles."""
    found = combiners(nest)
    assert found is not None
    accumulators = start_of(emitter, nest, found)
    hits = find_hits(emitter.domain, nest) if emitter.listed else None
    if hits is not None:
        (combiner,), (start,) = found, accumulators
        total = emit_listed(emitter, nest, hits, combiner, start, lambda: _elements(emitter, nest, found)[0])
        return finish(emitter, nest, found, [total])
    dims = [emitter.dim(nest, loop) for loop in nest.reductions]
    steps = steps_of(emitter, [dim for dim in dims if _is_stepped(emitter, dim)])
    emitter.ahead(nest, steps)
    unknown = [dim for dim in steps if dim.extent is None]
    if steps and all(runs_along_memory(emitter.domain, dim) for dim in unknown[-1:]):
        return finish(emitter, nest, found, _in_chunks(emitter, nest, found, steps, accumulators))
    return finish(emitter, nest, found, _over(emitter, nest, found, steps, accumulators))


def _is_stepped(emitter: Emitter, dim: Dim) -> bool:
    """Whether the rule steps through a dim: nobody knows its length, or the schedule divides it."""
    return dim.extent is None or (dim.kind == "reduction" and 0 < emitter.tiles[dim.id] < dim.extent)


def start_of(emitter: Emitter, nest: Nest, found: Sequence[Combiner]) -> list[ir.Value]:
    """The accumulators before the first element: the inits, over the parallel loops."""
    inits = nest.reads[len(nest.reads) - len(nest.writes) :]
    values = []
    for init, combiner in zip(inits, found, strict=True):
        assert init is not None
        value = emitter.operand(nest, init, nest.parallels)
        literal = literal_of(value)
        if literal is not None and isinstance(literal, ir.FloatAttr):
            wide = ir.FloatAttr.get(combiner.wide, literal.value)
            values.append(emitter.splat(wide, value.type.shape))
        else:
            values.append(convert(value, combiner.wide))
    return values


def finish(
    emitter: Emitter, nest: Nest, found: Sequence[Combiner], totals: Sequence[ir.Value]
) -> list[ir.Value]:
    """The accumulators as tiles of the results."""
    narrow = [convert(total, combiner.narrow) for total, combiner in zip(totals, found, strict=True)]
    return [
        emitter.result(total, nest.parallels, write) for total, write in zip(narrow, nest.writes, strict=True)
    ]


def _over(
    emitter: Emitter,
    nest: Nest,
    found: Sequence[Combiner],
    steps: Mapping[Dim, int],
    accumulators: Sequence[ir.Value],
) -> Sequence[ir.Value]:
    """Reduce each chunk, in scf.for loops over the dims of ``steps``.

    Totals of several columns lie in scratch: strips of registers that carried them down all rows would read a
    few bytes of each.
    """
    if not all(map(emitter.can_keep, accumulators)):
        return emitter.walk(steps, accumulators, lambda values: _reduce(emitter, nest, found, values))
    memories = [emitter.keep(accumulator) for accumulator in accumulators]

    def step(_: Sequence[ir.Value]) -> list[ir.Value]:
        totals = _reduce(emitter, nest, found, [emitter.kept(memory) for memory in memories])
        for total, memory in zip(totals, memories, strict=True):
            emitter.keep(total, memory)
        return []

    emitter.walk(steps, [], step)
    return [emitter.kept(memory) for memory in memories]


def _reduce(
    emitter: Emitter, nest: Nest, found: Sequence[Combiner], accumulators: Sequence[ir.Value]
) -> list[ir.Value]:
    if any(emitter.extents[emitter.dim(nest, loop)] == 0 for loop in nest.reductions):
        return list(accumulators)
    elements = _elements(emitter, nest, found)
    return [
        _total(emitter, nest, combiner, element, accumulator)
        for combiner, element, accumulator in zip(found, elements, accumulators, strict=True)
    ]


def _in_chunks(
    emitter: Emitter,
    nest: Nest,
    found: Sequence[Combiner],
    steps: Mapping[Dim, int],
    accumulators: Sequence[ir.Value],
) -> list[ir.Value]:
    """Combine the chunks' tiles in scf.for loops over ``steps``, then reduce the one tile that is left."""
    if any(emitter.extents[emitter.dim(nest, loop)] == 0 for loop in nest.reductions):
        return list(accumulators)
    with emitter.at({dim: Span(0, step) for dim, step in steps.items()}):
        shape = emitter.sizes(nest, range(len(nest.kinds)))
    tiles = [emitter.splat(combiner.neutral(), shape) for combiner in found]

    def combine(carried: Sequence[ir.Value]) -> list[ir.Value]:
        elements = _elements(emitter, nest, found)
        return [
            combiner.combine(value, element)
            for combiner, value, element in zip(found, carried, elements, strict=True)
        ]

    return [
        _total(emitter, nest, combiner, tile, accumulator)
        for combiner, tile, accumulator in zip(
            found, emitter.walk(steps, tiles, combine), accumulators, strict=True
        )
    ]


def _elements(emitter: Emitter, nest: Nest, found: Sequence[Combiner]) -> list[ir.Value]:
    """What is reduced, over all loops; the combiners' neutral elements where a reduced loop has ended."""
    loops = range(len(nest.kinds))
    body = Body(emitter, nest, loops)
    body.asserts()
    inside = emitter.inside(nest, nest.reductions)
    elements = []
    for combiner in found:
        element = convert(body.value(combiner.element), combiner.wide)
        if inside is not None:
            mask = emitter.arrange(inside, nest.reductions, loops, body.shape)
            element = arith.SelectOp(mask, element, emitter.splat(combiner.neutral(), body.shape)).result
        elements.append(element)
    return elements


def _total(
    emitter: Emitter, nest: Nest, combiner: Combiner, element: ir.Value, accumulator: ir.Value
) -> ir.Value:
    """A tile's reduced loops combined into an accumulator over the others."""
    if not nest.parallels:  # the result is a scalar: vector.multi_reduction wants one to start from
        accumulator = scalar(accumulator)
    total = vector.MultiDimReductionOp(combiner.kind, element, accumulator, list(nest.reductions)).result
    return emitter.stretch(total, []) if not nest.parallels else total


def scalar(value: ir.Value) -> ir.Value:
    """The element of a 0-d vector."""
    return vector.ExtractOp(value, [], []).result
