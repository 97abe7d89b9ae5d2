"""Values of a loop's step, computed again elsewhere."""

from __future__ import annotations

from math import prod

from mlir import ir

from ....dialects.layouts import WARP
from ...operations import attributes_of
from ..layouts.access import access_of, bytes_of
from ..layouts.tiles import sizes_of
from ..layouts.warps import registers_of, warps_of
from .match import Pair

MOST_STEPS = 8


def steps_at_once(forall: ir.Operation, pair: Pair) -> int:
    """The steps whose values fill a quarter of a thread's registers, as the schedule leaves them to it."""
    threads = warps_of(forall) * WARP
    words = -(-bytes_of(pair.value.type.element_type) // 4)
    own = -(-prod(sizes_of(pair.value)) // threads) * words
    return min(max(registers_of(forall) // 4 // own, 1), MOST_STEPS)


def inside(pair: Pair, start: ir.Value, end: int) -> ir.Value:
    """The values of the step from ``start`` on, all of which are before ``end``."""
    return _Copies(pair.maxima, start, end).of(pair.value)


def at_end(pair: Pair, start: ir.Value) -> ir.Value:
    """The values of the step from ``start`` on, the neutral element beyond the last of them."""
    return _Copies(pair.maxima, start, None).of(pair.masked)


def spread_again(pair: Pair) -> ir.Value:
    """What the exponentials are relative to, stretched along the rows."""
    return _Copies(pair.sums, None, None).of(pair.spread)


class _Copies:
    """Ops of a loop's body, copied to the insertion point, with ``start`` for the loop's position.

    Reads stay within memory where ``end`` says so.
    """

    def __init__(self, loop: ir.Operation, start: ir.Value | None, end: int | None) -> None:
        self._body = loop.regions[0].blocks[0]
        self._end = end
        self._made: dict[ir.Value, ir.Value] = {}
        if start is not None:
            self._made[self._body.arguments[0]] = start

    def of(self, value: ir.Value) -> ir.Value:
        """The copy; the value itself if it is of outside the loop."""
        if value in self._made:
            return self._made[value]
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != self._body:
            return value
        op = value.owner.operation
        operands = [self.of(operand) for operand in op.operands]
        attributes = attributes_of(op)
        if op.name == "vector.transfer_read" and self._end is not None:
            attributes["in_bounds"] = self._bounds(op, self._end)
        copy = ir.Operation.create(op.name, [result.type for result in op.results], operands, attributes)
        self._made.update(zip(op.results, copy.results, strict=True))
        return self._made[value]

    def _bounds(self, op: ir.Operation, end: int) -> ir.Attribute:
        """Which dims of a read stay in bounds if its steps end at ``end``."""
        access = access_of(op)
        shape = ir.MemRefType(access.buffer.type).shape
        bounds = [
            known or (access.indices[memory] == self._body.arguments[0] and 0 <= end <= shape[memory])
            for known, memory in zip(access.in_bounds, access.dims, strict=True)
        ]
        return ir.ArrayAttr.get([ir.BoolAttr.get(bound) for bound in bounds])
