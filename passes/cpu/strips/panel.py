"""Packing: the part of a contraction's operand that a strip of lanes needs, copied into one panel.

    memory B[k][n], rows far apart            panel P[k][lanes], one row after the other

The rows of a matrix are read again for each strip of rows of the result. Where they are far
apart they fall into few sets of the caches and drive each other out; the panel does not. It is
filled once a strip of lanes, outside of the loop over rows. (1024^3: 94 to 110 GFLOP/s.)
Rows to come are prefetched while one is copied: no hardware does that where each is in a page of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import arith, memref, vector

from .bounds import DYNAMIC
from .fragment import Axis, Fragment, Key, Strip, keys_of, sizes_of
from .masks import mask_of, valid_lanes
from .memory import inside, memory_dims
from .turned import fill_turned
from .types import bytes_of
from .vectors import spread

if TYPE_CHECKING:
    from .emitter import Emitter

LARGEST_BYTES = 256 * 1024
# A turned panel is written to L1 and read from there, a block of the summed dim at a time; one that cannot be
# cut may be larger.
SMALL_BYTES = 32 * 1024
LARGEST_TURNED_BYTES = 1024 * 1024
LONGEST_SIDE = 16  # rows that are turned at once
# Rows far apart are in as many pages: what is asked for this many rows ahead has come when it is copied. One
# strip of 64 columns, Zen 4: 15.7 to 9 µs for 1000 rows of 4000 bytes, 65 to 31 for 2048 of 8 KB.
ROWS_AHEAD = 16
LINE = 64  # bytes of a cache line
_TO_L2 = 2  # locality of a prefetch (prefetcht1)
# A panel is for at least this many rows of the result, and replaces rows at least so far apart.
LEAST_ROWS = 64
FAR_APART_BYTES = 1024


@dataclass(frozen=True)
class PanelPlan:
    """How one transfer_read is packed: the tile's lane dim, the memory dims that the panel holds.

    Of the dim ``window[0]`` it holds ``window[1]`` positions, those of the current block. ``side`` rows of
    memory are turned into lanes at once; 0: the lanes lie side by side.
    """

    lane: int
    held: tuple[int, ...]
    window: tuple[int, int] | None = None
    side: int = 0

    def size(self, op: ir.OpView, dim: int) -> int:
        """The panel's extent along a memory dim of the read ``op``."""
        return self.window[1] if self.window and self.window[0] == dim else op.base.type.shape[dim]


@dataclass(frozen=True)
class Packing:
    """What panels are for: strips of ``width`` lanes, each for ``rows`` of the result.

    ``side`` rows of memory can be turned at once. A panel holds the positions of ``window`` (`PanelPlan`);
    a turned one has at most ``most_turned`` bytes, any other ``largest``.
    """

    width: int
    rows: int
    side: int
    window: tuple[int, int] | None = None
    most_turned: int = SMALL_BYTES
    largest: int = LARGEST_BYTES


def plan_panels(reads: Sequence[tuple[ir.OpView, int]], how: Packing) -> dict[ir.Operation, PanelPlan]:
    """The panels of those of ``reads``, each with the tile dim of its lanes, that can have one and gain."""
    plans = {read.operation: plan_panel(read, lane, how) for read, lane in reads}
    return {read: plan for read, plan in plans.items() if plan is not None}


def plan_panel(op: ir.OpView, lane: int, how: Packing) -> PanelPlan | None:
    """Pack the read ``op`` in strips along its tile dim ``lane``, if that is legal and pays."""
    if not can_pack(op, memory_dims(op), lane):
        return None
    turned = is_turned(op, lane)
    plan = PanelPlan(lane, held_dims(op, lane), how.window, how.side if turned else 0)
    sizes = [plan.size(op, dim) for dim in plan.held]
    if DYNAMIC in sizes or not plan.held:
        return None
    element = bytes_of(op.base.type.element_type)
    total = prod(sizes) * how.width * element
    if turned:
        return plan if total <= how.most_turned else None
    if how.rows < LEAST_ROWS or total > how.largest or not is_far_apart(op):
        return None
    return plan


def is_far_apart(op: ir.OpView) -> bool:
    """Whether the rows of memory that a read walks along are known to be long."""
    kind = op.base.type
    return bool(kind.shape[-1] * bytes_of(kind.element_type) >= FAR_APART_BYTES)


def is_turned(op: ir.OpView, lane: int) -> bool:
    """Whether lanes along the tile dim ``lane`` are rows of memory, along which alone a task walks."""
    dims, innermost = memory_dims(op), op.base.type.rank - 1
    return dims[lane] not in (None, innermost) and held_dims(op, lane) == (innermost,)


def held_dims(op: ir.OpView, lane: int) -> tuple[int, ...]:
    """The memory dims, but that of the lanes, that a read walks along inside a task."""
    dims, sizes = memory_dims(op), sizes_of(op.results[0])
    return tuple(
        dim
        for dim in range(op.base.type.rank)
        if dim != dims[lane] and (_varies(op.indices[dim]) or (dim in dims and sizes[dims.index(dim)] != 1))
    )


def can_pack(op: ir.OpView, dims: list[int | None], lane: int) -> bool:
    """Whether every position is known to lie in memory, but for lanes past the end."""
    if dims[lane] != op.base.type.rank - 1 and not is_turned(op, lane):
        return False
    axes = [(dim, place) for dim, place in enumerate(dims) if dim != lane]
    return all(place is not None and inside(op, dim, place, Axis()) for dim, place in axes)


def _varies(index: ir.Value) -> bool:
    """Whether an index depends on a loop of the tile IR inside the task."""
    owner = index.owner
    if isinstance(owner, ir.Block):
        return bool(owner.owner.operation.name == "scf.for")
    return any(_varies(operand) for operand in owner.operands)


def load_packed(em: Emitter, op: ir.OpView, plan: PanelPlan, strip: Strip) -> Fragment:
    """The strip's vectors from the panel, which is filled where its lanes are chosen."""
    panel = _panel(em, op, plan, strip)
    dims = memory_dims(op)
    axis = strip[plan.lane]
    kind = ir.VectorType.get([axis.lanes], op.base.type.element_type)
    values: dict[Key, ir.Value] = {}
    for key in keys_of(strip):
        indices = []
        for dim in plan.held:
            index = em.scalar(op.indices[dim])
            if plan.window and plan.window[0] == dim:
                with em.here():
                    index = arith.SubIOp(index, block_start(em)).result
            if dim in dims:
                place = dims.index(dim)
                index = em.sum(index, em.position(strip[place], key[place]))
            indices.append(index)
        indices.append(em.index(key[plan.lane] * axis.lanes))
        with em.here():
            values[key] = vector.LoadOp(kind, panel, indices).result
    return Fragment(values)


def _panel(em: Emitter, op: ir.OpView, plan: PanelPlan, strip: Strip) -> ir.Value:
    axis = strip[plan.lane]
    fixed = [dim for dim in range(op.base.type.rank) if dim not in plan.held]
    depth = em.depth_of(axis)
    if any(_varies(op.indices[dim]) for dim in fixed):  # lanes are keys of attention, some at each step
        depth = max(depth, em.scope_of(op))
    key: tuple[object, ...] = (op.base, axis, *(op.indices[dim] for dim in fixed))
    if plan.window:
        key, depth = (*key, block_start(em)), max(depth, em.depth_of(Axis(block_start(em))))
    for level in em.levels:
        if key in level.panels:
            return level.panels[key]
    sizes = [*(plan.size(op, dim) for dim in plan.held), axis.count * axis.lanes]
    kind = ir.MemRefType.get(sizes, op.base.type.element_type)
    # Each panel has memory of its own: another of its type may be filled while this one is still in use.
    with em.at_level(depth):
        if (kind, key) not in em.panel_memory:
            em.panel_memory[kind, key] = em.allocate(kind)
        panel = em.levels[-1].panels[key] = em.panel_memory[kind, key]
        if plan.side:
            whole = (em.index(0), em.index(op.base.type.shape[-1]))
            columns = (block_start(em), block_end(em)) if plan.window else whole
            fill_turned(em, op, plan.lane, axis, plan.side, columns, panel)
        else:
            _fill(em, op, plan, strip, panel)
    return panel


def block_start(em: Emitter) -> ir.Value:
    """Where the current block starts."""
    assert em.block is not None
    return em.block[0]


def block_end(em: Emitter) -> ir.Value:
    """Where the current block ends."""
    assert em.block is not None
    return em.block[1]


def _fill(em: Emitter, op: ir.OpView, plan: PanelPlan, strip: Strip, panel: ir.Value) -> None:
    """Loops over the held dims; a row of the panel a turn."""
    axis = strip[plan.lane]
    lanes_strip: Strip = (axis,)
    indices = [em.scalar(index) if dim not in plan.held else None for dim, index in enumerate(op.indices)]
    padding = em.scalar(op.padding)

    def rows(at: int, places: list[ir.Value]) -> None:
        if at < len(plan.held):
            dim = plan.held[at]
            end = em.index(op.base.type.shape[dim])
            if plan.window and plan.window[0] == dim:
                with em.here():
                    end = arith.SubIOp(block_end(em), block_start(em)).result
            with em.loop(em.index(0), end, em.index(1)) as loop:
                rows(at + 1, [*places, loop.induction_variable])
            return
        held = dict(zip(plan.held, places, strict=True))
        if plan.window:
            held[plan.window[0]] = em.sum(held[plan.window[0]], block_start(em))
        source = [held[dim] if index is None else index for dim, index in enumerate(indices)]
        first = source[-1]
        _prefetch_row(em, op, plan.held[-1], source, axis)
        for step in range(axis.count):
            source[-1] = em.sum(first, em.position(axis, step))
            value = _load_row(em, op, source, lanes_strip, (step,), padding)
            target = [*places, em.index(step * axis.lanes)]
            with em.here():
                vector.StoreOp(value, panel, target)

    rows(0, [])


def _prefetch_row(em: Emitter, op: ir.OpView, walked: int, source: Sequence[ir.Value], axis: Axis) -> None:
    """Ask for the lines of the row that is copied some turns later; near the end, of the last."""
    element = bytes_of(op.base.type.element_type)
    lines = range(0, axis.count * axis.lanes, LINE // element)
    row_starts_on_line = op.base.type.shape[-1] * element % LINE == 0
    starts = [*lines] if row_starts_on_line else [*lines, axis.count * axis.lanes - 1]
    later, last = em.plus(source[walked], ROWS_AHEAD), em.index(op.base.type.shape[walked] - 1)
    with em.here():
        later = arith.MinSIOp(later, last).result
    for start in starts:
        place = [later if dim == walked else index for dim, index in enumerate(source)]
        place[-1] = em.plus(em.sum(source[-1], em.position(axis)), start)
        with em.here():
            memref.PrefetchOp(op.base, place, False, _TO_L2, True)


def _load_row(
    em: Emitter, op: ir.OpView, source: list[ir.Value], strip: Strip, key: Key, padding: ir.Value
) -> ir.Value:
    lanes = strip[0].lanes
    kind = ir.VectorType.get([lanes], op.base.type.element_type)
    valid = valid_lanes(em, strip, key)
    mask = None if valid is None else mask_of(em, valid, lanes)
    with em.here():
        if mask is None:
            return vector.LoadOp(kind, op.base, source).result
        return vector.MaskedLoadOp(kind, op.base, source, mask, spread(padding, lanes)).result
