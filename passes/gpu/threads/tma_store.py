"""Tiles that one thread has the engine for tensors (TMA) store, from rows in shared memory.

Warps put their matrices there (stmatrix), each row in the place that the swizzle gives it: none of them waits
for a bank. Each thread says that what it has stored comes before what the engine reads (a fence between
proxies), all meet, and one asks for the boxes. It alone waits until they have been read: nobody writes there
before it has come to the next barrier, and a block's memory stays while one of its threads runs. What is
beyond a buffer's end is nobody's: no thread compares.

A kernel's unaligned twin has no tensor maps: there the tile changes hands, and threads store it.
(PTX ISA 9.0, "stmatrix", "cp.async.bulk.tensor", "cp.async.bulk.wait_group".)
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import nvvm

from ....dialects.layouts import WARP, Layout
from ..layouts.boxes import TILE, box_of, pieces_of, stored
from ..layouts.warpgroup import PATTERN_BYTES, Factor
from .asynchronous import fence_proxies
from .convert import emit_convert
from .emitter import Emitter
from .matrices import Matrices, matrices_of, store_matrices
from .passage import Passage
from .registry import rule
from .warpgroup import arrangement_of, write_asm

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
    """Put a tile into shared memory, for the write that takes it from there."""
    if not em.aligned:
        emit_convert(em, op)
        return
    (use,) = op.results[0].uses
    _, factor = stored(use.owner.operation)
    source, how = op.operands[0], arrangement_of(factor)
    fragment, matrices = em.fragment(source), matrices_for(em.layout(source), factor)
    assert matrices is not None, "mlopt-gpu-tma-stores has asked"
    region = em.shared.alloc(factor.bytes, PATTERN_BYTES)
    em.shared.writes(region)
    element = em.element(op.results[0].type)
    passage = Passage(matrices.rows, matrices.rows, how, None)
    pointer = passage.pointers(em, matrices.rows, em.shared.pointer(region), element)
    for start in matrices.starts:
        words = [[fragment[place] for place in word] for word in matrices.members(start)]
        store_matrices(em.build, pointer(start), words, matrices.turned)
    fence_proxies()
    em.staged[op.results[0]] = region


def store_boxes(em: Emitter, write: ir.Operation) -> None:
    """Store a tile that is in shared memory."""
    build, region = em.build, em.staged[write.operands[0]]
    access, factor = stored(write)
    buffer, byte = em.buffers[access.buffer], ir.IntegerType.get_signless(8)
    em.wide = True
    if access.rests_on_size:
        em.multiples.add(buffer)
    em.shared.reads(region)

    def store() -> list[ir.Value]:
        first, place = em.shared.pointer(region), [em.number(index) for index in access.indices]
        piece = factor.span // factor.element_bytes
        hint = None
        if buffer.streamed:
            hint = write_asm([ir.IntegerType.get_signless(64)], _FIRST, "=l", []).results[0]
        for part in range(pieces_of(factor)):
            at = [*place[:-1], build.add(place[-1], part * piece)]
            nvvm.CpAsyncBulkTensorSharedCTAToGlobalOp(
                em.maps[box_of(write)],
                build.offset(first, byte, part * factor.span * factor.sizes[factor.outer]),
                [build.word(each) for each in reversed(at)],
                l2CacheHint=hint,
            )
        nvvm.CpAsyncBulkCommitGroupOp()
        nvvm.CpAsyncBulkWaitGroupOp(0, read=True)
        return []

    em.choose(em.only(em.warps * WARP - 1), [], store)
    em.shared.free(region)
