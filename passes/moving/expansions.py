"""Element-wise ops on inputs run on the parts that their reader needs, which no longer waits for a view.

::

    %r = generic {relu} (i, j) ins(%x at (i, j), %bias at (j))
    %e = tensor.expand_shape %r : tensor<6x32xf32> into tensor<6x4x8xf32>
    %t = generic {transpose} (h, i, d) ins(%e at (i, h, d))
  ->
    %v = tensor.expand_shape %x
    %b = tensor.expand_shape %bias
    %e = generic {relu} (i, h, d) ins(%v at (i, h, d), %b at (h, d))
    %t = generic {transpose} (h, i, d) ins(%e at (i, h, d))

Legal where each tensor that has a split loop has it as a dim of its own, the sizes are known, and the body
does not ask for its number. Done where nothing else reads what is expanded, and no product: of convolutions,
those with strides split dims so. What was made of rows stays in their kernel, as it is; a product whose
batches are split has batches of both factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir import ir

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..structured import (
    ATTENTION,
    has_one_use,
    inits_of,
    inputs_of,
    kinds_of,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from ..tiling.access import nest_of
from ..tiling.pads import fill_of_pad
from ..tiling.stages import is_moved
from .splits import can_split, parts_of, split


def lift_expansions(func: ir.Operation) -> None:
    """Move expand_shapes of ``func`` before the ops that make what they expand, the last op first."""
    for op in reversed(structured_ops(func)):
        if not has_one_use(op.results[0]):
            continue
        expand = next(iter(op.results[0].uses)).owner.operation
        if expand.name != "tensor.expand_shape" or not is_awaited(expand.results[0]):
            continue
        parts = parts_of(expand, maps_of(op)[-1])
        # Of a single element there is nothing to split.
        if parts and can_lift(op.results[0], _split_dims(maps_of(op)[-1], parts)):
            replace_op(expand, split(op, parts))
            op.erase()


def why_not_lifted(expand: ir.Operation) -> str | None:
    """Why what makes the source of ``expand``, in a kernel, does not make its parts."""
    op = expand.operands[0].owner.operation
    other = next((use.owner for use in expand.operands[0].uses if use.owner.operation != expand), None)
    if other is not None:
        return f"{word_for(other)} reads what {word_for(op)} makes as a whole"
    if not is_awaited(expand.results[0]):
        return f"a product reads what {word_for(op)} makes"
    parts = parts_of(expand, maps_of(op)[-1]) if op.name == "linalg.generic" else None
    if not parts:
        return f"{word_for(op)} has no loop with these parts"
    if not can_lift(expand.operands[0], _split_dims(maps_of(op)[-1], parts)):
        return f"{word_for(op)} cannot be made in parts"
    return None


def can_lift(value: ir.Value, dims: Sequence[int]) -> bool:
    """Whether what makes ``value``, and must be in its kernel, can be made with ``dims`` in parts."""
    op = defining_op(value, "linalg.generic")
    if op is None or len(op.results) != 1 or not has_one_use(value):
        return False
    loops = {maps_of(op)[-1].results[dim].position for dim in dims}
    if not can_split(op, loops):
        return False
    if is_contraction(op):
        both = [{expr.position for expr in where.results} for where in maps_of(op)[:2]]
        return loops <= both[0] & both[1] and defining_op(inits_of(op)[0], "linalg.fill") is not None
    if "reduction" in kinds_of(op):
        return False
    return all(
        can_lift(other, _split_dims(where, dict.fromkeys(loops)))
        for other, where in zip(inputs_of(op), maps_of(op), strict=False)
        if rests_on_rows(other)
    )


def _split_dims(where: ir.AffineMap, parts: Mapping[int, object]) -> list[int]:
    """The dims of a tensor, read or written at ``where``, whose loops are among ``parts``."""
    return [dim for dim, expr in enumerate(where.results) if expr.position in parts]


def rests_on_rows(value: ir.Value) -> bool:
    """Whether a reduction, a product or attention made ``value``, element-wise ops after it or not."""
    values = [value]
    for each in values:  # grows
        maker = defining_op(each, "linalg.generic", ATTENTION)
        if maker is None:
            continue
        if maker.name == ATTENTION or "reduction" in kinds_of(maker):
            return True
        values += [before for before in inputs_of(maker) if before not in values]
    return False


def is_awaited(value: ir.Value) -> bool:
    """Whether those that read ``value`` could do what makes it: no products, but windows and their pads."""
    for use in value.uses:
        reader, number = use.owner.operation, use.operand_number
        is_pad = number == 0 and fill_of_pad(reader) is not None
        if not is_pad and (reader.name != "linalg.generic" or not _reads_alone(reader, number)):
            return False
    return True


def _reads_alone(op: ir.Operation, number: int) -> bool:
    read = nest_of(op).reads[number]
    return not is_contraction(op) or (read is not None and is_moved(read))
