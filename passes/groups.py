"""The groups that fusion forms and outlining moves out: ``mlopt.group = N`` on structured ops."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from mlir import ir

from ..dialects.attributes import GROUP
from .structured import ATTENTION, STRUCTURED, is_used, structured_ops

_MEMREFS = (ir.MemRefType, ir.UnrankedMemRefType)


def group_of(op: ir.Operation) -> int | None:
    """The number of the group of ``op``."""
    return GROUP.get(op)


def set_group(op: ir.Operation, number: int) -> None:
    """Put ``op`` into group ``number``."""
    GROUP.set(op, number)


def entry_ops(func: ir.Operation) -> list[ir.Operation]:
    """The ops in the entry block of a function, without its terminator."""
    return [op.operation for op in func.regions[0].blocks[0].operations][:-1]


def operands_of(op: ir.Operation) -> Iterator[tuple[ir.Operation, int, ir.Value]]:
    """Each operand of ``op`` and of the ops inside it: (owner, number, value)."""
    for number, value in enumerate(op.operands):
        yield op, number, value
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from operands_of(inner.operation)


def touches_memory(op: ir.Operation) -> bool:
    """Whether ``op``, or what is inside of it, reads or writes buffers: its place in the block counts."""
    if any(isinstance(result.type, _MEMREFS) for result in op.results):
        return True
    return any(isinstance(value.type, _MEMREFS) for _, _, value in operands_of(op))


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
    return op.name in ("linalg.generic", ATTENTION) and operand >= len(op.operands) - len(op.results)


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
    terminator = list(func.regions[0].blocks[0].operations)[-1].operation
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
    on_memory = [op for op in ops if touches_memory(op)]  # these keep their order
    before = dict(zip(on_memory[1:], on_memory, strict=False))
    for op in ops:
        makers = [
            value.owner.operation
            for _, _, value in operands_of(op)
            if not isinstance(value, ir.BlockArgument)
        ]
        for maker in (*makers, before.get(op)):
            if maker not in nodes:
                continue
            edge = (nodes[maker], nodes[op])
            if edge[0] != edge[1] and edge not in seen:
                seen.add(edge)
                readers[edge[0]].append(edge[1])
                waiting[edge[1]] += 1
    return readers, waiting
