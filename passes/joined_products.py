"""One product in the place of several of one tensor: their weights side by side, and parts of its result.

::

    %a = matmul %x, %v                    %w = %v and %u, side by side
    %b = matmul %x, %u            ->      %c = matmul %x, %w
                                          %a, %b = extract_slice %c
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from mlir import ir
from mlir.dialects import linalg, tensor

from .groups import operands_of
from .operations import defining_op
from .structured import body_of, inits_of, inputs_of, kinds_of, label_of, make_generic, maps_of, sizes_of
from .subsets import Size, split

Chain = list[ir.Operation]  # a product, and the element-wise ops after it that all have


def join_chains(chains: Sequence[Chain], weights: Set[ir.Value]) -> None:
    """One chain in the place of the first, and slices of it; ``weights``: what depends on weights alone."""
    first = chains[0]
    start = first[0]
    lasts = [chain[-1].results[0] for chain in chains]
    columns = [value.type.shape[-1] for value in lasts]
    joined: dict[ir.Value, ir.Value] = {}
    for step, op in enumerate(first):
        others = [chain[step] for chain in chains]
        operands = []
        for number, value in enumerate(inputs_of(op)):
            if value in weights:
                operands.append(_concatenated([each.operands[number] for each in others], start))
            else:
                operands.append(joined.get(value, value))
        with op.location, ir.InsertionPoint(start):
            before = inits_of(start)[0] if step == 0 else joined[first[step - 1].results[0]]
            sizes: list[Size] = [*sizes_of(before)[:-1], sum(columns)]
            init = tensor.EmptyOp(sizes, op.results[0].type.element_type).result
            fill = defining_op(inits_of(op)[0], "linalg.fill")
            if fill is not None:
                init = linalg.fill(fill.operands[0], outs=[init])
        new = make_generic(
            operands,
            [init],
            maps_of(op),
            kinds_of(op),
            label_of(op),
            location=op.location,
            at=ir.InsertionPoint(start),
            body=body_of(op),
        )
        joined[op.results[0]] = new.results[0]
    offset = 0
    for value, width in zip(lasts, columns, strict=True):
        part = _columns(joined[lasts[0]], offset, value, start)
        value.replace_all_uses_with(part)
        offset += width
    for chain in chains:
        for op in reversed(chain):
            op.erase()


def _concatenated(parts: Sequence[ir.Value], at: ir.Operation) -> ir.Value:
    """Weights side by side along their last dim, before ``at``."""
    for part in parts:
        _move_before(part, at)
    with at.location, ir.InsertionPoint(at):
        kind = parts[0].type
        shape = [*kind.shape[:-1], sum(part.type.shape[-1] for part in parts)]
        whole = tensor.EmptyOp(shape, kind.element_type).result
        offset = 0
        for part in parts:
            sizes, rank = list(part.type.shape), part.type.rank
            starts = [0] * (rank - 1) + [offset]
            whole = tensor.InsertSliceOp(part, whole, [], [], [], starts, sizes, [1] * rank).result
            offset += sizes[-1]
    return whole


def _move_before(value: ir.Value, at: ir.Operation) -> None:
    """Let ``value``, which depends on weights alone, be made before ``at``."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.is_before_in_block(at):
        return
    op = value.owner.operation
    for _, _, operand in operands_of(op):
        if isinstance(operand, ir.BlockArgument) or operand.owner.operation.parent == at.parent:
            _move_before(operand, at)
    op.move_before(at)


def _columns(whole: ir.Value, offset: int, like: ir.Value, at: ir.Operation) -> ir.Value:
    """The part of ``whole`` from a column on, of the shape of ``like``."""
    rank = like.type.rank
    with at.location, ir.InsertionPoint(at):
        static, dynamic = split(sizes_of(whole)[:-1])
        sizes = [*static, like.type.shape[-1]]
        starts = [0] * (rank - 1) + [offset]
        return tensor.ExtractSliceOp(like.type, whole, [], dynamic, [], starts, sizes, [1] * rank).result
