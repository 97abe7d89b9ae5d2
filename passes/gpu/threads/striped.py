"""Lanes of a kernel's twin for what is unaligned have neighbours in memory, one element at a time.

A layout gives a thread 16 bytes of neighbours, which the kernel accesses at once. One by one they would be
four or eight accesses, each of whose requests touches all the sectors that the wide one fills. In the twin
lanes take the positions of a run in turn (`Layout.striped`): a request touches the sectors that its bytes
fill, and one more where they begin anywhere in a sector.

Sums are added up in another order then: a twin's may differ from the kernel's in their last bits.

Measured, sectors of all requests over those of the kernel, by the emulator for sm_80: relu(x) / 2 + 1/2 of
128x1024, softmax and layer_norm of 64x1024 in f32 1.25 (4.06 before), the first two in bf16 1.50 (8.06), sums
of 512x512 along columns in f32 2.00 (4.25), a transpose of 128x256, whose tiles are 32 wide, in f32 2.00
(4.25), in bf16 5.00 (8.50). No more registers than before but in transposes (28 for 26, in bf16 26 for 22),
and no bank conflicts.
"""

from __future__ import annotations

from mlir import ir

from ...operations import nested_ops
from ...reshapes import RESHAPES
from ..layouts.access import HALVES, access_of, is_halved
from ..layouts.tiles import ELEMENTWISE, is_tile
from ..layouts.windows import overlap_of

_TRANSFERS = ("vector.transfer_read", "vector.transfer_write")
# Whose rules take any layout, as long as those of tiles that share dims fit each other.
_ANY_LAYOUT = (
    *_TRANSFERS, *RESHAPES, HALVES, "vector.multi_reduction", "vector.step", "vector.extract", "scf.for",
    "scf.yield", "mlopt.convert_layout",
)  # fmt: skip


def can_stripe(forall: ir.Operation) -> bool:
    """Whether no op wants a layout of its own, as products and scans, or neighbours that others hand on."""
    for op in nested_ops(forall.regions[0].blocks[0]):
        if not any(map(is_tile, (*op.operands, *op.results))):
            continue
        if op.name not in _ANY_LAYOUT and not op.name.startswith(ELEMENTWISE):
            return False
        if op.name in _TRANSFERS and not is_halved(op):
            access = access_of(op)
            if access.window() > 1 or overlap_of(access) is not None:
                return False
    return True
