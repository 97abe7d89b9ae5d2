"""A reshape to sizes that are given says which dim it splits.

::

    %s = tensor.from_elements %b, %t, %c32 : tensor<3xindex>
    %r = tensor.reshape %x(%s) : (tensor<?x32xf32>, tensor<3xindex>) -> tensor<?x?x32xf32>
  ->
    %r = tensor.expand_shape %x [[0, 1], [2]] output_shape [%b, %t, 32]

Legal where all other dims, from the first on and from the last, have the same sizes before and after: a
reshape keeps the number of elements. torch-mlir writes such reshapes of one dim into several of unknown
sizes, as those behind a linear layer of dynamic batches and lengths. Nothing is fused across a reshape, and a
GPU's host has no memory to write its sizes to: gelu(linear(x)) + residual is one kernel now, and was an error
there; a GPT-2 block is 7, and was 12 on a CPU.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, tensor

from ..operations import defining_op
from ..structured import DYNAMIC, replace_op, same_size, structured_ops
from .reshape import grouped


def split_known_dims(func: ir.Operation) -> None:
    """Make the reshapes of ``func`` that split one dim expansions."""
    for op in structured_ops(func, "tensor.reshape"):
        sizes = _sizes_of(op)
        groups = None if sizes is None else groups_of(op.operands[0], op.results[0], sizes)
        if sizes is not None and groups is not None:
            _expand(op, sizes, groups)


def _sizes_of(op: ir.Operation) -> list[ir.Value] | None:
    """The numbers that a reshape's sizes are made from, as indices where they were such."""
    made = defining_op(op.operands[1], "tensor.from_elements")
    return None if made is None else [_uncast(size) for size in made.operands]


def _uncast(size: ir.Value) -> ir.Value:
    cast = defining_op(size, "arith.index_cast")
    is_index = cast is not None and isinstance(cast.operands[0].type, ir.IndexType)
    return cast.operands[0] if cast is not None and is_index else size


def groups_of(source: ir.Value, result: ir.Value, sizes: list[ir.Value]) -> list[list[int]] | None:
    """The dims of ``result``, of these ``sizes``, that each dim of ``source`` becomes; None if not so."""
    before, after = list(source.type.shape), list(result.type.shape)
    more = len(after) - len(before)
    if more < 1 or 0 in before:
        return None

    def is_kept(dim: int, place: int) -> bool:
        """Whether ``dim`` of the source is that of the result at ``place``."""
        if DYNAMIC not in (before[dim], after[place]):
            return bool(before[dim] == after[place])
        return before[dim] == after[place] and same_size(sizes[place], source, dim)

    splits = [
        dim
        for dim in range(len(before))
        if all(is_kept(each, each) for each in range(dim))
        and all(is_kept(each, each + more) for each in range(dim + 1, len(before)))
    ]
    if not splits:
        return None
    split = splits[0]
    places = [[dim] if dim < split else [dim + more] for dim in range(len(before))]
    places[split] = list(range(split, split + more + 1))
    return places


def _expand(op: ir.Operation, sizes: list[ir.Value], groups: list[list[int]]) -> None:
    kind = op.results[0].type
    with op.location, ir.InsertionPoint(op):
        dynamic = [
            size if isinstance(size.type, ir.IndexType) else arith.index_cast(ir.IndexType.get(), size)
            for size, known in zip(sizes, kind.shape, strict=True)
            if known == DYNAMIC
        ]
        expanded = tensor.ExpandShapeOp(kind, op.operands[0], grouped(groups), dynamic, list(kind.shape))
    replace_op(op, [expanded.result])
