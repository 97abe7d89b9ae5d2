"""What a block that makes tile after tile takes of shared memory: rings, mbarriers, and what it stores.

What is read behind the product, as a residual, changes hands as a whole tile, beside which a block of
128x256x64 has room for three steps, not four. The slots of steps that are done are not free for it: copies
for the next tile are on their way there. In four parts, as what is stored, it would leave room for four
steps. By the model of an H100 that is 194.7 µs, not 195.8, for 4096 x 4096 x 4096 in bf16, 1510 of 1519 for
8192, and 35.7 of 35.8 with a depth of 512; six more barriers a tile, which it does not count, may take as
much. So it is not done.
"""

from __future__ import annotations

from math import prod

from mlir import ir

from ...operations import ops_named
from ..layouts.access import bytes_of
from ..layouts.boxes import TILE, stored
from ..layouts.warpgroup import PATTERN_BYTES

_MBARRIER = 8  # bytes


def taken(forall: ir.Operation, parts: int = 1, tiles: int = 1) -> int:
    """The bytes, of so many ``tiles`` that are stored at once, each in so many ``parts`` of what is said."""
    rings = [_size(op.results[0]) for op in ops_named(forall, "mlopt.shared_ring")]
    barriers = [_size(each) for op in ops_named(forall, "mlopt.tma_barriers") for each in op.results]
    staged = max((stored(write)[1].bytes // parts for write in writes_of(forall)), default=0)
    exchanged = max((_size(op.results[0]) for op in ops_named(forall, "mlopt.convert_layout")), default=0)
    order = tiles * _MBARRIER if tiles > 1 else 0  # whose turn it is (mlopt-gpu-ping-pong)
    before = sum(map(_whole, (*rings, sum(barriers) + order)))
    return before + (_whole(staged) + exchanged if tiles == 1 else tiles * _whole(_whole(staged) + exchanged))


def writes_of(forall: ir.Operation) -> list[ir.Operation]:
    """What stores by boxes."""
    return [use.owner.operation for tile in ops_named(forall, TILE) for use in tile.results[0].uses]


def _whole(size: int) -> int:
    """Up to where the next tile may begin."""
    return -(-size // PATTERN_BYTES) * PATTERN_BYTES


def _size(value: ir.Value) -> int:
    kind = ir.ShapedType(value.type)
    return prod(kind.shape) * bytes_of(kind.element_type)
