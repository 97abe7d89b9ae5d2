"""Results of warpgroups are stored by the engine for tensors (TMA): warps put matrices into shared memory.

Before (two warpgroups)::

    %h = arith.truncf %d {mlopt.layout = "reg 2:(8,0) 32:(0,8) 2:(0,1) …"} : … to vector<128x256xbf16>
    %t = "mlopt.convert_layout"(%h) {mlopt.layout = "reg 16:(8,0) 8:(0,1) lane 32:(0,8) warp 8:(1,0)"}
    vector.transfer_write %t, %out[%i, %j]

After::

    %t = "mlopt.tma_tile"(%h) {mlopt.layout = "reg 16:(8,0) 8:(0,1) lane 32:(0,8) warp 8:(1,0)"}
    vector.transfer_write %t, %out[%i, %j]

Threads have two neighbours each of what wgmma makes, halves of sectors, so a tile of half floats comes
through shared memory in any case. There it lies in the swizzled rows of 128 bytes that a tensor map
describes: four matrices of 8 x 8 are one stmatrix, turned on the way if columns lie along memory, and one
thread asks for the boxes. No thread loads its part again, has addresses in the buffer or compares them with
its end. In the kernel's twin for what is unaligned threads store as before.

Legal behind mlopt-gpu-assign-layouts, on sm_90a, for kernels whose products are made by warpgroups: of a tile
of 16-bit elements that changes hands only to be stored, to an argument of the kernel that nothing else
accesses, of five dims at most, whose rows are multiples of 16 bytes (of dynamic sizes the launch asks, and
takes the twin if not). The tile's rows in memory are 32, 64 or a multiple of 128 bytes, eight or a multiple
of them, 256 at most. What stays has the reason in mlopt.stored_by_threads, which `mlopt explain --layout`
tells: sums of f32 are whole sectors as threads have them, and gain nothing.

Effect on sm_90a: 4096 x 4096 x 4096 in bf16 with a bias by blocks of 128x256x64 has 616 instructions, not
680, of a result that is turned 608, not 824: a thread of 64 words has 16 stmatrix, no other access to memory,
and as many registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import LAYOUT, STORED_BY_THREADS
from ...dialects.layouts import Layout
from ..base import Pass
from ..operations import defining_op, ops_named
from .grids import grids_of
from .layouts.access import Access, access_of
from .layouts.boxes import TILE, box_problem, stored
from .layouts.tiles import sizes_of
from .layouts.warpgroup import HELD, PATTERN, PRODUCT, Factor, can_swizzle
from .layouts.warps import BLOCK_SHARED
from .threads.tma_store import matrices_for

_CONVERT, _WRITE = "mlopt.convert_layout", "vector.transfer_write"
_HALF = 2  # bytes of the elements of a matrix


@dataclass(frozen=True)
class TmaStores(Pass):
    """Store results of warpgroups by boxes; ``shared``: the bytes of shared memory that a block may have."""

    name: ClassVar[str] = "mlopt-gpu-tma-stores"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite the writes of each kernel with products of warpgroups."""
        for forall in grids_of(op):
            if ops_named(forall, PRODUCT, HELD):
                for write in ops_named(forall, _WRITE):
                    if (problem := can_store(write, self.shared)) is None:
                        _rewrite(write.operands[0].owner.operation)
                    else:
                        STORED_BY_THREADS.set(write, problem)


def can_store(write: ir.Operation, shared: int) -> str | None:
    """Why threads store a tile, or None."""
    access = access_of(write)
    if access.element_bytes != _HALF:
        return f"elements have {access.element_bytes} bytes, those of stmatrix {_HALF}"
    if access.bytes > shared:
        return f"a tile of {access.bytes} bytes does not fit {shared} of shared memory"
    turned = defining_op(access.tile, _CONVERT)
    if turned is None:
        return "threads have whole sectors of a tile"
    if len(list(turned.results[0].uses)) > 1 or turned.block != write.block:
        return "a tile changes hands for something else, too"
    if any(use.owner.operation not in (write, *_sizes(access)) for use in access.buffer.uses):
        return "its kernel accesses the result elsewhere, too"
    return _shape_problem(access) or _box_problem(write, turned)


def _sizes(access: Access) -> list[ir.Operation]:
    """What asks for a buffer's size alone."""
    return [op for use in access.buffer.uses if (op := use.owner.operation).name == "memref.dim"]


def _shape_problem(access: Access) -> str | None:
    """Why a tile's rows cannot be those of boxes."""
    order, sizes = access.order(), sizes_of(access.tile)
    if access.contiguous() is None:
        return "neighbours in memory are not neighbours of a tile"
    if len(order) != 2:
        return f"a tile has {len(order)} dims of more than one element, not rows and columns"
    inner, outer = order
    return rows_problem(Factor(tuple(sizes), access.element_bytes, outer, inner, inner))


def rows_problem(tile: Factor) -> str | None:
    """Why rows of a tile, or of a part of it, are no whole ones of the swizzle's pattern."""
    length, rows = tile.sizes[tile.inner] * tile.element_bytes, tile.sizes[tile.outer]
    if not can_swizzle(length):
        return f"rows of a tile have {length} bytes, not 32, 64 or a multiple of 128"
    return f"a tile has {rows} rows, no multiple of {PATTERN}" if rows % PATTERN else None


def _box_problem(write: ir.Operation, turned: ir.Operation) -> str | None:
    """Why a tile is not stored by boxes, or not by matrices."""
    problem = box_problem(*stored(write), "the result")
    if problem is not None:
        return problem
    layout = layout_of(turned.operands[0])
    if layout is None or matrices_for(layout, stored(write)[1]) is None:
        return "what threads have of a tile are no matrices"
    return None


def layout_of(tile: ir.Value) -> Layout | None:
    """How threads have a tile; None if it is one scalar, or carried by a loop."""
    if isinstance(tile.owner, ir.Block):
        return None
    result = ir.OpResult(tile)
    texts = LAYOUT.get(result.owner) or ("",) * len(result.owner.results)
    text = texts[result.result_number]
    return Layout.parse(text) if text else None


def _rewrite(turned: ir.Operation) -> None:
    with ir.InsertionPoint(turned), turned.location:
        made = ir.Operation.create(TILE, [turned.results[0].type], list(turned.operands))
    made.attributes[LAYOUT.name] = turned.attributes[LAYOUT.name]
    turned.results[0].replace_all_uses_with(made.results[0])
    turned.erase()
