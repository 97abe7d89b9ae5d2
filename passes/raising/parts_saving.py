"""What a reduction of few results saves in parts, or would save: the numbers of its decision."""

from __future__ import annotations

from mlir import ir

from ...dialects.decisions import NO_GROUP, Decision
from ..costs.cost import Cost
from ..costs.count import bytes_of, cost_alone
from ..costs.machine import Machine
from ..costs.roofline import predict
from ..locations import place_of
from ..structured import ASSUMED, label_of
from .bodies import name_of


class PartsSaving:
    """The price of the reduction ``op`` as it is, of so many ``tasks``, on ``machine``; it may go afterwards.

    What is reduced comes from memory, as if nothing were fused with it. The partial results are written, and
    a second kernel reads them. A CPU's processor has to itself what takes it no longer than ``small``.
    """

    def __init__(self, op: ir.Operation, tasks: int, machine: Machine) -> None:
        self._machine, self._tasks = machine, max(tasks, 1)
        self._cost, self._results = cost_alone(op, ASSUMED), bytes_of(op.results[0], ASSUMED)
        place = place_of(op.location)
        self._places = (place,) if place else ()
        self._word = f"{place}: {label_of(op) or name_of(op)}".removeprefix(": ")

    def decision(self, parts: int, reason: str, *, again: bool) -> Decision:
        """About so many ``parts`` of each result; the ``reason`` against them, empty if they were made.

        ``again``: whoever needs the result, or made what is reduced, has to read that once more.
        """
        partial = self._results * parts
        size = 2 * partial + (self._cost.bytes - self._results if again else 0)
        made = self._cost + Cost(size - partial - self._results)
        apart = self._seconds(made, self._tasks * parts)
        apart += self._seconds(Cost(partial + self._results), self._tasks)
        seconds = self._seconds(self._cost, self._tasks) - apart
        ops = f"{self._word} in {parts} parts"
        return Decision(NO_GROUP, NO_GROUP, ops, reason, -size, seconds, self._places)

    def _seconds(self, cost: Cost, tasks: int) -> float:
        alone = predict(cost, self._machine, 1).seconds
        small = alone - self._machine.launch <= self._machine.small
        return alone if small else predict(cost, self._machine, tasks).seconds
