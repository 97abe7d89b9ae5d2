"""What one kernel would save in the place of two about which mlopt-fuse had nothing to decide.

Copies and fills that mlopt-outline makes are kernels without a group: they are priced by what the two move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from ..passes.costs.cost import Cost
from ..passes.costs.count import bytes_of, cost_of, written_of
from ..passes.costs.host import accessed_by, cost_of_host_work, is_host_work
from ..passes.costs.machine import Machine
from ..passes.costs.roofline import predict
from ..passes.fusion.behind import VIEWS
from ..passes.structured import ASSUMED


@dataclass(frozen=True)
class Program:
    """The kernels by their calls in a host function, for the ``machine`` that mlopt-fuse decides by.

    ``tf32``: tensor cores may round factors of f32.
    """

    callees: Mapping[ir.Operation, ir.OpView]
    machine: Machine
    tf32: bool

    def bytes_saved(self, value: ir.Value, reader: ir.Operation, place: int) -> int:
        """What ``reader`` need not read of its argument ``place``, nor the kernel before it write.

        ``value`` is what that kernel makes of it; a buffer's parts are written by one of them only.
        """
        if self.is_written(reader, place):
            *_, end = (op.operation for op in self.callees[reader].regions[0].blocks[0].operations)
            return written_of(end.operands[place - self._first_written(reader)], ASSUMED)
        return bytes_of(value, ASSUMED) * (2 if _is_only_read_by(value, reader) else 1)

    def bytes_through(self, made: ir.Value, value: ir.Value, reader: ir.Operation) -> int:
        """What need not be written of ``made``, nor read of it as ``value`` by ``reader``, if one did both.

        One of them is the host function's own work, which moves elements where indices say. A buffer is
        written in any case.
        """
        read = accessed_by(reader, value, ASSUMED) if is_host_work(reader) else bytes_of(value, ASSUMED)
        is_tensor = isinstance(made.type, ir.RankedTensorType)
        return read + (bytes_of(made, ASSUMED) if is_tensor and _is_only_read_by(made, reader) else 0)

    def is_written(self, call: ir.Operation, place: int) -> bool:
        """Whether a kernel writes its results to argument ``place``."""
        return place >= self._first_written(call)

    def seconds_saved(self, calls: Sequence[ir.Operation], saved: int) -> float:
        """The time of the ``calls`` less that of one kernel that moves ``saved`` bytes less than they do.

        What the host function does itself has one thread, and so would that kernel have.
        """
        costs = {call: self._cost(call) for call in calls}
        one_thread = {call for call in calls if is_host_work(call)}
        apart = sum(self._seconds(cost, call in one_thread) for call, cost in costs.items())
        return apart - self._seconds(sum(costs.values(), Cost(-saved)), bool(one_thread))

    def _cost(self, call: ir.Operation) -> Cost:
        if is_host_work(call):
            return cost_of_host_work(call, ASSUMED)
        return cost_of(self.callees[call].operation, self.tf32, ASSUMED)

    def _seconds(self, cost: Cost, one_thread: bool) -> float:
        return predict(cost, self.machine, 1 if one_thread else self.machine.tasks).seconds

    def _first_written(self, call: ir.Operation) -> int:
        (block,) = self.callees[call].regions[0].blocks
        return len(block.arguments) - len(block.operations[-1].operands)


def _is_only_read_by(value: ir.Value, reader: ir.Operation) -> bool:
    """Whether nothing else reads ``value``, views of it aside."""
    readers = [_in_host(use.owner.operation) for use in value.uses]
    return all(
        op == reader or (op.name in VIEWS and _is_only_read_by(op.results[0], reader)) for op in readers
    )


def _in_host(op: ir.Operation) -> ir.Operation:
    """The op of the host function that ``op`` is, or is inside of."""
    while op.parent is not None and op.parent.name != "func.func":
        op = op.parent.operation
    return op
