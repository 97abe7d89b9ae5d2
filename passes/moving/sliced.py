"""Of an element-wise result of which parts are taken, those parts are computed.

::

    %e = generic {exp} (i, j) ins(%x at (i, j), %b at (j))        %x : tensor<8x?xf32>
    %s = tensor.extract_slice %e[0, %at] [8, %n]
  ->
    %x1 = tensor.extract_slice %x[0, %at] [8, %n]
    %b1 = tensor.extract_slice %b[%at] [%n]
    %s = generic {exp} (i, j) ins(%x1 at (i, j), %b1 at (j))

What is read at another place than it was made for cannot stay in a kernel, and what nobody takes need not be
computed. Legal where the body checks nothing and does not ask for its place. Done where nothing is computed
twice, but for casts, which are cheap; and not for the epilogue of a product or of a reduction.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import tensor

from ...dialects.attributes import WHOLE
from ..divisions import may_trap
from ..operations import defining_op
from ..structured import (
    CASTS,
    DYNAMIC,
    body_of,
    copy_generic,
    elements_of,
    inits_of,
    inputs_of,
    is_used,
    kinds_of,
    maps_of,
    replace_op,
    structured_ops,
    word_for,
)
from ..subsets import Size, mixed, split
from .expansions import rests_on_rows

_PURE = ("arith.", "math.", "linalg.yield")


def compute_what_is_taken(func: ir.Operation) -> None:
    """Take the slices of element-wise results of ``func`` from what they are computed from."""
    for op in structured_ops(func, "tensor.extract_slice"):
        _merge(op)
    for op in reversed(structured_ops(func)):
        slices = _slices_of(op)
        if not slices:
            continue
        reason = can_take(op) or should_take(op, slices)
        if reason is not None:
            WHOLE.set(op, reason)
            continue
        for each in slices:
            _take(op, each)
        if not is_used(op.results[0]):
            op.erase()


def _slices_of(op: ir.Operation) -> list[ir.Operation]:
    """The slices, of the same rank, that are taken of what ``op`` makes."""
    readers = [use.owner.operation for result in op.results for use in result.uses]
    return [
        each
        for each in readers
        if each.name == "tensor.extract_slice" and each.results[0].type.rank == each.operands[0].type.rank
    ]


def _merge(op: ir.Operation) -> None:
    """Let a slice of a slice be one of the whole tensor."""
    outer = defining_op(op.operands[0], "tensor.extract_slice")
    if outer is None or outer.results[0].type.rank != outer.operands[0].type.rank:
        return
    view, whole = op.opview, outer.opview
    numbers = (view.static_offsets, view.static_strides, whole.static_offsets, whole.static_strides)
    if any(DYNAMIC in each for each in numbers):
        return
    starts, steps, first, outer_steps = numbers
    offsets = [start * step + at for start, step, at in zip(starts, outer_steps, first, strict=True)]
    strides = [step * outer_step for step, outer_step in zip(steps, outer_steps, strict=True)]
    with ir.InsertionPoint(op), op.location:
        merged = tensor.ExtractSliceOp(
            op.results[0].type, outer.operands[0], [], view.sizes, [], offsets, view.static_sizes, strides
        )
    replace_op(op, [merged.result])
    if not is_used(outer.results[0]):
        outer.erase()


def can_take(op: ir.Operation) -> str | None:
    """Why elements of what ``op`` makes are not computed by themselves, from elements at their own place."""
    word = word_for(op)
    if len(op.results) != 1:
        return f"{word} makes several tensors at once, not parts of one"
    if "reduction" in kinds_of(op):
        return f"{word} is a reduction, not computed in parts"
    work = [inner.operation for inner in body_of(op).operations]
    checked = next(filter(may_trap, work), None)
    if checked is not None:
        return f"{word} checks all of its divisors ({checked.name}), so all of it is computed"
    other = next((inner for inner in work if not inner.name.startswith(_PURE)), None)
    if other is not None:
        return f"{word} is made of more than the elements at its own place ({other.name})"
    plain = all(isinstance(expr, ir.AffineDimExpr) for where in maps_of(op) for expr in where.results)
    identity = ir.AffineMap.get_identity(len(kinds_of(op)), op.context)
    if not plain or maps_of(op)[-1] != identity or defining_op(inits_of(op)[0], "tensor.empty") is None:
        return f"{word} does not go through its operands and its result element by element, in order"
    return None


def should_take(op: ir.Operation, slices: list[ir.Operation]) -> str | None:
    """Why more, by more than casts, would be computed than before, or a producer would lose its epilogue."""
    if any(rests_on_rows(value) for value in inputs_of(op)):
        return f"{word_for(op)} stays with the rows or products that it is computed from"
    if all(inner.operation.name in (*CASTS, "linalg.yield") for inner in body_of(op).operations):
        return None
    readers = (use.owner.operation for use in op.results[0].uses)
    other = next((reader for reader in readers if reader not in slices), None)
    if other is not None:
        return f"{word_for(other)} reads it, too, and {word_for(op)} would be computed twice"
    if sum(elements_of(each.results[0]) for each in slices) > elements_of(op.results[0]):
        return f"parts of it overlap, and {word_for(op)} would be computed twice there"
    return None


def _take(op: ir.Operation, taken: ir.Operation) -> None:
    """Compute ``taken``, a slice of what ``op`` makes, from slices of what that reads."""
    view = taken.opview
    offsets = mixed(view.static_offsets, view.offsets)
    sizes = mixed(view.static_sizes, view.sizes)
    strides = mixed(view.static_strides, view.strides)
    at = ir.InsertionPoint(taken)
    with at, op.location:
        inputs = []
        for value, where in zip(inputs_of(op), maps_of(op), strict=False):
            loops = [expr.position for expr in where.results]
            inputs.append(
                _slice(value, *([part[loop] for loop in loops] for part in (offsets, sizes, strides)))
            )
        init = tensor.EmptyOp(sizes, op.results[0].type.element_type).result
    copy = copy_generic(op, [*inputs, init], at=at)
    replace_op(taken, list(copy.results))


def _slice(value: ir.Value, offsets: list[Size], sizes: list[Size], strides: list[Size]) -> ir.Value:
    """The part of ``value``, a tensor or a number."""
    if not offsets:
        return value
    (starts, more_starts), (lengths, more_lengths), (steps, more_steps) = map(
        split, (offsets, sizes, strides)
    )
    kind = ir.RankedTensorType.get(lengths, value.type.element_type)
    return tensor.ExtractSliceOp(
        kind, value, more_starts, more_lengths, more_steps, starts, lengths, steps
    ).result
