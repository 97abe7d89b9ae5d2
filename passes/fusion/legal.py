"""Whether two groups can be one kernel: what the tile rules can emit, and what keeps a task independent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from mlir import ir

from ...dialects.attributes import WHOLE
from ..domain import Domain
from ..groups import is_init
from ..moving.gathered import why_not_computed
from ..raising.bodies import is_contraction
from ..scheduling.cpu import stages_problem
from ..siblings import are_siblings, not_siblings
from ..structured import word_for
from ..tiling.parts import parts_below, why_not_together
from ..tiling.registry import can_tile
from ..tiling.stages import is_moved
from .graph import Graph
from .group import Group
from .kinds import Kind
from .order import as_whole, is_turned, loops_in_order, out_of_order
from .turned import no_turned_store

LARGEST = 256  # ops of a kernel
MOST_PARTS = 16  # that it writes of buffers
RESHAPE = "a reshape is between them"
IN_HOST = " in the host function"
ROWS_OF_ROWS = "a reduction reads what tasks of other rows reduce"
ALL_TASKS = "a full reduction is there only when all of its tasks are done"
ONLY_POINTWISE = "only element-wise work is computed again for each tile of {}"
PARTS = "a buffer that is written in parts is complete only after its kernels"
NO_LOOP = "they have no loop in common that tasks could divide"
GATHER = "a gather reads any element, so all of them must be there"
_REDUCTIONS = (Kind.ROW, Kind.BARRIER)
_EPILOGUES = (Kind.POINTWISE, Kind.INSERT)


def can_fuse(graph: Graph, groups: Sequence[Group], domain: Domain | None = None) -> Group | str:
    """The groups, in order, as one, with its domain (which may be known), or why that cannot be."""
    key = graph.key_of(groups)
    reason = graph.alike.once("apart", key, lambda: _apart(graph, groups))
    if reason:
        return reason
    between = graph.between(groups)
    if between is not None:
        which = IN_HOST if between.has(Kind.HOST) else ", another kernel,"
        return f"{_word_for(between)}{which} is between them"
    joined = graph.joined(groups)
    built = domain or graph.alike.once("together", key, lambda: _together(graph, groups, joined.ops))
    if isinstance(built, str):
        return built
    joined.domain = built
    return joined


def _together(graph: Graph, groups: Sequence[Group], ops: list[ir.Operation]) -> Domain | str:
    """The domain of all ``ops`` as one kernel, or why there is none."""
    built = Domain.build(ops, graph.results(ops, *groups), graph.nest_of)
    reason = built if isinstance(built, str) else _not_emitted(graph, built)
    if isinstance(built, str) or reason is not None:
        return str(reason)
    return built if _is_connected(graph, groups, built) else NO_LOOP


def is_simple(group: Group) -> bool:
    """Whether a group may run beside another one: its work is element by element, or row by row."""
    return all(kind in (Kind.POINTWISE, Kind.ROW, Kind.FILL) for kind in group.kinds)


def may_be_beside(one: Group, other: Group) -> bool:
    """Whether groups without a value between them may be tried as one: simple ones, and products alike."""
    anchors = anchors_of(one), anchors_of(other)
    if not any(anchors):
        return is_simple(one) and is_simple(other)
    return all(anchors) and are_siblings(anchors[0][0], anchors[1][0])


def anchors_of(group: Group) -> list[ir.Operation]:
    """The contractions and windows of a group."""
    return [op for op, kind in zip(group.ops, group.kinds, strict=True) if kind is Kind.ANCHOR]


def is_prologue(producer: Group, consumer: Group) -> bool:
    """Whether a contraction would compute its operands itself."""
    return consumer.has(Kind.ANCHOR) and not producer.has(Kind.ANCHOR)


def can_copy(graph: Graph, producer: Group, consumer: Group) -> Domain | str:
    """The domain of ``consumer`` if it computed all that ``producer`` does itself, or why it cannot."""
    reason = _apart(graph, (producer, consumer))
    if reason:
        return reason
    ops = graph.joined((producer, consumer)).ops
    built = Domain.build(ops, graph.results(consumer.ops, consumer), graph.nest_of)
    reason = built if isinstance(built, str) else _not_emitted(graph, built)
    return built if reason is None else str(reason)


def why_even_so(
    graph: Graph, producer: Group, consumer: Group, made: ir.Value, reader: ir.Operation
) -> str | None:
    """Why ``reader`` could not read ``made`` inside a kernel, however that were shaped; None if it might."""
    reason = _contractions_apart(producer, consumer) or _kinds_apart(producer, consumer)
    if reason is not None:
        return reason
    kinds = graph.kind_of(made.owner.operation), graph.kind_of(reader)
    if kinds == (Kind.ROW, Kind.ROW):
        return ROWS_OF_ROWS
    if kinds[1] is Kind.PAD and any(kind is not Kind.POINTWISE for kind in producer.kinds):
        return ONLY_POINTWISE.format("a window")
    return None


def _not_emitted(graph: Graph, domain: Domain) -> str | None:
    """Why no task can be written for the loops of a kernel."""
    return can_tile(domain) or (stages_problem(domain) if graph.has_scratch else None)


def _apart(graph: Graph, groups: Sequence[Group]) -> str | None:
    """Why groups do not go together."""
    if any(group.has(Kind.HOST) for group in groups):
        return RESHAPE
    if sum(len(group.ops) for group in groups) > LARGEST:
        return f"a kernel has at most {LARGEST} ops, so that it compiles in bounded time"
    for one, other in combinations(groups, 2):
        reason = _contractions_apart(one, other)
        reason = reason or _edges_apart(graph, one, other) or _edges_apart(graph, other, one)
        reason = reason or _kinds_apart(one, other)
        if reason:
            return reason
    return None


def _word_for(group: Group) -> str:
    """What a group is called: by its contraction, or else by what it makes last."""
    ops = zip(group.ops, group.kinds, strict=True)
    return word_for(next((op for op, kind in ops if kind in (Kind.ANCHOR, Kind.ATTENTION)), group.ops[-1]))


def _is_connected(graph: Graph, groups: Sequence[Group], domain: Domain) -> bool:
    """Whether tasks can be split along a dim that two groups share, if no value goes between them."""
    if len(groups) != 2 or groups[0] in groups[1].inputs:
        return True
    nests = [[graph.nest_of(op) for op in group.ops] for group in groups]
    one, other = ({dim for nest in each for dim in domain.loops(nest)} for each in nests)
    return any(dim.kind == "parallel" and not dim.whole for dim in one & other)


def _contractions_apart(one: Group, other: Group) -> str | None:
    """Why the contractions of two groups are not made by the same tasks; None if one has none, too."""
    anchors = anchors_of(one), anchors_of(other)
    return not_siblings([*anchors[0], *anchors[1]]) if all(anchors) else None


def _kinds_apart(producer: Group, consumer: Group) -> str | None:
    """Why the kinds of ops in the two groups do not go together."""
    kinds = {*producer.kinds, *consumer.kinds}
    if Kind.ATTENTION in kinds:
        return _apart_from_attention(producer, consumer)
    if Kind.ANCHOR in kinds and kinds & {*_REDUCTIONS, Kind.GATHER}:
        return _not_beside(Kind.ANCHOR, (*_REDUCTIONS, Kind.GATHER), producer, consumer)
    if kinds & {Kind.ANCHOR, Kind.BARRIER} and _write_one_buffer(producer, consumer):
        return "a kernel with a contraction or a full reduction writes one part of a buffer"
    if (producer.kinds + consumer.kinds).count(Kind.INSERT) > MOST_PARTS:
        return f"a kernel writes at most {MOST_PARTS} parts of buffers, so that it compiles in bounded time"
    if producer.has(Kind.BARRIER):
        if consumer.has(*_REDUCTIONS):
            total, other = _first_word((Kind.BARRIER,), producer), _first_word(_REDUCTIONS, consumer)
            return f"{total} needs all tasks: its kernel has no reduction after it, {other} is one"
    elif Kind.BARRIER in kinds and Kind.ROW in kinds:
        return "a reduction over all tasks waits for the rows"
    if Kind.GATHER in kinds and Kind.BARRIER in kinds:
        return "a gather's rows are not kept for a reduction over all tasks"
    return None


def _not_beside(kind: Kind, others: Sequence[Kind], *groups: Group) -> str:
    """That an op of ``kind`` is in no kernel with one of the ``others``, and which ones they are."""
    owner, other = _first_word((kind,), *groups), _first_word(others, *groups)
    return f"{owner}'s kernel has only element-wise ops beside it, {other} is none"


def _first_word(kinds: Sequence[Kind], *groups: Group) -> str:
    """What the first op of the ``kinds`` is called."""
    ops = (pair for group in groups for pair in zip(group.ops, group.kinds, strict=True))
    return word_for(next(op for op, kind in ops if kind in kinds))


def _write_one_buffer(*groups: Group) -> bool:
    """Whether groups would write several parts of the same buffer."""
    inserts = [
        op for group in groups for op, kind in zip(group.ops, group.kinds, strict=True) if kind is Kind.INSERT
    ]
    below = [each for op in inserts for each in parts_below(op)]
    return any(op in below for op in inserts)


def _apart_from_attention(producer: Group, consumer: Group) -> str | None:
    """Attention is one kernel with the product of its scores, and with element-wise ops."""
    others = (*_REDUCTIONS, Kind.GATHER, Kind.INSERT)
    if {*producer.kinds, *consumer.kinds} & set(others):
        return _not_beside(Kind.ATTENTION, others, producer, consumer)
    if producer.has(Kind.ATTENTION) and consumer.has(Kind.ATTENTION, Kind.ANCHOR):
        return "a kernel has one attention"
    return None


def _edges_apart(graph: Graph, producer: Group, consumer: Group) -> str | None:
    """Why a value cannot go from the one group to the other inside a kernel; None if none does."""
    if producer not in consumer.inputs:
        return None
    for op, kind in zip(consumer.ops, consumer.kinds, strict=True):
        for owner, number, value in graph.operands_of(op):
            if graph.group_of(value) is not producer:
                continue
            if owner != op:
                return why_not_computed(op, value) or GATHER
            reason = _edge_apart(graph, producer, value, op, kind, number)
            if reason:
                return reason
    return None


def _edge_apart(
    graph: Graph, producer: Group, value: ir.Value, op: ir.Operation, kind: Kind, number: int
) -> str | None:
    made_by = graph.kind_of(value.owner.operation)
    if made_by is Kind.INSERT and kind is Kind.INSERT and number == 1:
        return why_not_together(op)
    if made_by is Kind.INSERT or (kind is Kind.INSERT and number == 1):
        return _noted(PARTS, value)
    if kind is Kind.PAD:
        reader = next(iter(op.results[0].uses)).owner.operation
        return _no_prologue(graph, producer, value, reader, "a window") if number == 0 else PARTS
    if kind is Kind.ANCHOR:
        read = graph.nest_of(op).reads[number]
        is_tile = is_contraction(op) and read is not None and not is_moved(read)
        return _no_prologue(graph, producer, value, op, "a contraction" if is_tile else "a window")
    if kind is Kind.ATTENTION and number == 1:
        return "an attention's values would be computed again for each tile"
    if kind is Kind.SLICE:
        return _noted("a slice is read from memory", value)
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
            return no_turned_store(graph, producer, read, nest)
    if order is None:
        return _noted(out_of_order(read), value)
    is_epilogue = (kind in _EPILOGUES and len(order) == len(nest.kinds)) or kind is Kind.ATTENTION
    if made_by is Kind.BARRIER and not is_epilogue:
        return ALL_TASKS
    if producer.has(Kind.ANCHOR, Kind.BARRIER) and not is_epilogue:
        first = _first_word((Kind.ANCHOR, Kind.BARRIER), producer)
        return f"only element-wise ops over all loops of its result follow {first} in its kernel"
    if made_by is Kind.ROW and kind is Kind.ROW and not is_init(op, number):
        return ROWS_OF_ROWS
    return None


def _noted(reason: str, value: ir.Value) -> str:
    """``reason``, and what mlopt-fold-moves has noted of why it did not change how ``value`` is made."""
    note = WHOLE.get(value.owner.operation)
    return reason if note is None else f"{reason}: {note}"


def _no_prologue(graph: Graph, producer: Group, value: ir.Value, op: ir.Operation, reader: str) -> str | None:
    """Why ``op``, which ``reader`` names, cannot compute what it reads itself, tile by tile."""
    if any(kind is not Kind.POINTWISE for kind in producer.kinds):
        return ONLY_POINTWISE.format(reader)
    if not _reads_in_order(graph, producer):
        return f"{reader} would read an operand against its order in memory, again for each tile"
    consumer = graph.group_of(op.results[0])
    if consumer is not None and graph.is_read_outside(value, producer, consumer):
        return f"what {reader} reads is stored for others as well"
    return None


def _reads_in_order(graph: Graph, producer: Group) -> bool:
    """Whether loops run through what the ops of ``producer`` read, or parts of it, as it lies in memory."""
    reads = (access for each in producer.ops for access in graph.nest_of(each).reads if access is not None)
    return all(loops_in_order(as_whole(access)) is not None for access in reads)
