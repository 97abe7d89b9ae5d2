"""What groups cost on a machine, apart and as one kernel: the numbers that decide about fusion."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import inf, prod
from typing import NamedTuple

from mlir import ir

from ..costs.cost import Cost
from ..costs.count import Part, Reads, bytes_of, reads_of, work_of
from ..costs.machine import Machine
from ..costs.roofline import arithmetic_of, busy_part, predict
from ..costs.rows import bytes_again
from ..domain import Domain
from ..operations import defining_op
from ..structured import ASSUMED, word_for
from ..tiling.access import Nest
from ..tiling.registry import can_tile
from .behind import VIEWS, Behind
from .graph import Graph
from .group import Group
from .kinds import Kind
from .repeats import blocks_left, elements_or_one, remade, repeats, window_repeats
from .saving import Price, Saving, saved
from .sums import Sums
from .turned import crowded_lines
from .waits import WAITS, waiting_seconds

_NOT_READ = ("arith.constant", "tensor.empty")


_NOTHING = Cost(0)


class _InTasks(NamedTuple):
    """How many tasks a kernel has, and what they do more than the work itself.

    What they compute ``again`` hides behind nothing: small tensors come from caches, not from memory. What is
    ``remade`` for windows is computed beside the reads of a large tensor, while others are under way.
    ``reread``: bytes that come from memory again, in passes after the first.
    """

    tasks: int
    reread: int = 0
    again: Cost = _NOTHING
    remade: Cost = _NOTHING


class Prices:
    """The prices of the groups of ``graph`` on ``machine``."""

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.graph = graph
        self.machine = machine
        self._known: dict[Group, Price] = {}
        self._work: dict[Nest, Cost] = {}
        self._sums = Sums()
        self._seconds: dict[tuple[int, int, int, int, int], tuple[float, float, float]] = {}
        self._repeated: dict[Domain, _InTasks] = {}

    def of(self, group: Group) -> Price:
        """The price of a group of the graph."""
        price = self._known.get(group)
        if price is None:
            price = self._known[group] = self._alone(group)
        return price

    def joined(self, groups: Collection[Group], domain: Domain | None = None) -> Price:
        """The price of groups as one kernel; without its ``domain`` as if nothing more were repeated."""
        in_parts = any(group.has(Kind.INSERT) for group in groups)
        writes = {
            value: self._written(value, groups) if in_parts else size
            for group in groups
            for value, size in self.of(group).writes.items()
            if self.graph.is_read_outside(value, *groups)
        }
        return self._together(groups, writes, domain)

    def with_copy(self, producer: Group, consumer: Group, domain: Domain) -> Price:
        """The price of ``consumer`` if it computed itself what it reads of ``producer``."""
        return self._together((producer, consumer), self.of(consumer).writes, domain)

    def saving(self, groups: Collection[Group], domain: Domain | None = None) -> Saving:
        """What fusing them saves, less than nothing if it costs; ``domain`` as for `joined`."""
        return self.saved([self.of(group) for group in groups], [self.joined(groups, domain)])

    def saved(self, before: Sequence[Price], after: Sequence[Price]) -> Saving:
        """What kernels save that take the place of others on this machine."""
        return saved(before, after, self.machine.small)

    def refused(self, producer: Group, consumer: Group) -> Saving:
        """What fusing them would save if they could be fused; a window would compute what it reads again."""
        pair = (producer, consumer)
        if not consumer.has(Kind.ANCHOR) or any(kind is not Kind.POINTWISE for kind in producer.kinds):
            return self.saving(pair)
        key = self.graph.key_of(pair)
        times = self.graph.alike.once("repeats", key, lambda: self._reads_again(producer, consumer))
        alone = self.joined(pair)
        again = self.of(producer).work.repeated(times - 1)
        return self.saved(
            [self.of(group) for group in pair],
            [self._price(alone.reads, alone.writes, alone.work, _InTasks(alone.tasks, alone.reread, again))],
        )

    def _reads_again(self, producer: Group, consumer: Group) -> int:
        """How often a window reads each element of what ``producer`` makes."""
        domain = Domain.build(consumer.ops, self.graph.results(consumer.ops, consumer), self.graph.nest_of)
        return window_repeats(domain, producer.made, self.machine) if isinstance(domain, Domain) else 1

    def refused_behind(self, producer: Group, consumer: Group, edge: Behind) -> Saving:
        """What fusing them would save if the host function had nothing between them."""
        pair = (producer, consumer)
        before = [self.of(group) for group in pair]
        one, other = before
        reads = one.reads.joined(other.reads, {edge.read, *producer.made, *consumer.made})
        writes = {
            value: size
            for price in before
            for value, size in price.writes.items()
            if not (edge.alone and value == edge.made)
        }
        tasks = _InTasks(max(one.tasks, other.tasks), one.reread + other.reread)
        work = self._sums.add(one.work, other.work)
        return self.saved(before, [self._price(reads, writes, work, tasks)])

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
        first, *others = (self.of(group) for group in groups)
        made = {value for group in groups for value in group.made}
        reads, work, tasks, reread, again = first.reads, first.work, first.tasks, first.reread, first.again
        for price in others:
            reads = reads.joined(price.reads, made)
            work = self._sums.add(work, price.work)
            tasks = max(tasks, price.tasks)
            reread += price.reread
            again = self._sums.add(again, price.again)
        if domain is None:
            return self._price(reads, writes, work, _InTasks(tasks, reread, again))
        repeating = self._in_tasks(domain)
        if self.machine.chips:
            price = self._price(reads, writes, work, repeating)
            waiting = self.machine.launch + waiting_seconds(domain, self.machine)
            if waiting <= price.seconds:
                return price
            return price._replace(seconds=waiting, slow_for=WAITS)
        lines, slow_for = crowded_lines(domain)
        again = self._sums.add(repeating.again, repeating.remade)
        price = self._price(reads, writes, work, repeating._replace(again=again, remade=_NOTHING), lines)
        is_known = all(dim.extent is not None for dim in domain.dims)
        serial = price.serial if is_known else inf
        return price._replace(serial=serial, alike=_reduces_alike(domain), slow_for=slow_for)

    def _alone(self, group: Group) -> Price:
        reads, work, tasks = Reads(ASSUMED), _NOTHING, 1
        for op, kind in zip(group.ops, group.kinds, strict=True):
            if kind is Kind.HOST:
                continue
            nest = self.graph.nest_of(op)
            for value, part, amount in self._reads_of(nest):
                if self.graph.group_of(value) is not group and not _is_made_anywhere(value):
                    reads.add(_memory_of(value), part, amount)
            work = self._sums.add(work, self._work_of(nest))
            tasks = prod(
                ASSUMED * ASSUMED if (extent := nest.extents[loop]) is None else extent
                for loop in nest.parallels
            )
        if group.has(Kind.ANCHOR) and self.machine.chips:
            key = self.graph.key_of((group,))
            tasks = min(tasks, self.graph.alike.once("blocks", key, lambda: self._blocks(group)) or tasks)
        writes = {
            value: self._written(value, (group,))
            for op in group.ops
            for value in op.results
            if self.graph.is_read_outside(value, group)
        }
        return self._price(reads, writes, work, _InTasks(tasks))

    def _blocks(self, group: Group) -> int:
        """As `blocks_left` of a group alone; 0 if no tile rule takes it."""
        domain = Domain.build(group.ops, self.graph.results(group.ops, group), self.graph.nest_of)
        if isinstance(domain, str) or can_tile(domain) is not None:
            return 0
        return blocks_left(domain, self.machine)

    def _price(
        self, reads: Reads, writes: dict[ir.Value, int], work: Cost, in_tasks: _InTasks, lines: int = 0
    ) -> Price:
        """The price of a kernel; ``lines``: bytes that stores move in a cache, beside what it moves."""
        tasks, reread, again, remade = in_tasks
        moved = reads.total() + sum(writes.values()) + reread
        work, again, remade = map(self._sums.known, (work, again, remade))
        key = moved + lines, id(work), id(again), id(remade), tasks
        seconds = self._seconds.get(key)
        if seconds is None:
            once, twice = Cost(moved + lines) + work + remade, sum(arithmetic_of(again, self.machine))
            repeated, serial = (twice / busy_part(self.machine, each) for each in (tasks, 1))
            shared, alone = (predict(once, self.machine, each).seconds for each in (tasks, 1))
            seconds = self._seconds[key] = shared + repeated, repeated, alone + serial
        return Price(reads, writes, moved, reread, work, self._sums.add(again, remade), tasks, *seconds)

    def _in_tasks(self, domain: Domain) -> _InTasks:
        found = self._repeated.get(domain)
        if found is None:
            found = self._repeated[domain] = _InTasks(
                blocks_left(domain, self.machine),
                bytes_again(domain, self.machine, ASSUMED),
                self._again(domain),
                self._remade(domain),
            )
        return found

    def _again(self, domain: Domain) -> Cost:
        total = _NOTHING
        for nest, times in repeats(domain, self.machine):
            if times > 1:
                total += self._work_of(nest).repeated(times - 1)
        return total

    def most_repeated(self, domain: Domain) -> str:
        """Which op's work is done again most in the tasks of a kernel, and how often in all."""
        times = [(nest, float(times)) for nest, times in repeats(domain, self.machine)]
        for each in remade(domain, self.machine):
            times += [(nest, each.elements / elements_or_one(each.value)) for nest in each.nests]
        nest, most = max(times, key=lambda pair: self._work_of(pair[0]).flops * (pair[1] - 1))
        return f"{word_for(nest.op)}, {most:{'.0f' if most >= 100 else '.3g'}} times"

    def _remade(self, domain: Domain) -> Cost:
        """What windows have computed for them: again, and beside the work itself."""
        total = _NOTHING
        for each in remade(domain, self.machine):
            for nest in each.nests:
                total += self._work_of(nest).repeated(max(each.elements / elements_or_one(each.value) - 1, 0))
            total += Cost(0, elementwise={"f32": each.instructions * each.elements})
        return total

    def _work_of(self, nest: Nest) -> Cost:
        work = self._work.get(nest)
        if work is None:
            work = self.graph.alike.once_for("work", nest.op, lambda: work_of(nest, ASSUMED))
            self._work[nest] = work
        return work

    def _reads_of(self, nest: Nest) -> Iterator[tuple[ir.Value, Part, int]]:
        """Each tensor or scalar that a nest reads, where the part that is read starts, and its bytes."""
        if self.graph.alike.form_of(nest.op) is None:
            yield from reads_of(nest, ASSUMED)
            return
        parts = self.graph.alike.once_for("reads", nest.op, lambda: list(reads_of(nest, ASSUMED)))
        values = (access.value for access in nest.reads if access is not None)
        yield from ((value, part, amount) for value, (_, part, amount) in zip(values, parts, strict=True))

    def _written(self, value: ir.Value, inside: Collection[Group]) -> int:
        """What is stored of ``value``: the parts put in here of a buffer that other kernels write, too."""
        parts, base = 0, value
        while self.graph.group_of(base) in inside and base.owner.name == "tensor.insert_slice":
            part, base = base.owner.operands[0], base.owner.operands[1]
            parts += bytes_of(part, ASSUMED)
        if parts and self.graph.group_of(base) not in inside:
            return parts
        return bytes_of(value, ASSUMED)


def _reduces_alike(domain: Domain) -> bool:
    """Whether all that is reduced are rows of one length, or columns.

    What is made along rows would be made again for each step along columns, or for longer rows.
    """
    reducing = (nest for nest in domain.nests if nest.reductions)
    return len({(_is_along_rows(nest), _reduced(nest)) for nest in reducing} - {(True, 1), (False, 1)}) <= 1


def _is_along_rows(nest: Nest) -> bool:
    """Whether something that ``nest`` reads is contiguous along a loop that it reduces."""
    last = (access.indices[-1].loops for access in nest.reads if access is not None and access.indices)
    return any(loop in nest.reductions for loops in last for loop in loops)


def _reduced(nest: Nest) -> int | None:
    """How many elements one result is made of; None if that is not known."""
    extents = [nest.extents[loop] for loop in nest.reductions]
    known = [extent for extent in extents if extent is not None]
    return prod(known) if len(known) == len(extents) else None


def _memory_of(value: ir.Value) -> ir.Value:
    """The tensor that ``value`` is a view of, which the host function makes."""
    while (view := defining_op(value, *VIEWS)) is not None:
        value = view.operands[0]
    return value


def _is_made_anywhere(value: ir.Value) -> bool:
    """Whether a kernel makes what it reads itself: a number, or a tensor without content."""
    if isinstance(value, ir.BlockArgument) or value.owner.name not in _NOT_READ:
        return False
    return value.owner.name == "tensor.empty" or not isinstance(value.type, ir.RankedTensorType)
