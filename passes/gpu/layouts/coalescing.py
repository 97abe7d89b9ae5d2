"""Whether a warp's accesses under a layout touch little more of memory than they use."""

from __future__ import annotations

from ....dialects.layouts import SECTOR_BYTES, Layout, sectors
from .access import WIDE, Access
from .tiles import sizes_of
from .windows import overlap_of

WORTH_TURNING = 1 << 8  # bytes of a tile from which on it pays to turn it through shared memory
TOO_MANY = 2  # times the sectors that are needed


def is_scattered(access: Access, layout: Layout) -> bool:
    """Whether the tile is better accessed in another layout and turned."""
    return access.bytes >= WORTH_TURNING and waste(access, layout) >= TOO_MANY


def is_narrow(access: Access, layout: Layout) -> bool:
    """Whether threads have fewer neighbours than an access may hold: of a turned tile they have more."""
    inner = access.contiguous()
    return inner is not None and access.bytes >= WORTH_TURNING and layout.run(inner) < access.width()


def waste(access: Access, layout: Layout) -> float:
    """The sectors that one access of the first warp touches, over the fewest that hold as many bytes.

    Where every other element is wanted, those between are among the bytes.
    """
    inner, beside, overlap = access.contiguous(), access.beside(layout), overlap_of(access)
    if overlap is not None and overlap.step * layout.run(overlap.dim) * access.element_bytes % WIDE == 0:
        width = overlap.step * layout.run(overlap.dim)
    else:
        width = beside if inner is None else min(layout.run(inner), access.width()) * access.rows_in(layout)
    sizes = sizes_of(access.tile)
    positions = set(layout.lane_positions)
    inside = [
        access.address(position)
        for position in positions
        if all(at < size for at, size in zip(position, sizes, strict=True))
    ]
    size = width * access.element_bytes
    fewest = -(-len(inside) * size * access.step // SECTOR_BYTES)
    return sectors(inside, size) / fewest
