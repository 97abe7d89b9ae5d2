"""Whether a value can go from one group to another inside a kernel, and why not: how its reader reads it."""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from ...dialects.attributes import IN_PARTS, WHOLE
from ..groups import is_init
from ..moving.gathered import why_not_computed
from ..structured import DYNAMIC, word_for
from ..tiling.parts import why_not_together
from .graph import Graph, Read
from .group import Group
from .kinds import Kind
from .order import is_turned, loops_in_order, out_of_order
from .prologue import reader_of_pad, why_cannot_compute
from .turned import no_turned_store
from .words import first_word

ROWS_OF_ROWS = "a reduction reads what tasks of other rows reduce"
PARTS = "a buffer that is written in parts is complete only after its kernels"
GATHER = "a gather reads any element, so all of them must be there"
_EPILOGUES = (Kind.POINTWISE, Kind.INSERT)


def edges_apart(
    graph: Graph, producer: Group, consumer: Group
) -> Iterator[tuple[tuple[ir.Operation, ir.Operation], str]]:
    """Each two ops of two groups between which a value cannot go inside a kernel, and why."""
    for read in graph.reads_between(producer, consumer):
        if read.owner != read.op:
            reason: str | None = why_not_computed(read.op, read.value) or GATHER
        else:
            reason = _edge_apart(graph, producer, read)
        if reason:
            yield read.ops, reason


def _edge_apart(graph: Graph, producer: Group, edge: Read) -> str | None:
    op, _, number, value = edge
    made_by, kind = graph.kind_of(value.owner.operation), graph.kind_of(op)
    if made_by is Kind.INSERT and kind is Kind.INSERT and number == 1:
        return why_not_together(op)
    if kind in (Kind.INSERT, Kind.PAD) and number == 1:
        maker = word_for(value.owner)
        before = f"{maker} writes all of the buffer that {word_for(op)} writes a part of, before"
        return _noted(before, op.results[0])
    if made_by is Kind.INSERT:
        return _noted(PARTS, value)
    if kind is Kind.PAD:
        return why_cannot_compute(producer, reader_of_pad(op))
    if kind is Kind.ANCHOR:
        return why_cannot_compute(producer, op)
    if kind is Kind.SLICE:
        return _noted(f"a slice {_taken(op)} is read from memory", value)
    if kind is Kind.FILL or made_by is Kind.FILL:
        return "a fill goes with what starts from it only"
    nest = graph.nest_of(op)
    read = nest.reads[number]
    if read is None:
        return "an init is written, not read"
    order = loops_in_order(read)
    if order is None and kind is Kind.POINTWISE and is_turned(read, nest):
        if producer.has(Kind.ATTENTION):
            return None  # its tiles have one element along the dims that are turned around
        if producer.has(Kind.ANCHOR):
            return no_turned_store(graph, producer)
    if order is None:
        return _noted(out_of_order(read, nest), value)
    is_epilogue = (kind in _EPILOGUES and len(order) == len(nest.kinds)) or kind is Kind.ATTENTION
    if producer.has(Kind.ANCHOR) and not is_epilogue:
        first = first_word((Kind.ANCHOR,), producer)
        apart = f"only element-wise ops over all loops of its result follow {first} in its kernel"
        parts = IN_PARTS.get(value.owner.operation)
        return apart if parts is None else f"{apart}; {parts}"
    if made_by is Kind.ROW and kind is Kind.ROW and not is_init(op, number):
        return ROWS_OF_ROWS
    return None


def _noted(reason: str, value: ir.Value) -> str:
    """``reason``, and what mlopt-fold-moves has noted of why it did not change how ``value`` is made."""
    note = WHOLE.get(value.owner.operation)
    return reason if note is None else f"{reason}: {note}"


def _taken(op: ir.Operation) -> str:
    """Which slice of a tensor ``op`` is, that no read at fixed places is."""
    step = next((step for step in op.opview.static_strides if step != 1), 1)
    if step == 1:
        return "from a place that is not known before"
    return "in steps that are not known before" if step == DYNAMIC else f"in steps of {step}"
