"""Loads of windows without a branch: of those beside the image, and of threads that have no window.

Windows that lie partly beside the image are loaded from the nearest place in memory.

A branch for each row or column of a window that may not be there holds back what comes after it: LLVM lets
the loads of one condition, and what is made of them, share a branch, and the loads behind it wait for these.
Here all of a window's loads come first, and what is beside the image is replaced by the padding after that.
The nearest place is one that another of the window's loads takes, and costs memory nothing.

Measured: a maximum of 3x3 at every other place of f16, 120 instructions and 48 registers (208 and 54), and
none of its nine loads late (two): without branches LLVM keeps the maximum in pairs of f16.

Rows of 12 windows leave four of sixteen lanes without any. These load what the first thread does, which is
there, so that the others' neighbours are loaded at once: pools of 2x2 in rows of 24 f32 make five accesses of
16 bytes where they made nine of 4, with 88 instructions and 32 registers (56 and 22): a fifth of what memory
takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ....dialects.layouts import Position
from ...constants import integer_of
from ...operations import defining_op
from ..layouts.tiles import sizes_of
from .builder import Number
from .memory import Place


def can_load_nearest(place: Place, positions: Sequence[Position]) -> bool:
    """Whether accesses at ``positions`` have a nearest place: a buffer of known sizes that are not zero has.

    Along dims that are in bounds they stay in the tile. Nobody may write to the buffer meanwhile; and an
    access of several elements keeps its place along their dim, where it is aligned.
    """
    access, sizes = place.access, place.buffer.sizes
    if not place.buffer.constant or not all(isinstance(size, int) and size > 0 for size in sizes):
        return False
    for dim, (extent, inside) in enumerate(zip(sizes_of(access.tile), access.in_bounds, strict=True)):
        span = place.width if dim == place.inner else 1
        last = max(position[dim] for position in positions) + span + place.layout.thread_reach(dim)
        if (last > extent) if inside else (span > 1):
            return False
    return True


def can_load_first(place: Place) -> bool:
    """Whether threads beyond the tile may load what the first one does: all of the tile is in memory."""
    return place.buffer.constant and all(place.access.in_bounds)


def should_load_first(place: Place) -> bool:
    """Whether branches would part neighbours: of windows that lie side by side LLVM loads several at once."""
    return place.em.in_pieces and place.width == 1 and place.access.beside(place.layout) > 1


def load_first(place: Place, positions: Sequence[Position]) -> list[ir.Value]:
    """The elements at some positions; of a thread whose windows are beyond the tile the first thread's."""
    build, access = place.em.build, place.access
    inner, values = access.order()[0], list[ir.Value]()
    run = place.layout.run(inner)
    for position in positions:
        lead = tuple(at - at % run if dim == inner else at for dim, at in enumerate(position))
        own = place.inside(lead, 1, writes=False)
        pointer = place.pointer(position, own)
        alignment = place.alignment_at(position)
        values += build.load(pointer, place.buffer.element, 1, alignment, constant=True)
    return values


def should_load_nearest(place: Place) -> bool:
    """Whether branches would part the loads of a window: a loop that is written out goes place by place.

    Single elements are better off with a branch: ptxas makes it a predicate of the load and of what follows,
    and LLVM loads two neighbours at once (of windows of f32 28 loads and 104 instructions, not 36 and 136).
    """
    ragged = (dim for dim, inside in enumerate(place.access.in_bounds) if not inside)
    indices = (place.access.indices[place.access.dims[dim]] for dim in ragged)
    return place.em.in_pieces and place.width > 1 and any(map(_is_of_window, indices))


def _is_of_window(index: ir.Value) -> bool:
    """Whether an index is made of the variable of a loop whose step is one."""
    made = defining_op(index, "affine.apply")
    blocks = [value.owner for value in ([index] if made is None else made.operands)]
    loops = [block.owner for block in blocks if isinstance(block, ir.Block)]
    return any(loop.name == "scf.for" and integer_of(loop.operands[2]) == 1 for loop in loops)


def load_nearest(place: Place, whole: ir.Value, positions: Sequence[Position]) -> list[ir.Value]:
    """The elements of some accesses, of the nearest ones where ``whole`` does not hold: there the padding."""
    build, kind = place.em.build, place.buffer.element
    padding = build.vector([build.constant(kind, place.access.padding)] * place.count)
    values: list[ir.Value] = []
    for position in positions:
        address = nearest(place, place.pointer(position), position)
        loaded = build.load(address, kind, place.count, place.alignment, constant=True)
        chosen = build.op("arith.select", [whole, build.vector(loaded), padding], padding.type)
        values += build.elements(chosen)
    return values


def nearest(place: Place, pointer: ir.Value, position: Position, but: int | None = None) -> ir.Value:
    """The address of an access, moved to the first or last element along dims where it is beside memory.

    Not along the dim ``but``.
    """
    em, build, access, strides = place.em, place.em.build, place.access, place.strides()
    moved: Number = 0
    for dim, (at, memory, inside) in enumerate(zip(position, access.dims, access.in_bounds, strict=True)):
        if inside or dim == but:
            continue
        start = build.add(em.number(access.indices[memory]), em.thread(place.layout, dim))
        here = build.add(start, at)
        last = build.sub(place.buffer.sizes[memory], 1)
        missing = build.sub(build.most(0, build.least(here, last)), here)
        moved = build.add(moved, build.mul(missing, strides[memory]))
    return build.offset(pointer, place.buffer.element, moved)
