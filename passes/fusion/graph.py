"""Groups of ops and who depends on whom, kept free of circles while groups merge."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlir import ir

from ..domain import Domain
from ..groups import entry_ops, is_init, operands_of, touches_memory
from ..tiling.access import Nest, nest_of
from .kinds import Kind, kind_of


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
    """The groups of one function; each op that is added is a group at first."""

    def __init__(self, func: ir.Operation) -> None:
        self.groups: dict[Group, None] = {}
        self._nests: dict[ir.Operation, Nest] = {}
        self._of_op: dict[ir.Operation, Group] = {}
        self._kinds: dict[ir.Operation, Kind] = {}
        self._on_memory: Group | None = None
        self._position = {op: number for number, op in enumerate(entry_ops(func))}
        # Who reads each value: groups, and None for the end of the function.
        self._readers: dict[ir.Value, set[Group | None]] = {}
        for _, _, value in operands_of(func.regions[0].blocks[0].operations[-1].operation):
            self._readers[value] = {None}

    def add(self, op: ir.Operation) -> Group:
        """Make a group of ``op`` and of the fills that it starts from; ops come in the block's order."""
        fills = [
            value.owner.operation
            for number, value in enumerate(op.operands)
            if is_init(op, number)
            and not isinstance(value, ir.BlockArgument)
            and value.owner.operation.name == "linalg.fill"
        ]
        ops = [*fills, op]
        group = Group(ops, [kind_of(each, self.nest_of) for each in ops], 1 << len(self._of_op))
        for each, kind in zip(ops, group.kinds, strict=True):
            self._of_op[each] = group
            self._kinds[each] = kind
        group.sources = dict.fromkeys(value for each in ops for _, _, value in operands_of(each))
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

    def group_of(self, value: ir.Value) -> Group | None:
        """The group that makes ``value``."""
        return None if isinstance(value, ir.BlockArgument) else self._of_op.get(value.owner.operation)

    def nest_of(self, op: ir.Operation) -> Nest:
        """The loops of ``op``, read once: nothing is rewritten while groups form."""
        nest = self._nests.get(op)
        if nest is None:
            nest = self._nests[op] = nest_of(op)
        return nest

    def first_position(self, group: Group) -> int:
        """Where in the block the first op of ``group`` is."""
        return self._position[group.ops[0]]

    def last_position(self, group: Group) -> int:
        """Where in the block the last op of ``group`` is."""
        return self._position[group.ops[-1]]

    def would_close_circle(self, one: Group, other: Group) -> bool:
        """Whether a group outside of both lies on a path from one to the other."""
        return any(each.above & one.bits for each in other.inputs if each is not one) or any(
            each.above & other.bits for each in one.inputs if each is not other
        )

    def joined(self, one: Group, other: Group) -> Group:
        """The two as one group, which is not yet part of the graph."""
        pairs = sorted(
            zip(one.ops + other.ops, one.kinds + other.kinds, strict=True),
            key=lambda pair: self._position[pair[0]],
        )
        both = {one, other}
        bits = one.bits | other.bits
        return Group(
            [op for op, _ in pairs],
            [kind for _, kind in pairs],
            bits,
            (one.above | other.above) & ~bits,
            (one.inputs | other.inputs) - both,
            (one.outputs | other.outputs) - both,
            {value: None for value in (*one.sources, *other.sources) if self.group_of(value) not in both},
        )

    def replace(self, one: Group, other: Group, joined: Group) -> None:
        """Let ``joined`` stand for the two groups it was made of."""
        for part in (one, other):
            del self.groups[part]
            for each in part.inputs - {one, other}:
                each.outputs = (each.outputs - {part}) | {joined}
            for each in part.outputs - {one, other}:
                each.inputs = (each.inputs - {part}) | {joined}
            for value in part.sources:
                self._readers[value].discard(part)
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

    def results(self, ops: list[ir.Operation], *groups: Group) -> list[ir.Value]:
        """The values of ``ops``, all those of ``groups``, that others or the end of the function read."""
        return [value for op in ops for value in op.results if self.is_read_outside(value, *groups)]

    def is_read_outside(self, value: ir.Value, *groups: Group) -> bool:
        """Whether anything but these groups reads ``value``."""
        return any(reader not in groups for reader in self._readers.get(value, ()))

    def kind_of(self, op: ir.Operation) -> Kind:
        """The part that an op of a group plays."""
        return self._kinds[op]
