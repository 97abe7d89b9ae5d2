"""In which order a tensor's dims are read: in the loops' order, so that tiles are read as they were made."""

from __future__ import annotations

from ..costs.count import bytes_of_element
from ..tiling.access import Access, Index, Nest

LINE = 64  # bytes of a cache's line


def out_of_order(read: Access, nest: Nest) -> str:
    """How ``nest`` reads a value, so that its tiles are not those of what reads it."""
    for dim, index in enumerate(read.indices):
        where = f"what is made in the kernel is read there, along dim {dim},"
        if index.rest is not None or len(index.loops) > 1:
            return f"{where} at {_place(index)}, computed of loops"
        if index.stride != 1:
            return f"{where} in steps of {index.stride}"
        if index.partial:
            return f"{where} in part, {_elements(index, nest)}"
    loops = ", ".join(str(index.loops[0]) for index in read.indices if index.plain)
    return f"what is made in the kernel is read there transposed: its dims are loops {loops} of the reader"


def _place(index: Index) -> str:
    """The place that is read of a dim, as MLIR writes it."""
    loops = " + ".join(f"d{loop}" for loop in index.loops)
    scaled = loops if index.stride == 1 or not loops else f"({loops}) * {index.stride}"
    start = index.start if isinstance(index.start, int) else "a number that is computed before"
    terms = (scaled, *(str(term) for term in (index.rest, start) if term))
    return " + ".join(term for term in terms if term)


def _elements(index: Index, nest: Nest) -> str:
    """Which elements of a dim are read, one after the other."""
    if not isinstance(index.start, int):
        return "from a place on that is computed before"
    count = nest.extents[index.loops[0]] if index.loops else 1
    if count is None:
        return f"from element {index.start} on"
    last = index.start + count - 1
    return f"element {last}" if count == 1 else f"elements {index.start} to {last}"


def as_whole(read: Access) -> Access:
    """The access if parts of dims that are read side by side were all of them."""
    indices = (
        index if index.rest is not None or index.stride != 1 or len(index.loops) > 1 else Index(index.loops)
        for index in read.indices
    )
    return Access(read.value, tuple(indices))


def is_turned(read: Access, nest: Nest) -> bool:
    """Whether all loops are read, each in a dim of its own."""
    loops = [index.loops[0] for index in read.indices if index.plain]
    return len(loops) == len(read.indices) and sorted(loops) == list(range(len(nest.kinds)))


def loops_in_order(read: Access) -> list[int] | None:
    """The loops that a value is read with, if they are in the loops' order; dims of one element aside."""
    loops = [index.loops[0] for index in read.indices if index.plain]
    if sum(index.plain or index.unit for index in read.indices) < len(read.indices):
        return None
    return loops if loops == sorted(loops) else None


def rows_in_order(read: Access, nest: Nest) -> bool:
    """Whether a value is read as it lies, or in other order but by whole lines: rows of heads, as queries."""
    if loops_in_order(read) is not None:
        return True
    loops = [loop for index in read.indices for loop in index.loops]
    inner = max(loops)
    if read.indices[-1].loops != (inner,) or not all(index.plain or index.unit for index in read.indices):
        return False
    extent = nest.extents[inner]
    return extent is None or extent * bytes_of_element(read.value) >= LINE
