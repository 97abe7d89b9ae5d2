"""Whether a contraction or a window computes what it reads itself, tile by tile.

Tile rules can make element-wise work wherever an operand is read: that is legal (`why_cannot_compute`). It is
done again for each tile, at a price (`price`, `profit`); what no tile should do, however little it computes,
is asked before that (`should_compute`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from mlir import ir

from ...dialects.attributes import STORED, WHOLE
from ..structured import word_for
from .graph import Graph
from .group import Group
from .kinds import Kind
from .order import as_whole, rows_in_order
from .words import first_word, words_for_readers

_ONLY_POINTWISE = "only element-wise work is computed again for each tile of {}, {} is none"


def why_cannot_compute(producer: Group, op: ir.Operation) -> str | None:
    """Which op of ``producer`` no tile of ``op`` can make; None if it can make all of them."""
    kinds = [kind for kind in producer.kinds if kind is not Kind.POINTWISE]
    if not kinds:
        return None
    told = [kind for kind in kinds if kind is not Kind.FILL] or kinds  # a fill comes with what starts from it
    return _ONLY_POINTWISE.format(word_for(op), first_word(told, producer))


def edges_unwise(
    graph: Graph, producer: Group, consumer: Group
) -> Iterator[tuple[tuple[ir.Operation, ir.Operation], str]]:
    """Each two ops of two groups of which a contraction, window or attention should not make one, and why."""
    for read in graph.reads_between(producer, consumer):
        kind = graph.kind_of(read.op)
        if kind is Kind.ATTENTION and read.number == 1:
            maker = word_for(read.value.owner)
            yield read.ops, f"attention's values, which {maker} makes, would be made again for each tile"
        elif kind is Kind.ANCHOR or (kind is Kind.PAD and read.number != 1):
            reader = reader_of_pad(read.op) if kind is Kind.PAD else read.op
            reason = _why_should_not_compute(graph, producer, read.value, reader)
            if reason is not None:
                yield read.ops, reason


def should_compute(graph: Graph, groups: Sequence[Group]) -> str | None:
    """Why no contraction or window of ``groups`` should compute what it reads of another one of them."""
    pairs = permutations(groups, 2)
    return next((reason for pair in pairs for _, reason in edges_unwise(graph, *pair)), None)


def reader_of_pad(pad: ir.Operation) -> ir.Operation:
    """The window that reads through a pad."""
    return next(iter(pad.results[0].uses)).owner.operation


def _why_should_not_compute(graph: Graph, producer: Group, value: ir.Value, op: ir.Operation) -> str | None:
    """Why tiles of ``op`` would lose by making what they read: it is scattered, or stored anyway."""
    if (note := STORED.get(value.owner.operation)) is not None:
        return note
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
    nests = [graph.nest_of(op) for op in producer.ops]
    return all(
        rows_in_order(as_whole(access), nest) for nest in nests for access in nest.reads if access is not None
    )
