"""Groups of ops and who depends on whom, kept free of circles while groups merge."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from mlir import ir

from ..domain import Domain
from ..groups import entry_ops, is_init, operands_of, touches_memory
from ..tiling.access import Nest, nest_of
from .kinds import Kind, kind_of
from .pads import pads_of


@dataclass(eq=False)
class Group:
    """Ops that become one kernel, or one op that stays in the host function.

    ``bits`` has one bit for each group that went into this one, ``above`` those of all groups that it
    depends on, directly or not; ``inputs`` are the groups that it reads, ``outputs`` those that read it, and
    ``sources`` the values that its ops read.
    """

    ops: list[ir.Operation]
    kinds: list[Kind]
    bits: int
    above: int = 0
    inputs: set[Group] = field(default_factory=set)
    outputs: set[Group] = field(default_factory=set)
    sources: dict[ir.Value, None] = field(default_factory=dict)
    domain: Domain | None = None

    def has(self, *kinds: Kind) -> bool:
        """Whether an op of one of these kinds is in the group."""
        return any(kind in kinds for kind in self.kinds)


class Graph:
    """The groups of one function; each op that is added is a group at first.

    ``has_scratch``: tasks have memory for what they compute ahead of a window; others do so where it is read.
    """

    def __init__(self, func: ir.Operation, *, has_scratch: bool = True) -> None:
        self.has_scratch = has_scratch
        self.groups: dict[Group, None] = {}
        self._nests: dict[ir.Operation, Nest] = {}
        self._of_op: dict[ir.Operation, Group] = {}
        self._kinds: dict[ir.Operation, Kind] = {}
        self._on_memory: Group | None = None
        self._bits = 0
        self.dead: list[ir.Operation] = []
        self._position = {op: number for number, op in enumerate(entry_ops(func))}
        # Who reads each value: groups, and None for the end of the function.
        self._readers: dict[ir.Value, set[Group | None]] = {}
        for _, _, value in operands_of(func.regions[0].blocks[0].operations[-1].operation):
            self._readers[value] = {None}

    def add(self, op: ir.Operation) -> Group:
        """Make a group of ``op``, of the fills it starts from and of its pads; ops come in order."""
        fills = [
            value.owner.operation
            for number, value in enumerate(op.operands)
            if is_init(op, number)
            and not isinstance(value, ir.BlockArgument)
            and value.owner.operation.name == "linalg.fill"
        ]
        pads = pads_of(op)
        ops = [*fills, *pads, op]
        kinds = [kind_of(each, self.nest_of) for each in ops]
        kinds = [
            Kind.PAD if kind is Kind.INSERT and each in pads else kind
            for each, kind in zip(ops, kinds, strict=True)
        ]
        group = Group(ops, kinds, self._new_bit())
        for each, kind in zip(ops, group.kinds, strict=True):
            self._of_op[each] = group
            self._kinds[each] = kind
        group.sources = _sources_of(ops)
        for value in group.sources:
            self._readers.setdefault(value, set()).add(group)
        makers = [self.group_of(value) for value in group.sources]
        if touches_memory(op):  # these keep their order
            makers.append(self._on_memory)
            self._on_memory = group
        for maker in makers:
            if maker is not None and maker is not group:
                group.inputs.add(maker)
                maker.outputs.add(group)
                group.above |= maker.bits | maker.above
        self.groups[group] = None
        return group

    def _new_bit(self) -> int:
        self._bits += 1
        return 1 << self._bits

    def group_of(self, value: ir.Value) -> Group | None:
        """The group that makes ``value``."""
        return None if isinstance(value, ir.BlockArgument) else self._of_op.get(value.owner.operation)

    def nest_of(self, op: ir.Operation) -> Nest:
        """The loops of ``op``, read once: nothing is rewritten while groups form."""
        nest = self._nests.get(op)
        if nest is None:
            nest = self._nests[op] = nest_of(op)
        return nest

    def position_of(self, op: ir.Operation) -> int:
        """Where in the block ``op`` is; a copy is where the original is."""
        return self._position[op]

    def first_position(self, group: Group) -> int:
        """Where in the block the first op of ``group`` is."""
        return self._position[group.ops[0]]

    def last_position(self, group: Group) -> int:
        """Where in the block the last op of ``group`` is."""
        return self._position[group.ops[-1]]

    def would_close_circle(self, groups: Collection[Group]) -> bool:
        """Whether another group lies on a path from one of these to one of them."""
        bits = reduce(or_, (group.bits for group in groups))
        return any(each.above & bits for group in groups for each in group.inputs if each not in groups)

    def joined(self, groups: Collection[Group]) -> Group:
        """These as one group, which is not yet part of the graph."""
        pairs = sorted(
            ((op, kind) for group in groups for op, kind in zip(group.ops, group.kinds, strict=True)),
            key=lambda pair: self._position[pair[0]],
        )
        bits = reduce(or_, (group.bits for group in groups))
        sources = (value for group in groups for value in group.sources)
        return Group(
            [op for op, _ in pairs],
            [kind for _, kind in pairs],
            bits,
            reduce(or_, (group.above for group in groups)) & ~bits,
            {each for group in groups for each in group.inputs if each not in groups},
            {each for group in groups for each in group.outputs if each not in groups},
            {value: None for value in sources if self.group_of(value) not in groups},
        )

    def replace(self, groups: Collection[Group], joined: Group) -> None:
        """Let ``joined`` stand for the groups it was made of."""
        for part in groups:
            self._take_out(part)
        for each in joined.inputs:
            each.outputs.add(joined)
        for each in joined.outputs:
            each.inputs.add(joined)
        for value in joined.sources:
            self._readers[value].add(joined)
        self.groups[joined] = None
        for op in joined.ops:
            self._of_op[op] = joined
        new = joined.bits | joined.above
        below = list(joined.outputs)
        while below:  # usually they know all of it, and this ends at once
            group = below.pop()
            if new & ~group.above:
                group.above |= new
                below += group.outputs

    def _take_out(self, group: Group) -> None:
        del self.groups[group]
        for each in group.inputs:
            each.outputs.discard(group)
        for each in group.outputs:
            each.inputs.discard(group)
        for value in group.sources:
            self._readers[value].discard(group)

    def readers_of(self, group: Group) -> set[Group | None]:
        """Who else reads what ``group`` makes; None is the end of the function."""
        values = (value for op in group.ops for value in op.results)
        return {each for value in values for each in self._readers.get(value, ())} - {group}

    def beside(self, group: Group) -> list[Group]:
        """For each tensor that ``group`` reads, who reads it next before and after, in the block's order."""
        found: dict[Group, None] = {}
        here = self.last_position(group)
        for value in group.sources:
            if not isinstance(value.type, ir.RankedTensorType):
                continue
            others = [each for each in self._readers[value] if each is not None and each is not group]
            before = [each for each in others if self.last_position(each) < here]
            after = [each for each in others if self.last_position(each) > here]
            found |= dict.fromkeys(max(before, key=self.last_position) for _ in before[:1])
            found |= dict.fromkeys(min(after, key=self.last_position) for _ in after[:1])
        return list(found)

    def copy_for(self, producer: Group, consumer: Group) -> Group:
        """A copy of ``producer`` that makes what ``consumer``, and nobody else, reads of it."""
        same: dict[ir.Value, ir.Value] = {}
        ops = []
        for op in producer.ops:
            copy = op.clone(ir.InsertionPoint(op)).operation
            _read_instead(copy, same)
            same.update(zip(op.results, copy.results, strict=True))
            self._position[copy] = self._position[op]
            self._kinds[copy] = self._kinds[op]
            ops.append(copy)
        for op in consumer.ops:
            self._let_read(op, same)
        copied = Group(
            ops, list(producer.kinds), self._new_bit(), producer.above, set(producer.inputs), {consumer}
        )
        copied.sources = _sources_of(ops)
        for op in ops:
            self._of_op[op] = copied
        for value in copied.sources:
            self._readers.setdefault(value, set()).add(copied)
        for old, new in same.items():
            if consumer in self._readers.get(old, ()):
                self._readers[old].discard(consumer)
                self._readers.setdefault(new, set()).add(consumer)
        for maker in copied.inputs:
            maker.outputs.add(copied)
        producer.outputs.discard(consumer)
        consumer.inputs.discard(producer)
        consumer.inputs.add(copied)
        consumer.above |= copied.bits
        consumer.sources = {same.get(value, value): None for value in consumer.sources}
        self.groups[copied] = None
        return copied

    def _let_read(self, op: ir.Operation, same: dict[ir.Value, ir.Value]) -> None:
        """As `_read_instead`; what an op reads is part of its hash, so it leaves the tables meanwhile."""
        self._nests.pop(op, None)
        tables: tuple[dict[ir.Operation, Any], ...] = (self._of_op, self._kinds, self._position)
        known = [table.pop(op) for table in tables]
        _read_instead(op, same)
        for table, value in zip(tables, known, strict=True):
            table[op] = value

    def remove(self, group: Group) -> None:
        """Take out a group that nobody reads any more; its ops stay until `erase_dead`."""
        self._take_out(group)
        self.dead += group.ops

    def erase_dead(self) -> None:
        """Erase the ops of removed groups."""
        for op in sorted(self.dead, key=self.position_of, reverse=True):
            op.erase()

    def results(self, ops: list[ir.Operation], *groups: Group) -> list[ir.Value]:
        """The values of ``ops``, all those of ``groups``, that others or the end of the function read."""
        return [value for op in ops for value in op.results if self.is_read_outside(value, *groups)]

    def is_read_outside(self, value: ir.Value, *groups: Group) -> bool:
        """Whether anything but these groups reads ``value``."""
        return any(reader not in groups for reader in self._readers.get(value, ()))

    def kind_of(self, op: ir.Operation) -> Kind:
        """The part that an op of a group plays."""
        return self._kinds[op]


def _sources_of(ops: list[ir.Operation]) -> dict[ir.Value, None]:
    return dict.fromkeys(value for op in ops for _, _, value in operands_of(op))


def _read_instead(op: ir.Operation, same: dict[ir.Value, ir.Value]) -> None:
    """Let ``op`` read other values that are the same."""
    for owner, number, value in list(operands_of(op)):
        if value in same:
            owner.operands[number] = same[value]
