"""Tiles that are stored inside the loops over another one, so that shared work is done once.

A kernel with two results writes both from one loop nest: tiles of one shape strip by strip, a
row's result (a softmax's sum) once a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlir import ir

from .blocked import Blocks
from .bounds import fits
from .columns import Columns
from .cover import Cover
from .fragment import sizes_of
from .layout import Layout
from .memory import memory_dims
from .panel import PanelPlan


@dataclass(frozen=True)
class Nest:
    """The covers of a written tile's dims, outermost first, the lanes of a full strip, packed reads.

    ``blocks`` cut contractions, ``columns`` a reduction of rows.
    """

    covers: tuple[Cover, ...]
    lanes: int
    packed: dict[ir.Operation, PanelPlan] = field(default_factory=dict)
    blocks: tuple[Blocks, ...] = ()
    columns: Columns | None = None


@dataclass(frozen=True)
class Guest:
    """A write whose dims are dims of the nest's root (None: unit dims), inside ``depth`` loops of it."""

    root: ir.OpView
    dims: tuple[int | None, ...]
    depth: int


def guest_of(layout: Layout, main: ir.OpView, nest: Nest, root: ir.OpView) -> Guest | None:
    """How ``root`` can be stored inside ``main``'s nest, if it can."""
    dims = _places(layout, main.valueToStore, root.valueToStore)
    if dims is None:
        return None
    pairs = [(dim, place) for dim, place in enumerate(dims) if place is not None]
    used = {place for _, place in pairs}
    depth = len(used)
    # What is made of one vector along two dims has one class for both: a loop would run along its diagonal.
    if len(pairs) != depth or used != {how.dim for how in nest.covers[:depth]}:
        return None
    return (
        Guest(root, tuple(dims), depth)
        if all(_same_extent(main, at, root, dim) for dim, at in pairs)
        else None
    )


def _places(layout: Layout, main: ir.Value, tile: ir.Value) -> list[int | None] | None:
    """For each dim of a tile the dim of the main tile that it is; None if it is another."""
    if sizes_of(main) == sizes_of(tile):
        return [None if size == 1 else dim for dim, size in enumerate(sizes_of(main))]
    known: Sequence[object] = layout.classes.all_of(main)
    places: list[int | None] = []
    for dim in layout.classes.all_of(tile):
        if dim is not None and dim not in known:
            return None
        places.append(None if dim is None else known.index(dim))
    return places


def _same_extent(left: ir.OpView, left_dim: int, right: ir.OpView, right_dim: int) -> bool:
    """Whether as many positions of both dims lie in memory."""
    ends = []
    for op, dim in ((left, left_dim), (right, right_dim)):
        place = memory_dims(op)[dim]
        if place is None:
            return False
        index, size = op.indices[place], op.base.type.shape[place]
        whole = op.in_bounds[dim].value or fits(index, sizes_of(op.valueToStore)[dim], size)
        ends.append((whole, index, size))
    if ends[0][0] and ends[1][0]:
        return True
    return ends[0][0] == ends[1][0] and ends[0][2] == ends[1][2] and bool(ends[0][1] == ends[1][1])
