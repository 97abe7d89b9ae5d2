"""Where the ops of a function repeat: layer after layer the same ops, which read each other alike.

::

    %a1 = linalg.matmul ins(%x, %w1)       layer 0
    %x1 = linalg.generic {relu} ins(%a1)
    %a2 = linalg.matmul ins(%x1, %w2)      layer 1: the same ops, types, places in the source; %x1 is to it
    %x2 = linalg.generic {relu} ins(%a2)   what %x is to layer 0, and %w2 what %w1 is

An operand is the same in all layers, or made in the same layer, or in the one before it, or an argument
that one layer alone reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from mlir import ir

from ..groups import entry_ops, operands_of
from ..operations import nested_ops
from .members import host_functions

FEWEST = 11  # layers, below which all of them are compiled: nine are, once four and once five, and compared
_CANDIDATES = 16  # distances between equal ops, the most frequent first


@dataclass(frozen=True)
class Layers:
    """``count`` layers of ``period`` ops each, among ``ops``, the first from ``start`` on.

    ``arguments`` are the numbers of those that each layer reads alone, in one order for all layers.
    """

    ops: list[ir.Operation]
    start: int
    period: int
    count: int
    arguments: list[list[int]]

    def of(self, layer: int) -> list[ir.Operation]:
        """The ops of a layer."""
        first = self.start + layer * self.period
        return self.ops[first : first + self.period]


def find_layers(module: ir.Operation) -> Layers | None:
    """The layers of @main, if it has enough of them."""
    function = host_functions(module).get("main")
    if function is None or len(function.regions[0].blocks) != 1:
        return None
    ops = entry_ops(function)
    run = _longest_run(_forms(ops))
    return None if run is None else _Wiring(function, ops, *run).layers()


def _longest_run(forms: Sequence[int]) -> tuple[int, int, int] | None:
    """Where equal forms repeat longest: start, period, count."""
    last: dict[int, int] = {}
    gaps: Counter[int] = Counter()
    for place, form in enumerate(forms):
        if form in last:
            gaps[place - last[form]] += 1
        last[form] = place
    best: tuple[int, int, int] | None = None
    for gap, often in gaps.most_common(_CANDIDATES):
        if often < FEWEST - 1:
            break
        length = start = 0
        for place in range(gap, len(forms) + 1):
            if place < len(forms) and forms[place] == forms[place - gap]:
                length += 1
                continue
            count = length // gap + 1
            start = place - length - gap
            if count >= FEWEST and (best is None or count * gap > best[1] * best[2]):
                best = start, gap, count
            length = 0
    return best


def _forms(ops: Sequence[ir.Operation]) -> list[int]:
    """A number for each op, the same for all that are alike but for what they read."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(_form(op), len(numbers)) for op in ops]


def _form(op: ir.Operation) -> Hashable:
    where = op.location.attr
    if not len(op.regions):
        return where, _signature(op)
    local: dict[ir.Value, int] = {}
    parts = [where, _signature(op)]  # equal kernels are one whatever the places of what is inside
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                local[argument] = len(local)
            parts.append(tuple(argument.type for argument in block.arguments))
    for inner in nested_ops(op):
        if len(inner.regions):
            return op  # like no other one
        parts.append((_signature(inner), tuple(local.get(value, -1) for value in inner.operands)))
        for value in inner.results:
            local[value] = len(local)
    return tuple(parts)


def _signature(op: ir.Operation) -> tuple[Hashable, ...]:
    attributes = op.attributes
    return (
        op.name,
        tuple(value.type for value in op.results),
        *((name, attributes[name]) for name in attributes),
    )


class _Wiring:
    """Whether ops that repeat read each other alike, too."""

    def __init__(
        self, function: ir.Operation, ops: list[ir.Operation], start: int, period: int, count: int
    ) -> None:
        self.ops, self.start, self.period, self.count = ops, start, period, count
        self.arguments = function.regions[0].blocks[0].arguments
        self.end = function.regions[0].blocks[0].operations[-1].operation
        self.made = {
            value: (place, value.result_number) for place, op in enumerate(ops) for value in op.results
        }
        self.read_in: dict[int, set[int]] = {}  # by the number of an argument: layers, -1 for none
        self.next: dict[int, int] = {}  # the argument of the next layer

    def layers(self) -> Layers | None:
        reads = [self._reads(op) for op in (*self.ops, self.end)]
        first, after = self.start, self.start + self.count * self.period
        if not all(self._is_outside(read) for read in (*reads[:first], *reads[after:])):
            return None
        if not all(
            self._are_alike(place, one, other)
            for place, (one, other) in enumerate(
                zip(reads[first : after - self.period], reads[first + self.period : after], strict=True),
                first,
            )
        ):
            return None
        arguments = self._arguments()
        return None if arguments is None else Layers(self.ops, first, self.period, self.count, arguments)

    def _reads(self, op: ir.Operation) -> list[tuple[int, int]]:
        """What ``op`` reads: an op's place and the number of its result, or -1 and an argument's."""
        found = []
        for owner, _, value in operands_of(op):
            if value in self.made:
                found.append(self.made[value])
            elif (
                isinstance(value, ir.BlockArgument)
                and value.owner.owner.operation == self.end.parent.operation
            ):
                found.append((-1, value.arg_number))
            elif owner == op:
                found.append((-2, 0))  # from nowhere that is known
        return found

    def _layer(self, place: int) -> int:
        return (place - self.start) // self.period if place >= self.start else -1

    def _is_outside(self, reads: list[tuple[int, int]]) -> bool:
        """Whether something outside of the layers reads nothing of them but the last one's results."""
        for place, number in reads:
            if place == -1:
                self.read_in.setdefault(number, set()).add(-1)
            if place == -2 or 0 <= self._layer(place) < self.count - 1:
                return False
        return True

    def _are_alike(self, place: int, one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
        """Whether an op at ``place`` reads ``one`` as its counterpart in the next layer reads ``other``."""
        layer = self._layer(place)
        return len(one) == len(other) and all(
            self._is_alike(layer, *pair) for pair in zip(one, other, strict=True)
        )

    def _is_alike(self, layer: int, one: tuple[int, int], other: tuple[int, int]) -> bool:
        if one[0] == -1 and other[0] == -1 and one != other:
            self.read_in.setdefault(one[1], set()).add(layer)
            self.read_in.setdefault(other[1], set()).add(layer + 1)
            return self.next.setdefault(one[1], other[1]) == other[1]
        if one == other:
            if one[0] == -1:
                self.read_in.setdefault(one[1], set()).add(-1)
            return -1 <= one[0] < self.start
        if other[0] < self.start:
            return False
        if one[0] < self.start:  # what the first layer is given
            if one[0] == -1:
                self.read_in.setdefault(one[1], set()).add(-1)
            return layer == 0 and self._layer(other[0]) == 0
        return (
            one[1] == other[1] and other[0] - one[0] == self.period and layer - self._layer(one[0]) in (0, 1)
        )

    def _arguments(self) -> list[list[int]] | None:
        """Those of each layer."""
        own = [
            [number for number, read in self.read_in.items() if read == {layer}]
            for layer in range(self.count)
        ]
        if any(len(read) > 1 for read in self.read_in.values()):
            return None
        rows = [sorted(own[0])]
        if not rows[0]:
            return None  # nothing would tell what belongs to which layer
        for numbers in own[1:]:
            row = [self.next.get(number, -1) for number in rows[-1]]
            if row != sorted(numbers):
                return None
            rows.append(row)
        return rows
