"""Where a buffer is used: the aliases of an allocation and its lifetime in a function."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func

TERMINATORS = ("scf.yield", "scf.condition", "scf.reduce", "scf.reduce.return", "scf.in_parallel")


@dataclass(frozen=True)
class Lifetime:
    """Positions of the first and the last op of the function's block that touch a buffer."""

    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both are needed at one op."""
        return self.first <= other.last and other.first <= self.last


def positions(function: func.FuncOp) -> dict[ir.Operation, int]:
    """The number of each op in the function's entry block."""
    return {op.operation: number for number, op in enumerate(function.entry_block.operations)}


def top_level(op: ir.Operation, function: func.FuncOp) -> ir.Operation:
    """The op of the function's own body that ``op`` is, or is nested in."""
    while op.parent.operation != function.operation:
        op = op.parent.operation
    return op.operation


def lifetime(alloc: ir.Operation, function: func.FuncOp, order: dict[ir.Operation, int]) -> Lifetime | None:
    """When the buffer of ``alloc`` is in use, or None if it outlives its iteration or its function.

    Every value of a memref type that an op makes from the buffer counts as the buffer itself.
    """
    home = alloc.parent
    if len(function.body.blocks) > 1:
        return None
    touched: list[int] = []
    aliases: list[ir.Value] = [alloc.results[0]]
    seen: set[ir.Value] = set(aliases)
    while aliases:
        for use in aliases.pop().uses:
            user = use.owner.operation
            if user.name == "memref.dealloc":
                continue
            if user.name == "func.return" or (user.name in TERMINATORS and user.parent == home):
                return None
            touched.append(order[top_level(user, function)])
            made = _buffers_made_by(user.parent.operation if user.name in TERMINATORS else user)
            new = [value for value in made if value not in seen]
            seen.update(new)
            aliases.extend(new)
    if not touched:
        touched = [order[top_level(alloc, function)]]
    return Lifetime(min(touched), max(touched))


def _buffers_made_by(op: ir.Operation) -> list[ir.Value]:
    made = [result for result in op.results if _is_memref(result)]
    for region in op.regions:
        for block in region.blocks:
            made += [argument for argument in block.arguments if _is_memref(argument)]
    return made


def _is_memref(value: ir.Value) -> bool:
    return isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType))
