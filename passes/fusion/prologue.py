"""Whether a contraction or a window computes what it reads itself, tile by tile.

Tile rules can make element-wise work wherever an operand is read. It is done again for each tile: the price
of that is asked later (`price`, `profit`), but not of what no tile should do, however little it computes.
"""

from __future__ import annotations

from mlir import ir

from ...dialects.attributes import WHOLE
from ..structured import word_for
from .graph import Graph
from .group import Group
from .kinds import Kind
from .order import as_whole, loops_in_order
from .words import first_word, words_for_readers

_ONLY_POINTWISE = "only element-wise work is computed again for each tile of {}, {} is none"


def why_not_prologue(graph: Graph, producer: Group, value: ir.Value, op: ir.Operation) -> str | None:
    """Why ``op`` reads ``value`` from memory; None if it may compute it."""
    return why_cannot_compute(producer, op) or why_should_not_compute(graph, producer, value, op)


def why_cannot_compute(producer: Group, op: ir.Operation) -> str | None:
    """Which op of ``producer`` no tile of ``op`` can make; None if it can make all of them."""
    kinds = [kind for kind in producer.kinds if kind is not Kind.POINTWISE]
    if not kinds:
        return None
    told = [kind for kind in kinds if kind is not Kind.FILL] or kinds  # a fill comes with what starts from it
    return _ONLY_POINTWISE.format(word_for(op), first_word(told, producer))


def why_should_not_compute(graph: Graph, producer: Group, value: ir.Value, op: ir.Operation) -> str | None:
    """Why tiles of ``op`` would lose by making what they read: it is scattered, or stored anyway."""
    if not _reads_in_order(graph, producer):
        reason = f"{word_for(op)} would read an operand against its order in memory, again for each tile"
        note = WHOLE.get(value.owner.operation)
        return reason if note is None else f"{reason}: {note}"
    consumer = graph.group_of(op.results[0])
    if consumer is not None and graph.is_read_outside(value, producer, consumer):
        others = graph.readers.of(value) - {producer, consumer}
        return f"what {word_for(op)} reads is stored for {words_for_readers(graph, others)} as well"
    return None


def _reads_in_order(graph: Graph, producer: Group) -> bool:
    """Whether loops run through what the ops of ``producer`` read, or parts of it, as it lies in memory."""
    reads = (access for each in producer.ops for access in graph.nest_of(each).reads if access is not None)
    return all(loops_in_order(as_whole(access)) is not None for access in reads)
