"""Which dim of a kernel's tiles to run through in steps, and how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ...combining import reduced_dims, scanned_dim
from ...powers import power_below
from ...reshapes import RESHAPES
from ..layouts.access import access_of, bytes_of
from ..layouts.dims import Dims
from ..layouts.tiles import ELEMENTWISE, is_tile, sizes_of

WORD = 4  # bytes of a register
_TAKEN = (
    "vector.transfer_read", "vector.transfer_write", "vector.multi_reduction", "vector.scan", "vector.step",
)  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """The class of dims to run through, from 0 to ``extent`` in steps of ``size``."""

    dims: Dims
    along: int
    extent: int
    size: int

    @property
    def ragged(self) -> bool:
        """Whether the last step reaches beyond the extent."""
        return self.extent % self.size != 0

    def within(self, tile: ir.Value) -> list[int]:
        """The dims of a tile that run along (one, or none)."""
        if not is_tile(tile) or tile not in self.dims:
            return []
        return [dim for dim, each in enumerate(self.dims.of(tile)) if each == self.along]

    def is_root(self, op: ir.Operation) -> bool:
        """Whether an op needs all steps, and its result, if any, has not the dim: a reduction, or a write."""
        if op.name == "vector.transfer_write":
            return bool(self.within(op.operands[0]))
        if op.name != "vector.multi_reduction":
            return False
        return any(dim in reduced_dims(op) for dim in self.within(op.operands[0]))

    def scans(self, root: ir.Operation) -> list[ir.Operation]:
        """What runs along the dim in what a root is made of, so that a step goes on where one has ended."""
        found: list[ir.Operation] = []
        waiting = [root]
        seen = {root}
        while waiting:
            for operand in waiting.pop().operands:
                if not self.within(operand) or operand.owner.operation in seen:
                    continue
                op = operand.owner.operation
                seen.add(op)
                waiting.append(op)
                if op.name == "vector.scan" and self.within(op.results[0]) == [scanned_dim(op)]:
                    found.append(op)
        return found


def choose(ops: Sequence[ir.Operation], budget: int, wanted: int) -> Steps | None:
    """A dim of the largest tile, if that has more than ``budget`` elements; None: nothing to do.

    Its steps make tiles of ``wanted`` elements; those of 64 bits count as two. The first dim in
    which a step can be short enough: the others keep their neighbours in memory.
    """
    dims = Dims(ops)
    if dims.cut is not None:
        return None
    tile = max(dims.tiles, key=lambda one: prod(sizes_of(one)), default=None)
    if tile is None:
        return None
    elements = prod(sizes_of(tile)) * max(map(words, dims.tiles))
    if elements <= budget:
        return None
    classes = [each for each in dims.of(tile) if each is not None]
    for along in sorted(classes, key=lambda each: elements > budget * dims.extents[each]):
        extent = dims.extents[along]
        size = power_below(max(wanted * extent // elements, 1))
        steps = Steps(dims, along, extent, size)
        if not can_run(ops, steps):
            continue
        if _covers_a_part(ops, steps):
            size = next(part for part in range(size, 0, -1) if extent % part == 0)
        return Steps(dims, along, extent, size)
    return None


def can_run(ops: Sequence[ir.Operation], steps: Steps) -> bool:
    """Whether all that has the dim is read, computed element by element, reduced or written."""
    for op in ops:
        if not any(map(steps.within, (*op.results, *op.operands))):
            continue
        if op.name not in _TAKEN and op.name not in RESHAPES and not op.name.startswith(ELEMENTWISE):
            return False
    return True


def _covers_a_part(ops: Sequence[ir.Operation], steps: Steps) -> bool:
    """Whether a tile is written to a part of a buffer: a step that reaches beyond it would overwrite more."""
    for op in ops:
        if op.name == "vector.transfer_write":
            access = access_of(op)
            for dim in steps.within(access.tile):
                if ir.MemRefType(access.buffer.type).shape[access.dims[dim]] != steps.extent:
                    return True
    return False


def words(tile: ir.Value) -> int:
    """The registers that an element takes; positions are mostly of 32 bits."""
    element = tile.type.element_type
    return 1 if isinstance(element, ir.IndexType) else -(-bytes_of(element) // WORD)
