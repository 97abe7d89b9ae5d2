"""`mlopt-fuse`: decide which ops become one kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import FUSION, GROUP, REFUSALS, Refusal
from .base import Pass
from .fusion.graph import Graph, Group
from .fusion.kinds import Kind
from .fusion.legal import can_fuse
from .fusion.profit import should_fuse
from .groups import entry_ops, give_inits_their_fills, is_init, set_group
from .structured import label_of


@dataclass(frozen=True)
class Fuse(Pass):
    """Form groups of ops, each of which will be one kernel, and note why the others stayed apart.

    ::

        %m = linalg.generic {mlopt.op = "matmul"} …                    {mlopt.group = 0}
        %a = linalg.generic {mlopt.op = "add"} ins(%m, %bias) …    ->  {mlopt.group = 0}
        %g = linalg.generic {mlopt.op = "gelu"} ins(%a) …              {mlopt.group = 0}
        %n = linalg.generic {mlopt.op = "matmul"} ins(%g, …) …         {mlopt.group = 1}

    Each op joins the groups that make its operands, the nearest first, where `can_fuse` and `should_fuse`
    agree. Legal: element-wise ops of one another, a row reduction with what makes its rows and what reads
    them, element-wise work behind a contraction. The reasons against are on the module as ``mlopt.fusion``,
    and as ``mlopt.refusals`` for each pair of groups that a value goes between.
    Every edge inside a group is a tensor that is neither written nor read: softmax reads its input once
    instead of moving seven tensors.
    """

    name: ClassVar[str] = "mlopt-fuse"

    def run(self, op: ir.Operation) -> None:
        refused: list[_Refused] = []
        number = 0
        for function in op.regions[0].blocks[0].operations:
            if function.operation.name == "func.func":
                give_inits_their_fills(function.operation)
                graph = _form_groups(function.operation, refused)
                number = _write_down(graph, number)
        counts = Counter(f"{each.ops}: {each.reason}" for each in refused)
        with op.location:
            lines = [line if count == 1 else f"{line} ({count} times)" for line, count in counts.items()]
            FUSION.set(op, tuple(lines))
            REFUSALS.set(op, tuple(dict.fromkeys(_between_groups(refused))))


@dataclass(frozen=True)
class _Refused:
    """Why an op did not join the group that makes one of its operands."""

    maker: ir.Operation
    reader: ir.Operation
    reason: str

    @property
    def ops(self) -> str:
        return f"{_word(self.maker)} -> {_word(self.reader)}"


def _between_groups(refused: list[_Refused]) -> Iterator[Refusal]:
    """Those that still hold: others met in one group after all."""
    for each in refused:
        one, other = GROUP.get(each.maker), GROUP.get(each.reader)
        if one is not None and other is not None and one != other:
            yield Refusal(one, other, each.ops, each.reason)


def _form_groups(function: ir.Operation, refused: list[_Refused]) -> Graph:
    graph = Graph(function)
    for op in entry_ops(function):
        if _is_passed_over(op):
            continue
        group = graph.add(op)
        for value in reversed(_operands_by_age(graph, op)):
            producer = graph.group_of(value)
            if producer is None or producer is group:
                continue
            group = _try(graph, producer, group, value, op, refused)
    return graph


def _try(
    graph: Graph, producer: Group, consumer: Group, value: ir.Value, op: ir.Operation, refused: list[_Refused]
) -> Group:
    """Join the groups, or count why not; the group that ``op`` is then in."""
    joined = can_fuse(graph, producer, consumer)
    reason = joined if isinstance(joined, str) else should_fuse(graph, producer, consumer, joined)
    if reason is None and not isinstance(joined, str):
        graph.replace(producer, consumer, joined)
        return joined
    if not producer.has(Kind.HOST) and not consumer.has(Kind.HOST):
        refused.append(_Refused(value.owner.operation, op, str(reason)))
    return consumer


def _operands_by_age(graph: Graph, op: ir.Operation) -> list[ir.Value]:
    """The operands that a group makes, the oldest first."""
    made = [value for value in op.operands if graph.group_of(value) is not None]
    return sorted(dict.fromkeys(made), key=graph.position_of)


def _is_passed_over(op: ir.Operation) -> bool:
    """Kernels make constants and empty tensors themselves; a fill comes with what starts from it."""
    if op.name in ("arith.constant", "tensor.empty"):
        return not op.operands
    if op.name != "linalg.fill":
        return False
    uses = list(op.results[0].uses)
    return len(uses) == 1 and is_init(uses[0].owner.operation, uses[0].operand_number)


def _write_down(graph: Graph, number: int) -> int:
    """Set ``mlopt.group`` on all ops; the first free number."""
    for group in graph.groups:
        if not group.has(Kind.HOST):
            for op in group.ops:
                set_group(op, number)
            number += 1
    return number


def _word(op: ir.Operation) -> str:
    return label_of(op) or op.name.split(".")[-1]
