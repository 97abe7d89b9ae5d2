"""Tiles that are dear to compute and needed in more than one loop: kept in a scratch buffer.

The softmax of a row is the model: exp(x - max) is summed in one loop and divided in the next.
The first loop (the *owner*, a reduction) stores what it computes, the later ones load it. The
buffer holds what one turn of the loops around the owner needs: a row, not the whole tile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import memref, vector

from ...combining import kept_dims, reduced_dims
from ...divisions import DIVISIONS
from .emitter import Emitter, normal_strip
from .fragment import Axis, Fragment, Key, Strip, element_of, keys_of, lane_of, sizes_of
from .types import bits_of, bytes_of
from .vectors import spread

if TYPE_CHECKING:
    from .layout import Layout

LARGEST_BYTES = 32 * 1024
# All of a task's scratch: stages, panels, sums, kept tiles. A thread has so much for as long as it lives.
TASK_BYTES = 4 * 1024 * 1024
# Of it what has been taken when one more tile is kept. A tile can be computed again; for the others, some of
# which ask after it, there is no other way, and the other half is theirs.
KEPT_BYTES = TASK_BYTES // 2
_DEAR = ("arith.divf", *DIVISIONS, "scf.for", "vector.contract")
_CHEAP_MATH = (
    "math.absf",
    "math.absi",
    "math.fma",
    "math.copysign",
    "math.floor",
    "math.ceil",
    "math.trunc",
    "math.rint",
    "math.roundeven",
)


class Buffer:
    """Memory of one tile; along the dims of ``kept`` it holds the positions of one strip alone.

    ``depth`` is the loop level from which on it may be read.
    """

    most: int | None = KEPT_BYTES
    """How much a task may have with it; without room it is computed again. None: there is no other way."""

    def __init__(self, value: ir.Value, kept: Collection[int], depth: int = 0) -> None:
        self.value = value
        self.kept = kept
        self.depth = depth
        self._memory: ir.Value | None = None
        self._lane: int | None = None
        self._is_kept = True

    def store(self, em: Emitter, strip: Strip, fragment: Fragment) -> None:
        """Store a fragment; all have their lanes along the same dim and there is room, or none is kept."""
        lane = lane_of(strip)
        if self._memory is None and self._is_kept:
            self._memory, self._lane = self._allocate(em, strip), lane
        if self._memory is None or lane != self._lane:
            self._is_kept = False
            return
        for key in keys_of(strip):
            indices = self._indices(em, strip, key)
            with em.here():
                if lane is None:
                    memref.StoreOp(fragment[key], self._memory, indices)
                else:
                    vector.StoreOp(spread(fragment[key], strip[lane].lanes), self._memory, indices)

    def can_load(self, strip: Strip) -> bool:
        """Whether what was stored can be read in the lanes of ``strip``."""
        return self._memory is not None and self._is_kept and lane_of(strip) in (None, self._lane)

    def load(self, em: Emitter, strip: Strip) -> Fragment:
        """Load a fragment."""
        lane = lane_of(strip)
        values = {}
        for key in keys_of(strip):
            indices = self._indices(em, strip, key)
            with em.here():
                if lane is None:
                    values[key] = memref.LoadOp(self._memory, indices).result
                else:
                    kind = ir.VectorType.get([strip[lane].lanes], element_of(self.value))
                    values[key] = vector.LoadOp(kind, self._memory, indices).result
        return Fragment(values)

    def _allocate(self, em: Emitter, strip: Strip) -> ir.Value | None:
        sizes = []
        for dim, (size, axis) in enumerate(zip(sizes_of(self.value), strip, strict=True)):
            width = axis.count * max(axis.lanes, 1)
            sizes.append(width if dim in self.kept or size == 1 else -(-size // width) * width)
        order = self._order(lane_of(strip), len(sizes))
        kind = ir.MemRefType.get([sizes[dim] for dim in order], element_of(self.value))
        return em.allocate(kind, self.most)

    def _order(self, lane: int | None, rank: int) -> list[int]:
        return [*(dim for dim in range(rank) if dim != lane), *([] if lane is None else [lane])]

    def _indices(self, em: Emitter, strip: Strip, key: Key) -> list[ir.Value]:
        places = []
        for dim, (axis, step) in enumerate(zip(strip, key, strict=True)):
            kept = dim in self.kept
            places.append(em.index(step * max(axis.lanes, 1)) if kept else em.position(axis, step))
        return [places[dim] for dim in self._order(self._lane, len(places))]


class Scratch:
    """The buffers of one tile: one for each strip at which the owner's loop runs."""

    def __init__(self, value: ir.Value, owner: ir.OpView, kept: dict[int, int]) -> None:
        self.value = value
        self.owner = owner
        self.kept = kept
        self.filled: Buffer | None = None  # while the owner's loop is emitted
        self._buffers: dict[Strip, Buffer] = {}

    @contextmanager
    def filling(self, em: Emitter, strip: Strip) -> Iterator[None]:
        """The owner's loops for ``strip`` are emitted: what they compute is to be stored."""
        self.filled = self._buffers[strip] = Buffer(self.value, self.kept, em.depth)
        yield
        self.filled = None

    def buffer_at(self, em: Emitter, strip: Strip) -> Buffer | None:
        """What ``strip`` can be loaded from, after the owner's loop; None if it has to be computed again.

        That is so where the loop has run before anyone wanted to keep the tile, or along other lanes.
        """
        places = {result: dim for dim, result in self.kept.items()}
        result = self.owner.results[0]
        asked = tuple(strip[places[dim]] if dim in places else Axis() for dim in range(len(sizes_of(result))))
        em.emit(result, asked)
        buffer = self._buffers.get(normal_strip(result, asked))
        return buffer if buffer is not None and buffer.can_load(strip) else None


def plan_scratches(
    layout: Layout, ops: Sequence[ir.OpView], roots: list[ir.Value]
) -> dict[ir.Value, Scratch]:
    """Which of the ops of a block to keep the tiles of, for ``roots``.

    From the last op to the first: what a kept tile is made from is then needed in its owner's
    loop alone.
    """
    before = {op.operation for root in roots for op in layout.made_from(root)}
    block_ops = [op for op in ops if op.operation in before]
    reductions = [op for op in block_ops if op.operation.name == "vector.multi_reduction"]
    planned: dict[ir.Value, Scratch] = {}
    for op in reversed(block_ops):
        if len(op.results) != 1 or prod(sizes_of(op.results[0])) <= 1:
            continue
        value = op.results[0]
        users = [owner for owner in reductions if value in _reached([owner.source], planned, owner)]
        later = value in _reached(roots, planned, None)
        if users and len(users) + later > 1 and _worth_keeping(layout, value, users[0], planned):
            kept = _kept_dims(layout, value, users[0])
            if kept is not None:
                planned[value] = Scratch(value, users[0], kept)
    return planned


def _reached(
    starts: list[ir.Value], planned: dict[ir.Value, Scratch], phase: ir.OpView | None
) -> set[ir.Value]:
    """The tiles that the loop of ``phase`` (None: the roots') computes or loads."""
    reached: set[ir.Value] = set()
    pending = list(starts)
    while pending:
        value = pending.pop()
        owner = value.owner
        if value in reached or isinstance(owner, ir.Block):
            continue
        reached.add(value)
        elsewhere = value in planned and (phase is None or planned[value].owner != phase)
        if owner.name != "vector.multi_reduction" and not elsewhere:
            pending += owner.operands
    return reached


def _worth_keeping(
    layout: Layout, value: ir.Value, owner: ir.OpView, planned: dict[ir.Value, Scratch]
) -> bool:
    """Whether it has a dear op over the reduced dims behind it, and a row of it is small."""
    gone, sizes = reduced_dims(owner), sizes_of(owner.source)
    classes = {layout.classes.of(owner.source, dim) for dim in gone if sizes[dim] != 1}
    row = prod(sizes[dim] for dim in gone) * bytes_of(element_of(value))
    if row > LARGEST_BYTES or bits_of(element_of(value)) == 0:
        return False
    return any(
        _is_dear(made.owner.name) and classes & set(layout.classes.all_of(made))
        for made in _reached([value], planned, owner)
    )


def _is_dear(name: str) -> bool:
    return name in _DEAR or (name.startswith("math.") and name not in _CHEAP_MATH)


def _kept_dims(layout: Layout, value: ir.Value, owner: ir.OpView) -> dict[int, int] | None:
    """For each dim that the owner keeps: dim of the tile -> dim of the owner's result; None if
    the tile's dims are not the dims of the owner's source.
    """
    source = layout.classes.all_of(owner.source)
    mine = layout.classes.all_of(value)
    if {known for known in source if known} != {known for known in mine if known}:
        return None
    kept = {}
    for place, dim in enumerate(kept_dims(owner)):
        if source[dim] is not None:
            kept[mine.index(source[dim])] = place
    return kept
