"""Which tiles of a task get memory."""

from __future__ import annotations

from mlir import ir

from ...operations import ops_named
from ..strips.contract import loops_of
from ..strips.fragment import is_vector, sizes_of
from ..strips.memory import memory_dims

_MADE_ONCE = ("vector.multi_reduction", "math.exp")


def is_chained(block: ir.Block) -> bool:
    """Whether a contraction reads what another one has made."""
    return any(
        _comes_from_contraction(factor)
        for op in ops_named(block, "vector.contract")
        for factor in list(op.operands)[:2]
    )


def _comes_from_contraction(value: ir.Value) -> bool:
    seen: set[ir.Value] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        if value.owner.name == "vector.contract":
            return True
        pending += value.owner.operands
    return False


def is_staged(value: ir.Value) -> bool:
    """Whether a tile is one that a reduction reads or makes, or dear to make again."""
    if not is_vector(value) or value.owner.name in ("vector.transfer_read", "arith.constant"):
        return False
    if value.owner.name in _MADE_ONCE:
        return True
    return any(use.owner.name == "vector.multi_reduction" and use.operand_number == 0 for use in value.uses)


def rows_factor(op: ir.Operation) -> ir.Operation | None:
    """The read of a contraction's first factor, if neither factor has lanes: dims that stay, contiguous."""
    reads = []
    for place, loops in zip((0, 1), loops_of(op.opview), strict=False):
        read = op.operands[place].owner
        if isinstance(read, ir.Block) or read.name != "vector.transfer_read":
            return None
        innermost = read.opview.base.type.rank - 1
        dims = memory_dims(read.opview)
        along = [loop for loop, dim in zip(loops, dims, strict=True) if dim == innermost]
        if not along or along[0] in loops_of(op.opview)[2]:
            return None
        reads.append(read.operation)
    return reads[0]


def order_of(value: ir.Value) -> list[int]:
    """The tile's dims as memory holds them, outermost first: one that is reduced comes before the others."""
    reduced: set[int] = set()
    for use in value.uses:
        op = use.owner.operation
        if op.name == "vector.multi_reduction" and use.operand_number == 0:
            reduced |= set(ir.DenseI64ArrayAttr(op.attributes["reduction_dims"]))
        elif op.name == "vector.contract" and use.operand_number < 2:
            loops = loops_of(op.opview)
            reduced |= {dim for dim, loop in enumerate(loops[use.operand_number]) if loop not in loops[2]}
    return sorted(range(len(sizes_of(value))), key=lambda dim: (dim not in reduced, dim))
