"""Groups of ops and who depends on whom, kept free of circles while groups merge."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import partial, reduce
from operator import itemgetter, or_
from typing import Any, NamedTuple

from mlir import ir

from ..groups import entry_ops, is_init, operands_of, touches_memory
from ..tiling.access import Nest, nest_of
from .alike import Alike
from .group import Group
from .kinds import Kind, kind_of
from .pads import pads_of
from .readers import Readers


class Read(NamedTuple):
    """An op of a group, or an op inside of it (``owner``), has ``value`` as its operand ``number``."""

    op: ir.Operation
    owner: ir.Operation
    number: int
    value: ir.Value

    @property
    def ops(self) -> tuple[ir.Operation, ir.Operation]:
        """The op that makes the value, and the one that reads it."""
        return self.value.owner.operation, self.op


class Graph:
    """The groups of one function; each op that is added is a group at first.

    ``has_scratch``: tasks have memory for what they compute ahead of a window; others do so where it is read.
    """

    def __init__(self, func: ir.Operation, *, has_scratch: bool = True) -> None:
        self.has_scratch = has_scratch
        self.groups: dict[Group, None] = {}
        self.alike = Alike()
        self._nests: dict[ir.Operation, Nest] = {}
        self._operands: dict[ir.Operation, list[tuple[ir.Operation, int, ir.Value]]] = {}
        self._makers: dict[ir.Value, Group] = {}
        self._kinds: dict[ir.Operation, Kind] = {}
        self._on_memory: Group | None = None
        self._bits = 0
        self.dead: list[ir.Operation] = []
        self._position = {op: number for number, op in enumerate(entry_ops(func))}
        self._copies: dict[ir.Operation, int] = {}
        end = func.regions[0].blocks[0].operations[-1].operation
        self.readers = Readers((value for _, _, value in operands_of(end)), self.last_position)

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
        kinds = [self.alike.once_for("kind", each, partial(kind_of, each, self.nest_of)) for each in ops]
        kinds = [
            Kind.PAD if kind is Kind.INSERT and each in pads else kind
            for each, kind in zip(ops, kinds, strict=True)
        ]
        group = Group(ops, kinds, self._new_bit())
        self._kinds.update(zip(ops, kinds, strict=True))
        self._set_values(group)
        self.readers.add(group)
        makers = [self.group_of(value) for value in group.sources]
        if self.alike.form_of(op) is None and touches_memory(op):  # these keep their order
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
        return self._makers.get(value)

    def operands_of(self, op: ir.Operation) -> list[tuple[ir.Operation, int, ir.Value]]:
        """What ``op`` and the ops inside of it read, but for what is made inside: (owner, number, value)."""
        found = self._operands.get(op)
        if found is not None:
            return found
        form = self.alike.form_of(op)
        if form is not None:  # but for constants
            found = self._operands[op] = [(op, number, value) for number, value in enumerate(form.operands)]
        else:
            inner = [block.arguments for region in op.regions for block in region.blocks]
            inside = {value for values in inner for value in values}
            found = self._operands[op] = []
            for owner, number, value in operands_of(op):
                if value not in inside:
                    found.append((owner, number, value))
                if owner is not op:
                    inside.update(owner.results)
        return found

    def reads_between(self, producer: Group, consumer: Group) -> Iterator[Read]:
        """Each time that an op of ``consumer`` reads what ``producer`` makes."""
        for op in consumer.ops if producer in consumer.inputs else ():
            for owner, number, value in self.operands_of(op):
                if self.group_of(value) is producer:
                    yield Read(op, owner, number, value)

    def _set_values(self, group: Group) -> None:
        """Note what the ops of a new group read and make."""
        group.sources = dict.fromkeys(value for op in group.ops for _, _, value in self.operands_of(op))
        group.made = dict.fromkeys(value for op in group.ops for value in op.results)
        self._makers.update(dict.fromkeys(group.made, group))

    def nest_of(self, op: ir.Operation) -> Nest:
        """The loops of ``op``, read once for all ops that are alike."""
        nest = self._nests.get(op)
        if nest is None:
            form = self.alike.form_of(op)
            if form is None:
                nest = nest_of(op)
            else:  # that of the first op of the form, which may read something else by now
                nest = self.alike.once("loops", form.number, lambda: nest_of(op)).on(op)
            self._nests[op] = nest
        return nest

    def position_of(self, op: ir.Operation) -> int:
        """Where in the block ``op`` is; a copy is where the original is."""
        return self._position[op]

    def copy_of(self, op: ir.Operation) -> int:
        """Which copy of an op it is, 0 for the original."""
        return self._copies.get(op, 0)

    def first_position(self, group: Group) -> int:
        """Where in the block the first op of ``group`` is."""
        return self._position[group.ops[0]]

    def last_position(self, group: Group) -> int:
        """Where in the block the last op of ``group`` is."""
        return self._position[group.ops[-1]]

    def between(self, groups: Collection[Group]) -> Group | None:
        """Another group on a path from one of these to one of them, a kernel if there is one."""
        bits = reduce(or_, (group.bits for group in groups))
        inputs = [each for group in groups for each in group.inputs if each not in groups]
        found = dict.fromkeys(each for each in inputs if each.above & bits)
        for each in list(found):
            while each.has(Kind.HOST) and (before := [it for it in each.inputs if it.above & bits]):
                each = min(before, key=self.last_position)
            found[each] = None
        return min(found, key=lambda each: (each.has(Kind.HOST), self.last_position(each)), default=None)

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
            {value: None for value in sources if self._makers.get(value) not in groups},
            {value: None for group in groups for value in group.made},
        )

    def replace(self, groups: Collection[Group], joined: Group) -> None:
        """Let ``joined`` stand for the groups it was made of."""
        for part in groups:
            self._take_out(part)
        for each in joined.inputs:
            each.outputs.add(joined)
        for each in joined.outputs:
            each.inputs.add(joined)
        self.readers.add(joined)
        self.groups[joined] = None
        self._makers.update(dict.fromkeys(joined.made, joined))
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
        self.readers.remove(group)

    def readers_of(self, group: Group) -> set[Group | None]:
        """Who else reads what ``group`` makes; None is the end of the function."""
        return {each for value in group.made for each in self.readers.of(value)} - {group}

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
            self._copies[copy] = self._bits
            ops.append(copy)
        for op in consumer.ops:
            self._let_read(op, same)
        copied = Group(
            ops, list(producer.kinds), self._new_bit(), producer.above, set(producer.inputs), {consumer}
        )
        self._set_values(copied)
        self.readers.add(copied)
        self.readers.move(consumer, same)
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
        self._operands.pop(op, None)
        self.alike.forget(op)
        tables: tuple[dict[ir.Operation, Any], ...] = (self._kinds, self._position, self._copies)
        known = [(table, table.pop(op)) for table in tables if op in table]
        _read_instead(op, same)
        for table, value in known:
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

    def key_of(self, groups: Sequence[Group]) -> Hashable | None:
        """What is the same for groups of equal ops that read each other alike, and are read alike."""
        ops = ((self._position[op], number, op) for number, group in enumerate(groups) for op in group.ops)
        in_order = [(op, number) for _, number, op in sorted(ops, key=itemgetter(0))]
        return self.alike.key_of(in_order, lambda value: self.is_read_outside(value, *groups))

    def is_read_outside(self, value: ir.Value, *groups: Group) -> bool:
        """Whether anything but these groups reads ``value``."""
        return not self.readers.of(value).issubset(groups)

    def kind_of(self, op: ir.Operation) -> Kind:
        """The part that an op of a group plays."""
        return self._kinds[op]


def _read_instead(op: ir.Operation, same: dict[ir.Value, ir.Value]) -> None:
    """Let ``op`` read other values that are the same."""
    for owner, number, value in list(operands_of(op)):
        if value in same:
            owner.operands[number] = same[value]
