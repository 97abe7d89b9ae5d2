"""Whether two groups can be one kernel: what the tile rules can emit, and what keeps a task independent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

from mlir import ir

from ..domain import Domain
from ..scheduling import cpu
from ..siblings import have_one_factor, not_siblings
from ..tiling.parts import parts_below
from ..tiling.registry import can_tile
from .edges import PARTS, ROWS_OF_ROWS, edges_apart
from .graph import Graph
from .group import Group
from .kinds import Kind
from .prologue import edges_unwise, reader_of_pad, why_cannot_compute
from .words import first_word, word_for_group

LARGEST = 256  # ops of a kernel
MOST_INSERTS = 16  # that it writes of buffers
RESHAPE = "a reshape is between them"
IN_HOST = " in the host function"
NO_LOOP = "they have no loop in common that tasks could divide"


def can_fuse(graph: Graph, groups: Sequence[Group], domain: Domain | None = None) -> Group | str:
    """The groups, in order, as one, with its domain (which may be known), or why that cannot be."""
    key = graph.key_of(groups)
    # Whether, not why: a reason names who else reads a value, and the key does not know them.
    are_apart = graph.alike.once("apart", key, lambda: _apart(graph, groups) is not None)
    reason = _apart(graph, groups) if are_apart else None
    if reason:
        return reason
    between = graph.between(groups)
    if between is not None:
        which = IN_HOST if between.has(Kind.HOST) else ", another kernel,"
        return f"{word_for_group(between)}{which} is between them"
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
    """Whether groups without a value between them may be tried: simple ones, products of one left factor."""
    anchors = anchors_of(one), anchors_of(other)
    if not any(anchors):
        return is_simple(one) and is_simple(other)
    return all(anchors) and have_one_factor(anchors[0][0], anchors[1][0])


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
    kinds = graph.kind_of(made.owner.operation), graph.kind_of(reader)
    reason = _contractions_apart(producer, consumer)
    reason = reason or (None if kinds[0] is Kind.INSERT else _kinds_apart(producer, consumer))
    if reason is not None:
        return reason
    if kinds == (Kind.ROW, Kind.ROW):
        return ROWS_OF_ROWS
    if kinds[0] is Kind.INSERT:
        return PARTS
    if kinds[1] is Kind.PAD:
        return why_cannot_compute(producer, reader_of_pad(reader))
    return None


def _not_emitted(graph: Graph, domain: Domain) -> str | None:
    """Why no task can be written for the loops of a kernel."""
    return can_tile(domain) or (cpu.problem(domain) if graph.has_scratch else None)


def _apart(graph: Graph, groups: Sequence[Group]) -> str | None:
    """Why groups do not go together."""
    if any(group.has(Kind.HOST) for group in groups):
        return RESHAPE
    if sum(len(group.ops) for group in groups) > LARGEST:
        return f"a kernel has at most {LARGEST} ops, so that it compiles in bounded time"
    for one, other in combinations(groups, 2):
        reason = _contractions_apart(one, other)
        reason = reason or _first_edge(graph, one, other) or _first_edge(graph, other, one)
        reason = reason or _kinds_apart(one, other)
        if reason:
            return reason
    return None


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
    if Kind.ANCHOR in kinds and kinds & {Kind.ROW, Kind.GATHER}:
        return _not_beside(Kind.ANCHOR, (Kind.ROW, Kind.GATHER), producer, consumer)
    if Kind.ANCHOR in kinds and _write_one_buffer(producer, consumer):
        owner = first_word((Kind.ANCHOR,), producer, consumer)
        parts = (producer.kinds + consumer.kinds).count(Kind.INSERT)
        return f"{owner}'s kernel writes one part of a buffer, there would be {parts}"
    if (producer.kinds + consumer.kinds).count(Kind.INSERT) > MOST_INSERTS:
        return f"a kernel writes at most {MOST_INSERTS} parts of buffers, so that it compiles in bounded time"
    return None


def _not_beside(kind: Kind, others: Sequence[Kind], *groups: Group) -> str:
    """That an op of ``kind`` is in no kernel with one of the ``others``, and which ones they are."""
    owner, other = first_word((kind,), *groups), first_word(others, *groups)
    return f"{owner}'s kernel has only element-wise ops beside it, {other} is none"


def _write_one_buffer(*groups: Group) -> bool:
    """Whether groups would write several parts of the same buffer."""
    inserts = [
        op for group in groups for op, kind in zip(group.ops, group.kinds, strict=True) if kind is Kind.INSERT
    ]
    below = [each for op in inserts for each in parts_below(op)]
    return any(op in below for op in inserts)


def _apart_from_attention(producer: Group, consumer: Group) -> str | None:
    """Attention is one kernel with the product of its scores, and with element-wise ops."""
    others = (Kind.ROW, Kind.GATHER, Kind.INSERT)
    if {*producer.kinds, *consumer.kinds} & set(others):
        return _not_beside(Kind.ATTENTION, others, producer, consumer)
    if producer.has(Kind.ATTENTION) and consumer.has(Kind.ATTENTION, Kind.ANCHOR):
        other = first_word((Kind.ATTENTION, Kind.ANCHOR), consumer)
        return f"a kernel has one attention or contraction behind it, {other} would be another one"
    return None


def _first_edge(graph: Graph, producer: Group, consumer: Group) -> str | None:
    """Why a value cannot go from the one group to the other inside a kernel; None if none does."""
    return next((reason for _, reason in edges_apart(graph, producer, consumer)), None)


def edge_reasons(
    graph: Graph, producer: Group, consumer: Group
) -> dict[tuple[ir.Operation, ir.Operation], str]:
    """Why values cannot, or should not, go along edges between ops of two groups.

    None if contractions keep them apart.
    """
    found: dict[tuple[ir.Operation, ir.Operation], str] = {}
    if _contractions_apart(producer, consumer) is None:
        both = chain(edges_apart(graph, producer, consumer), edges_unwise(graph, producer, consumer))
        for ops, reason in both:
            found.setdefault(ops, reason)
    return found
