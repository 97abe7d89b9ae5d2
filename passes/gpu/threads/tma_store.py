"""Tiles that one thread has the engine for tensors (TMA) store, from rows in shared memory.

Warps put their matrices there (stmatrix), each row in the place that the swizzle gives it: none of them waits
for a bank. Each thread says that what it has stored comes before what the engine reads (a fence between
proxies), all meet, and one asks for the boxes. It alone waits until they have been read: nobody writes there
before it has come to the next barrier, and a block's memory stays while one of its threads runs. Blocks of a
persistent grid have bytes for that alone, and wait before they write there again. What is beyond a buffer's
end is nobody's: no thread compares.

A kernel's unaligned twin has no tensor maps: there the tile changes hands, and threads store it.
(PTX ISA 9.0, "stmatrix", "cp.async.bulk.tensor", "cp.async.bulk.wait_group".)
"""

from __future__ import annotations

from functools import partial

from mlir import ir
from mlir.dialects import nvvm

from ....dialects.layouts import WARP, Layout, Position
from ..layouts.boxes import CUT, TILE, box_of, cut_of, pieces_of, stored
from ..layouts.warpgroup import PATTERN_BYTES, Factor
from .asynchronous import fence_proxies
from .convert import emit_convert
from .emitter import Emitter
from .matrices import Matrices, matrices_of, store_matrices
from .passage import Passage
from .registry import rule
from .warpgroup import arrangement_of
from .written_text import write_asm

# Of a streamed buffer: it leaves the cache first, as by st.global.cs.
_FIRST = "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;"


def matrices_for(layout: Layout, factor: Factor) -> Matrices | None:
    """The matrices that warps store of a tile whose rows lie as ``factor`` says, if they have such ones."""
    if layout.copies:
        return None
    how, found = arrangement_of(factor), matrices_of(layout, factor.sizes, factor.element_bytes)
    return next((one for one in found if one.inner == factor.inner and how.adds_up(one.rows)), None)


@rule(TILE)
def emit_tile(em: Emitter, op: ir.Operation) -> None:
    """Put a tile into shared memory, for its write, which does so itself with the parts of one."""
    if not em.aligned:
        emit_convert(em, op)
        return
    (use,) = op.results[0].uses
    if CUT not in op.attributes:
        _put(em, use.owner.operation, 0)


def _put(em: Emitter, write: ir.Operation, part: int) -> None:
    """Put a part of what is written into shared memory."""
    tile = write.operands[0]
    (_, factor), (dim, parts) = stored(write), cut_of(write)
    source, how = tile.owner.operands[0], arrangement_of(factor)
    fragment, layout = em.fragment(source), em.layout(source).cut(dim, parts)
    matrices = None if layout is None else matrices_for(layout, factor)
    assert matrices is not None, "mlopt-gpu-tma-stores has asked"
    region = em.staging
    if region is None:
        region = em.shared.alloc(factor.bytes, PATTERN_BYTES)
    else:
        _wait(em)
    em.shared.writes(region)
    element = em.element(tile.type)
    passage = Passage(matrices.rows, matrices.rows, how, None)
    pointer = passage.pointers(em, matrices.rows, em.shared.pointer(region), element)
    before = [part * factor.sizes[dim] if at == dim else 0 for at in range(len(factor.sizes))]

    def held(place: Position) -> ir.Value:
        return fragment[tuple(one + more for one, more in zip(place, before, strict=True))]

    for start in matrices.starts:
        words = [[held(place) for place in word] for word in matrices.members(start)]
        store_matrices(em.build, pointer(start), words, matrices.turned)
    fence_proxies()
    em.staged[tile] = region


def store_boxes(em: Emitter, write: ir.Operation) -> None:
    """Store a tile that is in shared memory, or its parts, one after the other."""
    build, tile = em.build, write.operands[0]
    (access, factor), (dim, parts) = stored(write), cut_of(write)
    buffer, byte = em.buffers[access.buffer], ir.IntegerType.get_signless(8)
    em.wide = True
    if access.rests_on_size:
        em.multiples.add(buffer)

    def store(part: int) -> list[ir.Value]:
        first, place = em.shared.pointer(em.staged[tile]), [em.number(index) for index in access.indices]
        memory = access.dims[dim]
        place[memory] = build.add(place[memory], part * factor.sizes[dim])
        piece = factor.span // factor.element_bytes
        hint = None
        if buffer.streamed:
            hint = write_asm([ir.IntegerType.get_signless(64)], _FIRST, "=l", []).results[0]
        for number in range(pieces_of(factor)):
            at = [*place[:-1], build.add(place[-1], number * piece)]
            nvvm.CpAsyncBulkTensorSharedCTAToGlobalOp(
                em.maps[box_of(write)],
                build.offset(first, byte, number * factor.span * factor.sizes[factor.outer]),
                [build.word(each) for each in reversed(at)],
                l2CacheHint=hint,
            )
        nvvm.CpAsyncBulkCommitGroupOp()
        if em.staging is None:
            nvvm.CpAsyncBulkWaitGroupOp(0, read=True)
        return []

    for part in range(parts):
        if parts > 1:
            _put(em, write, part)
        em.shared.reads(em.staged[tile])
        em.choose(_one(em), [], partial(store, part))
    if em.staging is None:
        em.shared.free(em.staged[tile])


@rule("mlopt.tma_stored")
def emit_stored(em: Emitter, _: ir.Operation) -> None:
    """What the block has stored has left its shared memory."""
    if em.aligned:
        _wait(em)


def _wait(em: Emitter) -> None:
    """All threads wait until the engine has read what was stored last."""

    def wait() -> list[ir.Value]:
        nvvm.CpAsyncBulkWaitGroupOp(0, read=True)
        return []

    em.choose(_one(em), [], wait)
    em.shared.barrier()


def _one(em: Emitter) -> ir.Value | bool:
    """Whether this is the thread that asks for boxes."""
    return em.only(em.warps * WARP - 1)
