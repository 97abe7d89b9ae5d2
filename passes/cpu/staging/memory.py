"""The buffers of a task, and reads and writes of whole tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, memref, vector

from ..strips.fragment import element_of, sizes_of
from ..strips.types import bytes_of

ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory for one tile at a time; ``order`` has the tile's dims from the outermost of memory."""

    memory: ir.Value
    tile: ir.VectorType
    order: tuple[int, ...]

    def write(self, value: ir.Value) -> ir.Operation:
        """Store a tile, at the insertion point."""
        indices = [_zero()] * len(self.order)
        op = vector.TransferWriteOp(None, value, self.memory, indices, self._map(), self._bounds())
        return op.operation

    def read(self) -> ir.Value:
        """Load the tile, at the insertion point."""
        zero = ir.IntegerAttr if isinstance(self.tile.element_type, ir.IntegerType) else ir.FloatAttr
        padding = arith.ConstantOp(self.tile.element_type, zero.get(self.tile.element_type, 0)).result
        indices = [_zero()] * len(self.order)
        return vector.TransferReadOp(
            self.tile, self.memory, indices, self._map(), padding, self._bounds()
        ).result

    def _map(self) -> ir.AffineMapAttr:
        rank = len(self.order)
        dims = [ir.AffineDimExpr.get(self.order.index(dim)) for dim in range(rank)]
        return ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, dims))

    def _bounds(self) -> ir.ArrayAttr:
        return ir.ArrayAttr.get([ir.BoolAttr.get(True)] * len(self.order))


def allocate(block: ir.Block, value: ir.Value, order: Sequence[int]) -> Buffer:
    """A buffer for tiles like ``value``, made where the task begins; its rows are whole vectors."""
    shape = [sizes_of(value)[dim] for dim in order]
    whole = ALIGNMENT // bytes_of(element_of(value))
    kind = ir.MemRefType.get([*shape[:-1], -(-shape[-1] // whole) * whole], element_of(value))
    with ir.InsertionPoint.at_block_begin(block):
        memory = memref.AllocaOp(kind, [], [], alignment=ALIGNMENT).result
    return Buffer(memory, value.type, tuple(order))


def _zero() -> ir.Value:
    kind = ir.IndexType.get()
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, 0)).result
