"""Packing: the part of a contraction's operand that a strip of lanes needs, copied into one panel.

    memory B[k][n], rows far apart            panel P[k][lanes], one row after the other

The rows of a matrix are read again for each strip of rows of the result. Where they are far
apart they fall into few sets of the caches and drive each other out; the panel does not. It is
filled once a strip of lanes, outside of the loop over rows. (1024^3: 94 to 110 GFLOP/s.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import arith, memref, vector

from .bounds import DYNAMIC
from .fragment import Axis, Fragment, Key, Strip, keys_of, sizes_of
from .masks import mask_of, valid_lanes
from .memory import inside, memory_dims
from .types import bytes_of
from .vectors import spread

if TYPE_CHECKING:
    from .emitter import Emitter

LARGEST_BYTES = 256 * 1024
# A panel is used by at least this many strips of rows, and replaces rows at least so far apart.
LEAST_USES = 16
_FAR_APART_BYTES = 1024


@dataclass(frozen=True)
class PanelPlan:
    """How one transfer_read is packed: the tile's lane dim, the memory dims that the panel holds.

    Of the dim ``window[0]`` it holds ``window[1]`` positions, those of the current block.
    """

    lane: int
    held: tuple[int, ...]
    window: tuple[int, int] | None = None

    def size(self, op: ir.OpView, dim: int) -> int:
        """The panel's extent along a memory dim of the read ``op``."""
        return self.window[1] if self.window and self.window[0] == dim else op.base.type.shape[dim]


def plan_panel(
    op: ir.OpView, lane: int, width: int, uses: int, window: tuple[int, int] | None = None
) -> PanelPlan | None:
    """Pack the read ``op`` in strips of ``width`` along its tile dim ``lane``, if that is legal and pays."""
    dims = memory_dims(op)
    if dims[lane] != op.base.type.rank - 1 or not can_pack(op, dims, lane):
        return None
    plan = PanelPlan(lane, held_dims(op), window)
    sizes = [plan.size(op, dim) for dim in plan.held]
    element = bytes_of(op.base.type.element_type)
    if DYNAMIC in sizes or uses < LEAST_USES or not plan.held:
        return None
    total = prod(sizes) * width * element
    if total > LARGEST_BYTES or op.base.type.shape[-1] * element < _FAR_APART_BYTES:
        return None
    return plan


def held_dims(op: ir.OpView) -> tuple[int, ...]:
    """The memory dims, but the innermost, that a read walks along inside a task."""
    dims, sizes = memory_dims(op), sizes_of(op.results[0])
    return tuple(
        dim
        for dim in range(op.base.type.rank - 1)
        if _varies(op.indices[dim]) or (dim in dims and sizes[dims.index(dim)] != 1)
    )


def can_pack(op: ir.OpView, dims: list[int | None], lane: int) -> bool:
    """Whether every position is known to lie in memory, but for lanes past the end."""
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
    fixed = [dim for dim in range(op.base.type.rank - 1) if dim not in plan.held]
    depth = em.depth_of(axis)
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
            with em.at_start():
                em.panel_memory[kind, key] = memref.AllocaOp(kind, [], [], alignment=64).result
        panel = em.levels[-1].panels[key] = em.panel_memory[kind, key]
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
        for step in range(axis.count):
            source[-1] = em.sum(first, em.position(axis, step))
            value = _load_row(em, op, source, lanes_strip, (step,), padding)
            target = [*places, em.index(step * axis.lanes)]
            with em.here():
                vector.StoreOp(value, panel, target)

    rows(0, [])


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
