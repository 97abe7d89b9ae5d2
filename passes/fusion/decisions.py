"""What was fused and what was not, why, and what that saves or would save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir

from ...dialects.attributes import GROUP, Decision
from ..structured import label_of
from .graph import Graph, Group
from .price import Saving


@dataclass(frozen=True)
class _Edge:
    """An op that reads what another one makes, and what became of their fusion ("" if it was made)."""

    maker: ir.Operation
    reader: ir.Operation
    reason: str
    saving: Saving

    @property
    def ops(self) -> str:
        return f"{_word(self.maker)} -> {_word(self.reader)}"


class Decisions:
    """The decisions about the groups of ``graph``; of a pair of ops the last one counts."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._taken: list[_Edge] = []
        self._refused: dict[tuple[ir.Operation, ir.Operation], _Edge] = {}

    def take(self, producer: Group, consumer: Group, saving: Saving) -> None:
        """The two become one kernel; to be called before they do."""
        maker, reader = next(self._between(producer, consumer))
        self._taken.append(_Edge(maker, reader, "", saving))

    def refuse(self, producer: Group, consumer: Group, reason: str, saving: Saving) -> None:
        """The two stay apart, unless they meet through others."""
        for maker, reader in self._between(producer, consumer):
            self._refused[maker, reader] = _Edge(maker, reader, reason, saving)

    def lines(self) -> Iterator[tuple[str, int]]:
        """Why ops stayed apart, each reason once, and how often."""
        yield from Counter(f"{edge.ops}: {edge.reason}" for edge in self._still_apart()).items()

    def all(self) -> Iterator[Decision]:
        """Each decision that still holds, with the numbers that `mlopt.group` has for the groups."""
        for edge in (*self._taken, *self._still_apart()):
            one, other = GROUP.get(edge.maker), GROUP.get(edge.reader)
            assert one is not None and other is not None
            yield Decision(one, other, edge.ops, edge.reason, edge.saving.bytes, edge.saving.seconds)

    def _still_apart(self) -> list[_Edge]:
        return [edge for edge in self._refused.values() if GROUP.get(edge.maker) != GROUP.get(edge.reader)]

    def _between(self, producer: Group, consumer: Group) -> Iterator[tuple[ir.Operation, ir.Operation]]:
        """The ops that make what the other group reads, and those that read it."""
        seen = set()
        for reader in consumer.ops:
            for value in reader.operands:
                if self.graph.group_of(value) is producer:
                    pair = (value.owner.operation, reader)
                    if pair not in seen:
                        seen.add(pair)
                        yield pair


def _word(op: ir.Operation) -> str:
    return label_of(op) or op.name.split(".")[-1]
