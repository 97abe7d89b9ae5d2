"""Concats that begin with the same parts get a buffer each: half-written ones would be copied."""

from __future__ import annotations

from mlir import ir

from ..operations import defining_op
from ..structured import has_one_use, structured_ops
from ..tiling.parts import parts_below


def give_concats_their_buffers(func: ir.Operation) -> None:
    """Let each chain of insert_slices into an empty tensor be written by itself, from the first part on.

    ::

        %1 = insert_slice %a into tensor.empty          %1 = insert_slice %a into tensor.empty
        %2 = insert_slice %b into %1                ->  %2 = insert_slice %b into %1
        %3 = insert_slice %c into %1                    %4 = insert_slice %a into tensor.empty
                                                        %3 = insert_slice %c into %4
    """
    for op in structured_ops(func, "tensor.insert_slice"):
        below = list(parts_below(op))
        if not below or has_one_use(op.operands[1]) or not _is_empty(below[-1].operands[1]):
            continue
        made = below[-1].operands[1].owner.operation.clone(ir.InsertionPoint(op)).operation.results[0]
        for part in reversed(below):
            copy = part.clone(ir.InsertionPoint(op)).operation
            copy.operands[1] = made
            made = copy.results[0]
        op.operands[1] = made


def _is_empty(value: ir.Value) -> bool:
    return defining_op(value, "tensor.empty") is not None
