"""Which fusions are made: of all that are legal the one that saves most, then again.

Groups with a value between them wait in a queue, those first whose fusion saves most time; of equal ones
the smaller, so that long chains grow like a tree and not one op at a time, then the later in the block. What
a pair saves is estimated as if nothing more were computed twice than before; once it is first, its domain is
built, and it is fused, refused, or put back with the exact number if that is much less: the time for a
domain goes with the kernel's ops, and each fusion makes new pairs with all neighbours (the 370 ops of a
bicubic grid_sample: 390 domains in place of 1,600, a fifth of the time). Bytes count a little even where
the roofline lets them hide behind arithmetic: of two fusions that save the same launch, the one is made that
leaves less to move.

Element-wise work with several readers waits until the readers have become what they will be (`sharing`).
What a contraction would compute of its operands waits even longer: it is done again for each tile. Last,
kernels that read one tensor are tried side by side; and what the host function keeps apart is noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

from ..domain import Domain
from .behind import edges_behind
from .decisions import Decisions
from .graph import Graph
from .group import Group
from .kinds import Kind
from .legal import can_fuse, is_prologue, may_be_beside
from .price import Prices
from .profit import (
    is_mask_of_many,
    is_one_attention,
    should_be_one_task,
    should_fuse,
    should_go_together,
)
from .saving import Saving
from .sharing import Copies, best_for, is_shared
from .widened import is_widened

_TICK = 1e-15  # seconds: smaller differences are rounding
_HIDDEN = 0.1  # what a byte counts for that costs no time
_NEAR = 0.02  # of what was estimated: so much less is fused in its turn all the same


class _Candidate(NamedTuple):
    rank: tuple[int, int, int, int]  # the first of the queue has the least; no two have the same
    groups: tuple[Group, Group]
    domain: Domain | None
    settled: bool  # what happens to what several read is decided


class Chooser:
    """Fuses the groups of ``graph`` until nothing that is legal saves time."""

    def __init__(self, graph: Graph, prices: Prices, decisions: Decisions) -> None:
        self.graph = graph
        self.prices = prices
        self.decisions = decisions
        self._queue: list[_Candidate] = []
        self._shared: list[tuple[int, int, Group]] = []  # the last of the block first
        self._prologues: list[tuple[Group, Group]] = []
        self._side_by_side = False
        self._from_empties = True
        self._count = 0

    def run(self, *, from_empties: bool = True) -> None:
        """Fuse what should be fused; side by side also what has no more in common than an empty tensor."""
        for group in self.graph.groups:
            self._add_pairs((each, group) for each in self._in_order(group.inputs))
        self._drain()
        self._side_by_side, self._from_empties = True, from_empties
        for group in list(self.graph.groups):
            self._add_beside(group)
        self._drain()
        for group in self.graph.groups:
            for maker, edge in edges_behind(self.graph, group):
                self.decisions.refuse_behind(edge, self.prices.refused_behind(maker, group, edge))

    def _drain(self) -> None:
        while self._queue or self._shared or self._prologues:
            if self._queue:
                self._try(heappop(self._queue))
            elif self._shared:
                last = heappop(self._shared)[-1]
                while self._shared and self._shared[0][-1] is last:
                    heappop(self._shared)
                if last in self.graph.groups:
                    self._settle(last)
            else:
                alive = [
                    pair for pair in self._prologues if all(group in self.graph.groups for group in pair)
                ]
                self._prologues.clear()
                self._add_pairs(alive, settled=True)

    def _add_pairs(self, pairs: Iterable[tuple[Group, Group]], *, settled: bool = False) -> None:
        for pair in pairs:
            if not any(group.has(Kind.HOST) for group in pair):
                self._add(pair, self.prices.saving(pair), settled=settled)

    def _add(
        self, pair: tuple[Group, Group], saving: Saving, domain: Domain | None = None, *, settled: bool
    ) -> None:
        size = sum(len(group.ops) for group in pair)
        self._count += 1
        rank = (-self._worth(saving), size, -self.graph.last_position(pair[0]), self._count)
        heappush(self._queue, _Candidate(rank, pair, domain, settled))

    def _try(self, candidate: _Candidate) -> None:
        pair = candidate.groups
        if not all(group in self.graph.groups for group in pair):
            return
        if not candidate.settled and is_prologue(*pair):
            self._prologues.append(pair)
            return
        shared = None if candidate.settled else self._awaited(*pair)
        if shared is not None:
            heappush(self._shared, (-self.graph.last_position(shared), shared.bits, shared))
            return
        joined = can_fuse(self.graph, pair, candidate.domain)
        against = joined if isinstance(joined, str) else should_go_together(self.graph, pair, joined.domain)
        if against is not None:
            self.decisions.refuse(*pair, against, self.prices.refused(*pair))
            return
        assert isinstance(joined, Group)
        saving = self.prices.saving(pair, joined.domain)
        assert joined.domain is not None
        again = partial(self.prices.most_repeated, joined.domain)
        reason = should_be_one_task(joined.domain) or should_fuse(saving, self.prices.machine.tasks, again)
        if reason is not None and not self._is_attentions(pair, saving):
            self.decisions.refuse(*pair, reason, saving)
        elif -candidate.rank[0] - self._worth(saving) > _NEAR * abs(candidate.rank[0]):
            self._add(pair, saving, joined.domain, settled=candidate.settled)
        else:
            self._fuse(pair, joined, saving)

    def _is_attentions(self, pair: tuple[Group, Group], saving: Saving) -> bool:
        """Whether attention takes the first of two groups, though that saves no time by itself."""
        machine, price = self.prices.machine, self.prices.of(pair[1])
        return is_one_attention(*pair, saving, machine) or is_mask_of_many(*pair, saving, price, machine)

    def _awaited(self, producer: Group, consumer: Group) -> Group | None:
        """Which of two groups waits for its readers: one that is stored wider than what it reads, too."""
        if is_shared(self.graph, producer):
            return producer
        return consumer if is_widened(consumer) and is_shared(self.graph, consumer) else None

    def _fuse(self, groups: Sequence[Group], joined: Group, saving: Saving) -> None:
        self.decisions.take(groups[0], groups[1], saving)
        self.prices.replace(groups, joined)
        self.graph.replace(groups, joined)
        self._add_around(joined)

    def _add_around(self, group: Group) -> None:
        self._add_pairs((each, group) for each in self._in_order(group.inputs))
        self._add_pairs((group, each) for each in self._in_order(group.outputs))
        if self._side_by_side:
            self._add_beside(group)

    def _add_beside(self, group: Group) -> None:
        """Try ``group`` with its neighbours that read the same tensors, where both may run side by side."""
        for other in self.graph.readers.beside(group, self._from_empties):
            if may_be_beside(group, other) and group not in other.inputs and other not in group.inputs:
                first, second = self._in_order((group, other))
                self._add_pairs([(first, second)], settled=True)

    def _settle(self, shared: Group) -> None:
        """Decide about element-wise work that several kernels read."""
        if not is_shared(self.graph, shared):
            self._add_around(shared)
            return
        readers = self._in_order(shared.outputs)
        choice = best_for(self.graph, self.prices, shared, readers)
        if isinstance(choice, Copies):
            self._copy(shared, choice)
        elif choice is not None:
            self._fuse((shared, *readers), choice[0], choice[1])
        else:
            self._add_pairs(((shared, each) for each in readers), settled=True)
            if is_widened(shared):
                makers = self._in_order(shared.inputs)
                self._add_pairs(((each, shared) for each in makers), settled=True)

    def _copy(self, shared: Group, copies: Copies) -> None:
        """Let some readers compute themselves what ``shared`` makes."""
        for reader in copies.readers:
            copied = self.graph.copy_for(shared, reader)
            self.prices.forget(reader)
            joined = can_fuse(self.graph, (copied, reader))
            assert isinstance(joined, Group), "a copy can be fused where it was made for"
            self.decisions.take(copied, reader, copies.saving, again=True)
            self.prices.replace((copied, reader), joined)
            self.graph.replace((copied, reader), joined)
            self._add_around(joined)
        self.prices.forget(shared)
        if shared.outputs:
            self._add_around(shared)
        else:
            self.graph.remove(shared)

    def _in_order(self, groups: Iterable[Group]) -> list[Group]:
        return sorted(groups, key=self.graph.last_position)

    def _worth(self, saving: Saving) -> int:
        seconds = saving.seconds + _HIDDEN * saving.bytes / self.prices.machine.bandwidth
        return round(seconds / _TICK)
