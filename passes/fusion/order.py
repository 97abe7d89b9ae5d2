"""In which order a tensor's dims are read: in the loops' order, so that tiles are read as they were made."""

from __future__ import annotations

from ..tiling.access import Access, Index, Nest


def out_of_order(read: Access) -> str:
    """How a value is read, so that its tiles are not those of what reads it."""
    for dim, index in enumerate(read.indices):
        where = f"what is made in the kernel is read there, along dim {dim},"
        if index.rest is not None or len(index.loops) > 1:
            return f"{where} at computed places"
        if index.stride != 1:
            return f"{where} in steps of {index.stride}"
        if index.partial:
            start = f"element {index.start}" if isinstance(index.start, int) else "a place computed before"
            return f"{where} in part, from {start} on"
    loops = ", ".join(str(index.loops[0]) for index in read.indices if index.plain)
    return f"what is made in the kernel is read there transposed: its dims are loops {loops} of the reader"


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
