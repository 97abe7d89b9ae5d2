"""Which fusions are made: of all that are legal the one that saves most, then again.

Groups with a value between them wait in a queue, those first whose fusion saves most time; of equal ones
the smaller, so that long chains grow like a tree and not one op at a time, then the later in the block. What
a pair saves is estimated as if nothing were computed twice; once it is first, its domain is built, and it is
fused, refused, or put back with the exact number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from ..domain import Domain
from .decisions import Decisions
from .graph import Graph, Group
from .kinds import Kind
from .legal import can_fuse
from .price import Prices, Saving
from .profit import should_fuse

_TICK = 1e-15  # seconds: smaller differences are rounding


@dataclass(order=True)
class _Candidate:
    rank: tuple[int, int, int, int]  # the first of the queue has the least
    producer: Group = field(compare=False)
    consumer: Group = field(compare=False)
    domain: Domain | None = field(compare=False, default=None)


class Chooser:
    """Fuses the groups of ``graph`` until nothing that is legal saves time."""

    def __init__(self, graph: Graph, prices: Prices, decisions: Decisions) -> None:
        self.graph = graph
        self.prices = prices
        self.decisions = decisions
        self._queue: list[_Candidate] = []
        self._count = 0

    def run(self) -> None:
        """Fuse what should be fused."""
        for group in self.graph.groups:
            self._add_pairs((each, group) for each in group.inputs)
        while self._queue:
            candidate = heappop(self._queue)
            if candidate.producer in self.graph.groups and candidate.consumer in self.graph.groups:
                self._try(candidate)

    def _add_pairs(self, pairs: Iterable[tuple[Group, Group]]) -> None:
        for producer, consumer in pairs:
            if not producer.has(Kind.HOST) and not consumer.has(Kind.HOST):
                self._add(producer, consumer, self.prices.saving(producer, consumer))

    def _add(self, producer: Group, consumer: Group, saving: Saving, domain: Domain | None = None) -> None:
        size = len(producer.ops) + len(consumer.ops)
        self._count += 1
        rank = (-round(saving.seconds / _TICK), size, -self.graph.last_position(producer), self._count)
        heappush(self._queue, _Candidate(rank, producer, consumer, domain))

    def _try(self, candidate: _Candidate) -> None:
        producer, consumer = candidate.producer, candidate.consumer
        joined = can_fuse(self.graph, producer, consumer, candidate.domain)
        if isinstance(joined, str):
            self.decisions.refuse(producer, consumer, joined, self.prices.saving(producer, consumer))
            return
        saving = self.prices.saving(producer, consumer, joined.domain)
        reason = should_fuse(saving, self.prices.machine.tasks)
        if reason is not None:
            self.decisions.refuse(producer, consumer, reason, saving)
        elif -round(saving.seconds / _TICK) > candidate.rank[0]:
            self._add(producer, consumer, saving, joined.domain)
        else:
            self.decisions.take(producer, consumer, saving)
            self.prices.replace(producer, consumer, joined)
            self.graph.replace(producer, consumer, joined)
            self._add_pairs((each, joined) for each in self._in_order(joined.inputs))
            self._add_pairs((joined, each) for each in self._in_order(joined.outputs))

    def _in_order(self, groups: Iterable[Group]) -> list[Group]:
        return sorted(groups, key=self.graph.last_position)
