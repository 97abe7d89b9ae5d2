"""The stages of a task in its scratch memory: written before the loops over a window, read inside of them.

::

    %s = memref.alloca() : memref<2x58x64xf32>
    %x = vector.transfer_read %in[%c, -1, -1] …, vector<2x58x58xf32>
    vector.transfer_write (select %inside, (relu %x), %padding), %s
    scf.for %ki … scf.for %kj …
      vector.transfer_read %s[%c0, %ki, %kj] {in_bounds = [true, true, true]} …, vector<2x56x56xf32>

The dim that lanes run along is the last one in memory, so that they are loaded side by side. Where all of a
dim is read, its padding is written apart: nothing of it is computed or tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import arith, memref, vector

from ..domain import Domain
from .access import Access, Nest, shape_of
from .analysis import HALVED
from .place import Span
from .stages import ALIGNMENT, lead_of, memory_order, memory_shape, part_sizes, window_range

if TYPE_CHECKING:
    from .emitter import Emitter


@dataclass(frozen=True)
class Staged:
    """The ``memory`` of a stage: the value's dims in ``order``, in the last one from position ``lead`` on."""

    memory: ir.Value
    order: tuple[int, ...]
    lead: int

    def read(self, emitter: Emitter, nest: Nest, access: Access, order: Sequence[int]) -> ir.Value:
        """What ``nest`` reads where it is now, the value's dims picked and ordered by ``order``."""
        starts, sizes = [], []
        halved = False
        for dim, index in enumerate(access.indices):
            known = window_range(nest, index)
            assert known is not None
            reduced = tuple(loop for loop in index.loops if loop in nest.reductions)
            first = (self.lead if dim == self.order[-1] else 0) - known[0]
            starts.append(emitter.position(nest, replace(index, loops=reduced, start=first)))
            size = max((emitter.span(nest, loop).size for loop in index.loops), default=1)
            if index.stride != 1 and size != 1:
                halved, size = True, HALVED * size
            sizes.append(size)
        read = emitter.transfer_read(
            self.memory,
            [starts[dim] for dim in self.order],
            [sizes[dim] for dim in self.order],
            [True] * len(sizes),
            [self.order.index(dim) for dim in order],
        )
        return vector.DeinterleaveOp(read).results[0] if halved else read

    def write(self, emitter: Emitter, tile: ir.Value, starts: Sequence[int]) -> None:
        """Store a tile whose dims are the value's, from ``starts`` on in memory."""
        rank = len(self.order)
        dims = [ir.AffineDimExpr.get(self.order.index(dim)) for dim in range(rank)]
        where = ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, dims))
        bounds = ir.ArrayAttr.get([ir.BoolAttr.get(True)] * rank)
        indices = [emitter.index(starts[dim]) for dim in self.order]
        vector.TransferWriteOp(None, tile, self.memory, indices, where, bounds)


def fill_stages(emitter: Emitter, nest: Nest) -> None:
    """Compute what ``nest`` reads of stages, ahead of its loops, if the task has scratch for them."""
    for read in nest.reads if emitter.has_scratch else ():
        stage = None if read is None else emitter.domain.stages.get(read.value)
        if read is not None and stage is not None:
            emitter.staged[read.value] = _fill(emitter, nest, stage.access, stage.domain)


def _fill(emitter: Emitter, nest: Nest, access: Access, domain: Domain) -> Staged:
    """The stage ``access`` of a task, made by ``domain``."""
    sizes = [emitter.span(nest, loop).size for loop in range(len(nest.kinds))]
    parts = part_sizes(nest, access, sizes)
    places = [_place(emitter, nest, access, dim, part) for dim, part in enumerate(parts)]
    staged = _allocate(emitter, access, places, parts, memory_order(nest, access, sizes))
    dims = domain.value_dims(access.value)
    spans = {dim: place.span for dim, place in zip(dims, places, strict=True) if dim is not None}
    tested = [place.tested for place in places]
    tile = emitter.of_stage(domain, spans).tile(access.value)
    tile = padded(emitter, access, [place.span for place in places], tested, tile)
    inner = [place.before for place in places]
    last = staged.order[-1]
    inner[last] += staged.lead
    # From first to last in a row: the last lanes of a store may run over into what comes next.
    _pad(emitter, access, staged, last, 0, inner[last])
    staged.write(emitter, tile, inner)
    for dim, place in enumerate(places):
        if dim != last:
            _pad(emitter, access, staged, dim, 0, inner[dim])
        _pad(emitter, access, staged, dim, inner[dim] + place.span.size, None)
    return staged


def _allocate(
    emitter: Emitter, access: Access, places: Sequence[_Place], parts: Sequence[int], order: Sequence[int]
) -> Staged:
    """Memory where what is no padding begins at a whole vector of each row."""
    element = access.value.type.element_type
    lead = lead_of(places[order[-1]].before, element)
    kind = ir.MemRefType.get(memory_shape(access, parts, order, lead), element)
    with ir.InsertionPoint.at_block_begin(emitter.forall.body):
        memory = memref.AllocaOp(kind, [], [], alignment=ALIGNMENT).result
    return Staged(memory, tuple(order), lead)


def _pad(emitter: Emitter, access: Access, staged: Staged, dim: int, first: int, end: int | None) -> None:
    """Padding from ``first`` to ``end`` (None: to the end), in a dim of the value's and all of the others."""
    shape = dict(zip(staged.order, staged.memory.type.shape, strict=True))
    size = (shape[dim] if end is None else end) - first
    if not access.indices[dim].padded or size <= 0:
        return
    assert access.padding is not None
    sizes = [size if each == dim else shape[each] for each in range(len(shape))]
    starts = [first if each == dim else 0 for each in range(len(shape))]
    staged.write(emitter, emitter.stretch(access.padding, sizes), starts)


@dataclass(frozen=True)
class _Place:
    """What a stage has of a dim of the value: ``span``, behind ``before`` elements of padding.

    ``tested``: the span has elements of the padding, too.
    """

    span: Span
    before: int
    tested: bool


def _place(emitter: Emitter, nest: Nest, access: Access, dim: int, part: int) -> _Place:
    index, known = access.indices[dim], window_range(nest, access.indices[dim])
    size = shape_of(access.value)[dim]
    assert known is not None and isinstance(index.start, int)
    outer = tuple(loop for loop in index.loops if loop in nest.parallels)
    spans = [emitter.span(nest, loop) for loop in outer]
    if index.padded and size is not None and all(span.start == 0 for span in spans):
        first = index.start + known[0]
        start, end = max(first, 0), min(first + part, size)
        if start < end:
            return _Place(Span(start, end - start), start - first, tested=False)
    start = emitter.position(nest, replace(index, loops=outer, rest=None, start=index.start + known[0]))
    exact = not index.padded and all(span.exact for span in spans)
    return _Place(Span(start, part, exact), 0, index.padded)


def padded(
    emitter: Emitter, access: Access, spans: Sequence[Span], tested: Sequence[bool], tile: ir.Value
) -> ir.Value:
    """``tile``, but the padding where a position in a ``tested`` dim is not one of what was padded."""
    sizes, dims = [span.size for span in spans], range(len(spans))
    inside: ir.Value | None = None
    for dim, (span, size) in enumerate(zip(spans, shape_of(access.value), strict=True)):
        if tested[dim]:
            assert size is not None
            end = emitter.stretch(emitter.index(size), [span.size])
            # Places below 0 are large ones without a sign.
            here = arith.CmpIOp(arith.CmpIPredicate.ult, emitter.steps(span), end).result
            here = emitter.arrange(here, [dim], dims, sizes)
            inside = here if inside is None else arith.AndIOp(inside, here).result
    if inside is None:
        return tile
    assert access.padding is not None
    return arith.SelectOp(inside, tile, emitter.stretch(access.padding, sizes)).result
