"""What was fused and what was not, why, and what that saves or would save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlir import ir

from ...dialects.attributes import GROUP
from ...dialects.decisions import BESIDE, Decision
from ..locations import place_of
from ..structured import word_for
from .behind import Behind
from .graph import Graph
from .group import Group
from .legal import edge_reasons
from .saving import Saving


@dataclass(frozen=True)
class _Edge:
    """An op that reads what another one makes, and what became of their fusion ("" if it was made)."""

    maker: ir.Operation
    reader: ir.Operation
    reason: str
    saving: Saving
    again: bool = False
    beside: bool = False

    @property
    def ops(self) -> str:
        again = " (again in each reader)" if self.again else ""
        arrow = BESIDE if self.beside else " -> "
        return f"{word_for(self.maker)}{arrow}{word_for(self.reader)}{again}"

    @property
    def places(self) -> tuple[str, str]:
        """The source lines of the two."""
        return place_of(self.maker.location), place_of(self.reader.location)


class Decisions:
    """The decisions about the groups of ``graph``; of a pair of ops the last one counts."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._taken: list[_Edge] = []
        # By positions in the block, and which copies they are.
        self._refused: dict[tuple[int, int], dict[tuple[int, int], _Edge]] = {}

    def take(self, producer: Group, consumer: Group, saving: Saving, *, again: bool = False) -> None:
        """The two become one kernel; to be called before they do.

        ``again``: the producer is a copy for this reader, and the saving is that of all readers together.
        """
        pairs = self._pairs(producer, consumer)
        if not pairs:
            self._taken.append(_Edge(producer.ops[-1], consumer.ops[-1], "", saving, beside=True))
            return
        self._taken.append(_Edge(*pairs[0], "", saving, again))
        for maker, reader in pairs:
            refused = self._refused.get(self._places(maker, reader), {})
            this = self._copies(maker, reader)
            for copies in [each for each in refused if each == this or (again and each[1] == this[1])]:
                del refused[copies]  # of a copy: what it is a copy of is not read any more

    def refuse(self, producer: Group, consumer: Group, reason: str, saving: Saving) -> None:
        """The two stay apart, unless they meet through others.

        Where it is for what goes along some of the edges between them, each of these has a reason of its own.
        """
        pairs = self._pairs(producer, consumer)
        if not pairs:
            self._note(_Edge(producer.ops[-1], consumer.ops[-1], reason, saving, beside=True))
            return
        # A single edge has the reason that was found.
        found = edge_reasons(self.graph, producer, consumer) if len(pairs) > 1 else {}
        hinders = [_Edge(maker, reader, "", saving).ops for maker, reader in found]
        for maker, reader in pairs:
            other = f"the kernels are two because of {hinders[0]}" if hinders else reason
            self._note(_Edge(maker, reader, found.get((maker, reader), other), saving))

    def refuse_behind(self, edge: Behind, saving: Saving) -> None:
        """What the host function has between the two keeps them apart."""
        maker = edge.made.owner.operation
        refused = _Edge(maker, edge.reader, edge.reason, saving)
        self._edges(maker, edge.reader).setdefault(self._copies(maker, edge.reader), refused)

    def _note(self, edge: _Edge) -> None:
        self._edges(edge.maker, edge.reader)[self._copies(edge.maker, edge.reader)] = edge

    def lines(self, times: Callable[[ir.Operation], int]) -> Counter[str]:
        """Why ops stayed apart, each reason once, and how often: a reader stands for so many ``times``."""
        found: Counter[str] = Counter()
        for edge in self._still_apart():
            if not edge.beside:
                found[f"{edge.ops}: {edge.reason}"] += times(edge.reader)
        return found

    def all(self) -> Iterator[Decision]:
        """Each decision that still holds, with the numbers that `mlopt.group` has for the groups."""
        dead = set(self.graph.dead)
        taken = [edge for edge in self._taken if not {edge.maker, edge.reader} & dead]
        for edge in (*taken, *self._still_apart()):
            one, other = GROUP.get(edge.maker), GROUP.get(edge.reader)
            assert one is not None and other is not None
            saving = edge.saving
            yield Decision(one, other, edge.ops, edge.reason, saving.bytes, saving.seconds, edge.places)

    def _pairs(self, producer: Group, consumer: Group) -> list[tuple[ir.Operation, ir.Operation]]:
        """The ops that make what the other group reads, and those that read it."""
        return list(dict.fromkeys(read.ops for read in self.graph.reads_between(producer, consumer)))

    def _still_apart(self) -> list[_Edge]:
        dead = set(self.graph.dead)
        return [
            edge
            for edges in self._refused.values()
            for edge in edges.values()
            if not {edge.maker, edge.reader} & dead and GROUP.get(edge.maker) != GROUP.get(edge.reader)
        ]

    def _edges(self, maker: ir.Operation, reader: ir.Operation) -> dict[tuple[int, int], _Edge]:
        """What was refused between the two or copies of them."""
        return self._refused.setdefault(self._places(maker, reader), {})

    def _places(self, maker: ir.Operation, reader: ir.Operation) -> tuple[int, int]:
        return self.graph.position_of(maker), self.graph.position_of(reader)

    def _copies(self, maker: ir.Operation, reader: ir.Operation) -> tuple[int, int]:
        return self.graph.copy_of(maker), self.graph.copy_of(reader)
