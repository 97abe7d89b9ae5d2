"""The groups that fusion forms and outlining moves out: ``mlopt.group = N`` on structured ops."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from mlir import ir

from ..dialects.attributes import GROUP
from .operations import block_ops, nested_ops
from .structured import OWN_OPS, STRUCTURED, is_used, structured_ops

_MEMREFS = (ir.MemRefType, ir.UnrankedMemRefType)


def group_of(op: ir.Operation) -> int | None:
    """The number of the group of ``op``."""
    return GROUP.get(op)


def set_group(op: ir.Operation, number: int) -> None:
    """Put ``op`` into group ``number``."""
    GROUP.set(op, number)


def entry_ops(func: ir.Operation) -> list[ir.Operation]:
    """The ops in the entry block of a function, without its terminator."""
    return block_ops(func)[:-1]


def operands_of(op: ir.Operation) -> Iterator[tuple[ir.Operation, int, ir.Value]]:
    """Each operand of ``op`` and of the ops inside it: (owner, number, value)."""
    for owner in (op, *nested_ops(op)) if len(op.regions) else (op,):
        for number, value in enumerate(owner.operands):
            yield owner, number, value


def touches_memory(op: ir.Operation) -> bool:
    """Whether ``op``, or what is inside of it, reads or writes buffers: its place in the block counts."""
    return _has_memref(op.results) or _has_memref(value for _, _, value in operands_of(op))


def _has_memref(values: Iterable[ir.Value]) -> bool:
    return any(isinstance(value.type, _MEMREFS) for value in values)


def give_inits_their_fills(func: ir.Operation) -> None:
    """Give each generic that starts from a fill a fill of its own, so that the two can be one kernel."""
    for fill in structured_ops(func, "linalg.fill"):
        uses = [(use.owner.operation, use.operand_number) for use in fill.results[0].uses]
        if len(uses) == 1:
            continue
        for owner, operand in uses:
            if is_init(owner, operand):
                owner.operands[operand] = fill.clone(ir.InsertionPoint(owner)).operation.results[0]
        if not is_used(fill.results[0]):
            fill.erase()


def is_init(op: ir.Operation, operand: int) -> bool:
    """Whether an operand of ``op`` is what a generic starts from."""
    return op.name in ("linalg.generic", *OWN_OPS) and operand >= len(op.operands) - len(op.results)


def sort_by_groups(func: ir.Operation) -> list[list[ir.Operation]]:
    """Order the block so that the ops of a group are together, and return the groups in that order.

    Ops without a group are one of their own; a fill that is the init of one generic belongs to its group.
    The order stays as near to the old one as possible. Groups may not depend on each other in a circle.
    """
    ops = entry_ops(func)
    nodes = _nodes(ops)
    position = {op: number for number, op in enumerate(ops)}
    members: dict[int, list[ir.Operation]] = {}
    for op in ops:
        members.setdefault(nodes[op], []).append(op)
    readers, waiting = _edges(ops, nodes)
    first = {node: position[inside[0]] for node, inside in members.items()}
    ready = [(first[node], node) for node in members if not waiting[node]]
    heapq.heapify(ready)
    terminator = func.regions[0].blocks[0].operations[-1].operation
    groups, placed = [], 0
    while ready:
        _, node = heapq.heappop(ready)
        placed += 1
        for op in members[node]:
            op.move_before(terminator)
        if members[node][0].name in STRUCTURED:
            groups.append(members[node])
        for reader in readers[node]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (first[reader], reader))
    if placed < len(members):
        raise ValueError("the groups depend on each other in a circle")
    return groups


def _nodes(ops: list[ir.Operation]) -> dict[ir.Operation, int]:
    """A number for each op, the same for ops of one group."""
    nodes: dict[ir.Operation, int] = {}
    of_group: dict[int, int] = {}
    for number, op in enumerate(reversed(ops)):  # a fill's reader comes after it
        group = group_of(op)
        owner = _reader_as_init(op)
        if owner is not None:
            nodes[op] = nodes[owner]
        elif group is not None:
            nodes[op] = of_group.setdefault(group, number)
        else:
            nodes[op] = number
    return nodes


def _reader_as_init(op: ir.Operation) -> ir.Operation | None:
    """The one generic that starts from this fill."""
    if op.name != "linalg.fill":
        return None
    uses = list(op.results[0].uses)
    if len(uses) == 1 and is_init(uses[0].owner.operation, uses[0].operand_number):
        return uses[0].owner.operation
    return None


def _edges(
    ops: list[ir.Operation], nodes: dict[ir.Operation, int]
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """For each node who reads it (once each), and how many others it reads."""
    readers: dict[int, list[int]] = {node: [] for node in nodes.values()}
    waiting = dict.fromkeys(readers, 0)
    seen: set[tuple[int, int]] = set()
    made_by = {value: nodes[op] for op in ops for value in op.results}
    last_on_memory: int | None = None  # these keep their order
    for op in ops:
        read = [value for _, _, value in operands_of(op)]
        makers = [made_by[value] for value in read if value in made_by]
        if _has_memref((*op.results, *read)):
            makers += [last_on_memory] if last_on_memory is not None else []
            last_on_memory = nodes[op]
        for maker in makers:
            edge = (maker, nodes[op])
            if edge[0] != edge[1] and edge not in seen:
                seen.add(edge)
                readers[edge[0]].append(edge[1])
                waiting[edge[1]] += 1
    return readers, waiting
