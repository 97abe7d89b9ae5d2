"""What one kernel would save in the place of two about which mlopt-fuse had nothing to decide.

Copies and fills that mlopt-outline makes are kernels without a group: they are priced by what the two move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from ..passes.costs.cost import Cost
from ..passes.costs.count import bytes_of, cost_of, written_of
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

    def is_written(self, call: ir.Operation, place: int) -> bool:
        """Whether a kernel writes its results to argument ``place``."""
        return place >= self._first_written(call)

    def seconds_saved(self, calls: Sequence[ir.Operation], saved: int) -> float:
        """The time of the ``calls`` less that of one kernel that moves ``saved`` bytes less than they do."""
        costs = [cost_of(self.callees[call].operation, self.tf32, ASSUMED) for call in calls]
        together = sum(costs, Cost(-saved))
        return sum(map(self._seconds, costs)) - self._seconds(together)

    def _seconds(self, cost: Cost) -> float:
        return predict(cost, self.machine, self.machine.tasks).seconds

    def _first_written(self, call: ir.Operation) -> int:
        (block,) = self.callees[call].regions[0].blocks
        return len(block.arguments) - len(block.operations[-1].operands)


def _is_only_read_by(value: ir.Value, reader: ir.Operation) -> bool:
    """Whether nothing else reads ``value``, views of it aside."""
    readers = [use.owner.operation for use in value.uses]
    return all(
        op == reader or (op.name in VIEWS and _is_only_read_by(op.results[0], reader)) for op in readers
    )
