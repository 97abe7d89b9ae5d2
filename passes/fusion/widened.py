"""What is widened is widened where it is read: kernels store and read the narrow tensor between them.

::

    %w = generic {extf} ins(%v) : tensor<128x768xf32>
    %e = tensor.expand_shape %w : tensor<128x768xf32> into tensor<128x12x64xf32>
  ->
    %n = tensor.expand_shape %v : tensor<128x768xbf16> into tensor<128x12x64xbf16>
    %e = generic {extf} ins(%n) : tensor<128x12x64xf32>

Legal always. Done where element-wise ops and reductions alone read the view: they can have the cast in their
kernel. Without it the residuals of a GPT-2 block in half floats pass through memory in f32.
"""

from __future__ import annotations

from mlir import ir

from ..groups import entry_ops
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.late_casts import cast_after
from ..raising.reshape import RESHAPES
from ..structured import (
    WIDENING,
    body_of,
    inputs_of,
    is_pointwise,
    maps_of,
)
from ..tiling.access import nest_of
from .group import Group
from .order import loops_in_order


def only_widens(op: ir.Operation) -> bool:
    """Whether ``op`` makes each number of a tensor wider, which is exact, and does nothing else."""
    if not is_pointwise(op) or len(inputs_of(op)) != 1:
        return False
    names = [inner.operation.name for inner in body_of(op).operations]
    is_cast = len(names) == 2 and names[0] in WIDENING and maps_of(op)[0] == maps_of(op)[1]
    return is_cast and isinstance(op.operands[0].type, ir.RankedTensorType)


def is_widened(group: Group) -> bool:
    """Whether a group does no more than `only_widens`."""
    return len(group.ops) == 1 and only_widens(group.ops[0])


def widen_views(func: ir.Operation) -> None:
    """Let casts of ``func`` come after the views of what they make."""
    for view in [op for op in entry_ops(func) if op.name in RESHAPES]:
        cast = defining_op(view.operands[0], "linalg.generic")
        if cast is not None and only_widens(cast) and should_widen_late(view.results[0]):
            cast_after(cast, view)


def should_widen_late(value: ir.Value) -> bool:
    """Whether all that read ``value``, or views of it, have the cast in their kernels: products do not."""
    for use in value.uses:
        reader = use.owner.operation
        if reader.name in RESHAPES:
            if not should_widen_late(reader.results[0]):
                return False
            continue
        if reader.name != "linalg.generic" or is_contraction(reader):
            return False
        read = nest_of(reader).reads[use.operand_number]
        if read is None or loops_in_order(read) is None:
            return False
    return True
