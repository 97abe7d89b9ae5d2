"""What groups cost on a machine, apart and as one kernel: the numbers that decide about fusion."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from ..costs.cost import Cost
from ..costs.count import Reads, bytes_of, reads_of, work_of
from ..costs.machine import Machine
from ..costs.roofline import arithmetic_of, busy_part, predict
from ..domain import Domain
from ..structured import ASSUMED
from ..tiling.access import Nest
from .behind import Behind
from .graph import Graph, Group
from .kinds import Kind
from .repeats import elements_of, remade, repeats, tasks_of, window_repeats

_NOTHING = Cost(0)
_NOT_READ = ("arith.constant", "tensor.empty")


@dataclass(frozen=True)
class Price:
    """A kernel: what it reads, writes and computes, what of that it computes again, how parallel it is."""

    reads: Reads
    writes: dict[ir.Value, int]
    work: Cost
    again: Cost
    tasks: int
    seconds: float

    @property
    def bytes(self) -> int:
        """What the kernel moves."""
        return self.reads.total() + sum(self.writes.values())


@dataclass(frozen=True)
class Saving:
    """What fewer kernels save; ``tasks`` are left, ``repeated`` says that work is done again."""

    bytes: int
    seconds: float
    tasks: int
    repeated: bool


def saved(before: Sequence[Price], after: Sequence[Price]) -> Saving:
    """What kernels save that take the place of others."""
    return Saving(
        sum(each.bytes for each in before) - sum(each.bytes for each in after),
        sum(each.seconds for each in before) - sum(each.seconds for each in after),
        min(each.tasks for each in after),
        sum(each.again.flops for each in after) > sum(each.again.flops for each in before),
    )


class Prices:
    """The prices of the groups of ``graph`` on ``machine``."""

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.graph = graph
        self.machine = machine
        self._known: dict[Group, Price] = {}
        self._work: dict[Nest, Cost] = {}

    def of(self, group: Group) -> Price:
        """The price of a group of the graph."""
        price = self._known.get(group)
        if price is None:
            price = self._known[group] = self._alone(group)
        return price

    def joined(self, groups: Collection[Group], domain: Domain | None = None) -> Price:
        """The price of groups as one kernel; without its ``domain`` as if nothing were repeated."""
        writes = {
            value: self._written(value, groups)
            for group in groups
            for value in self.of(group).writes
            if self.graph.is_read_outside(value, *groups)
        }
        return self._together(groups, writes, domain)

    def with_copy(self, producer: Group, consumer: Group, domain: Domain) -> Price:
        """The price of ``consumer`` if it computed itself what it reads of ``producer``."""
        return self._together((producer, consumer), self.of(consumer).writes, domain)

    def saving(self, groups: Collection[Group], domain: Domain | None = None) -> Saving:
        """What fusing them saves, less than nothing if it costs; ``domain`` as for `joined`."""
        return saved([self.of(group) for group in groups], [self.joined(groups, domain)])

    def refused(self, producer: Group, consumer: Group) -> Saving:
        """What fusing them would save if they could be fused; a window would compute what it reads again."""
        pair = (producer, consumer)
        if not consumer.has(Kind.ANCHOR) or any(kind is not Kind.POINTWISE for kind in producer.kinds):
            return self.saving(pair)
        domain = Domain.build(consumer.ops, self.graph.results(consumer.ops, consumer), self.graph.nest_of)
        times = 1
        if isinstance(domain, Domain):
            values = [value for op in producer.ops for value in op.results]
            times = window_repeats(domain, values, self.machine)
        alone = self.joined(pair)
        again = self.of(producer).work.repeated(times - 1)
        return saved(
            [self.of(group) for group in pair],
            [self._price(alone.reads, alone.writes, alone.work, again, alone.tasks)],
        )

    def refused_behind(self, producer: Group, consumer: Group, edge: Behind) -> Saving:
        """What fusing them would save if the host function had nothing between them."""
        pair = (producer, consumer)
        before = [self.of(group) for group in pair]
        one, other = before
        reads = one.reads.joined(
            other.reads, lambda value: value == edge.read or self.graph.group_of(value) in pair
        )
        writes = {
            value: size
            for price in before
            for value, size in price.writes.items()
            if not (edge.alone and value == edge.made)
        }
        tasks = max(one.tasks, other.tasks)
        return saved(before, [self._price(reads, writes, one.work + other.work, _NOTHING, tasks)])

    def replace(self, groups: Collection[Group], joined: Group) -> None:
        """Let ``joined``, with its domain, take the place of what it was made of."""
        price = self.joined(groups, joined.domain)
        for group in groups:
            self.forget(group)
        self._known[joined] = price

    def forget(self, group: Group) -> None:
        """The group is gone, or reads something else."""
        self._known.pop(group, None)

    def _together(
        self, groups: Collection[Group], writes: dict[ir.Value, int], domain: Domain | None
    ) -> Price:
        prices = [self.of(group) for group in groups]
        reads, work = Reads(ASSUMED), _NOTHING
        for price in prices:
            reads = reads.joined(price.reads, lambda value: self.graph.group_of(value) in groups)
            work += price.work
        if domain is None:
            return self._price(reads, writes, work, _NOTHING, max(price.tasks for price in prices))
        again, remade = self._again(domain), self._remade(domain)
        if self.machine.chips:
            return self._price(reads, writes, work, again, tasks_of(domain), beside=remade)
        return self._price(reads, writes, work, again + remade, tasks_of(domain))

    def _alone(self, group: Group) -> Price:
        reads, work, tasks = Reads(ASSUMED), Cost(0), 1
        for op, kind in zip(group.ops, group.kinds, strict=True):
            if kind is Kind.HOST:
                continue
            nest = self.graph.nest_of(op)
            for value, part, amount in reads_of(nest, ASSUMED):
                if self.graph.group_of(value) is not group and not _is_made_anywhere(value):
                    reads.add(value, part, amount)
            work += self._work_of(nest)
            tasks = prod(
                ASSUMED * ASSUMED if (extent := nest.extents[loop]) is None else extent
                for loop in nest.parallels
            )
        writes = {
            value: self._written(value, (group,))
            for op in group.ops
            for value in op.results
            if self.graph.is_read_outside(value, group)
        }
        return self._price(reads, writes, work, _NOTHING, tasks)

    def _price(
        self,
        reads: Reads,
        writes: dict[ir.Value, int],
        work: Cost,
        again: Cost,
        tasks: int,
        beside: Cost = _NOTHING,
    ) -> Price:
        """What is computed again hides behind nothing: small tensors come from caches, not from memory.

        But for what is computed again ``beside`` the reads of a large tensor, while others are under way.
        """
        moved = Cost(reads.total() + sum(writes.values()))
        seconds = predict(moved + work + beside, self.machine, tasks).seconds
        seconds += sum(arithmetic_of(again, self.machine)) / busy_part(self.machine, tasks)
        return Price(reads, writes, work, again + beside, tasks, seconds)

    def _again(self, domain: Domain) -> Cost:
        total = _NOTHING
        for nest, times in repeats(domain, self.machine):
            if times > 1:
                total += self._work_of(nest).repeated(times - 1)
        return total

    def _remade(self, domain: Domain) -> Cost:
        """What windows have computed for them: again, and beside the work itself."""
        total = _NOTHING
        for each in remade(domain, self.machine):
            for nest in each.nests:
                total += self._work_of(nest).repeated(max(each.elements / elements_of(each.value) - 1, 0))
            total += Cost(0, elementwise={"f32": each.instructions * each.elements})
        return total

    def _work_of(self, nest: Nest) -> Cost:
        work = self._work.get(nest)
        if work is None:
            work = self._work[nest] = work_of(nest, ASSUMED)
        return work

    def _written(self, value: ir.Value, inside: Collection[Group]) -> int:
        """What is stored of ``value``: the parts put in here of a buffer that other kernels write, too."""
        parts, base = 0, value
        while self.graph.group_of(base) in inside and base.owner.name == "tensor.insert_slice":
            part, base = base.owner.operands[0], base.owner.operands[1]
            parts += bytes_of(part, ASSUMED)
        if parts and self.graph.group_of(base) not in inside:
            return parts
        return bytes_of(value, ASSUMED)


def _is_made_anywhere(value: ir.Value) -> bool:
    """Whether a kernel makes what it reads itself: a number, or a tensor without content."""
    if isinstance(value, ir.BlockArgument) or value.owner.name not in _NOT_READ:
        return False
    return value.owner.name == "tensor.empty" or not isinstance(value.type, ir.RankedTensorType)
