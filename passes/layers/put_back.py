"""The layers that `leave_out` has left out come back: as calls of the kernels of one that has stayed.

::

    %5 = call @kernel_1(%4, %w2)        layer 2                       %5 = call @kernel_1(%4, %w2)
    %6 = call @kernel_1(%5, %w9)        the last one              ->  %6 = call @kernel_1(%5, %w3) …

What passes have made of a layer are ops in a row that depend on its arguments: in @main, and where @prepare
makes its weights or writes them. Legal if what has become of layers 1 and 2 is the same, and reads each
other alike, and if one layer more would change nothing else, which `once` asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from mlir import ir

from ...dialects.attributes import LAYER, RESULT, argument_attributes
from ..groups import entry_ops, operands_of
from .members import FIRST, Members, host_functions, layer_of, members_of

_Places = dict[ir.Attribute, ir.Location]
_Same = dict[ir.Value, ir.Value]  # what a value of a layer is in another one


def put_back(module: ir.Operation, count: int, more: int) -> bool:
    """Put the next ``more`` of ``count`` layers back into ``module``; whether that was possible."""
    found = host_functions(module)
    functions = [found[name] for name in ("prepare", "main") if name in found]
    members = members_of(module)
    if any(_Host(each, members, count, more).matched() is None for each in functions):
        return False
    for function in functions:
        _add_arguments(_Host(function, members, count, more))
    members = members_of(module)
    for function in functions:
        _Host(function, members, count, more).repeat()
    unmark(module)
    return True


def unmark(module: ir.Operation) -> None:
    """Forget which arguments are which layer's."""
    for name, function in host_functions(module).items():
        if name not in ("prepare", "main"):
            continue
        with function.location:
            unmarked = [LAYER.dropped(each) for each in argument_attributes(function)]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(unmarked)


def restore(module: ir.Operation, whole: ir.Operation) -> None:
    """Let ``module`` be what it was when ``whole`` was cloned from it."""
    body = module.regions[0].blocks[0]
    for op in reversed(list(body.operations)):
        op.operation.erase()
    for op in list(whole.regions[0].blocks[0].operations):
        body.append(op.operation)
    for name in list(module.attributes):
        del module.attributes[name]
    for name in whole.attributes:
        module.attributes[name] = whole.attributes[name]


@dataclass
class _Host:
    """A function, of which only the first layers and the last one are there."""

    function: ir.Operation
    members: Members
    count: int
    more: int  # layers that come back

    @property
    def back(self) -> range:
        """The numbers of the layers that come back."""
        return range(FIRST, FIRST + self.more)

    @property
    def kept(self) -> list[int]:
        """The numbers of the layers that are there."""
        return [*range(FIRST), self.count - 1]

    def rows(self) -> list[list[list[ir.Operation]]] | None:
        """The ops of each layer that is there, each time that layers follow each other."""
        ops = entry_ops(self.function)
        found = [layer_of(op, self.members) for op in ops]
        if all(number is None for number in found):
            return []
        numbers = _in_rows(found, self.count - 1)
        placed = zip(numbers, ops, strict=True)
        rows = [(number, [op for _, op in row]) for number, row in groupby(placed, key=itemgetter(0))]
        if len(rows) % len(self.kept) or any(
            number != self.kept[place % len(self.kept)] for place, (number, _) in enumerate(rows)
        ):
            return None
        times = range(0, len(rows), len(self.kept))
        return [[row for _, row in rows[first : first + len(self.kept)]] for first in times]

    def matched(self) -> tuple[list[list[list[ir.Operation]]], _Same] | None:
        """The rows, and what values before the last of the first layers are in it; None if they differ."""
        rows = self.rows()
        if rows is None:
            return None
        placed = self._placed(rows)
        same: _Same | None = None
        for one in range(1, FIRST - 1):
            pairs = [(row[one], row[one + 1]) for row in rows]
            given = self._given(one, one + 1)
            same = (
                None if given is None else _match(pairs, one, placed, given, self.named(one, one + 1), same)
            )
            if same is None:
                return None
        near = (None, 0, FIRST - 1, self.count - 1)
        for row in rows:
            for op in row[-1]:
                if any(placed.get(value) not in near for _, _, value in operands_of(op)):
                    return None
        return rows, same or {}

    def _placed(self, rows: list[list[list[ir.Operation]]]) -> Members:
        """In which layer's row a value is made, or whose argument it is."""
        found = {
            value: self.members[value]
            for value in self.function.regions[0].blocks[0].arguments
            if value in self.members
        }
        for row in rows:
            for layer, ops in zip(self.kept, row, strict=True):
                found.update((value, layer) for op in ops for value in op.results)
        return found

    def _given(self, one: int, other: int) -> _Same | None:
        """What the arguments of a layer are in another one."""
        mine, theirs = self._arguments.get(one, []), self._arguments.get(other, [])
        if [value.type for value in mine] != [value.type for value in theirs]:
            return None
        return dict(zip(mine, theirs, strict=True))

    def named(self, one: int, other: int) -> _Places:
        """What the places of a layer's arguments, which are their names, are for another layer."""
        pairs = zip(self._places.get(one, ()), self._places.get(other, ()), strict=False)
        return {mine.attr: theirs for mine, theirs in pairs}

    @cached_property
    def _places(self) -> dict[int | None, list[ir.Location]]:
        """The places of the arguments that each layer had before the passes."""
        entry = self.function.regions[0].blocks[0]
        places: dict[int | None, list[ir.Location]] = {}
        for value, marks in zip(entry.arguments, argument_attributes(self.function), strict=True):
            places.setdefault(LAYER.get(marks), []).append(value.location)
        return places

    @cached_property
    def _arguments(self) -> dict[int | None, list[ir.Value]]:
        """The arguments of each layer."""
        arguments: dict[int | None, list[ir.Value]] = {}
        for value in self.function.regions[0].blocks[0].arguments:
            arguments.setdefault(self.members.get(value), []).append(value)
        return arguments

    def repeat(self) -> None:
        """Put the layers between the last one and those before it."""
        matched = self.matched()
        assert matched is not None, "it was before there were more arguments"
        rows, same = matched
        placed, template = self._placed(rows), FIRST - 1
        made: dict[int, _Same] = {template: {value: value for value in same.values()}}
        named: dict[int, _Places] = {layer: self.named(template, layer) for layer in self.back}
        own = self._arguments
        for layer in self.back:
            made[layer] = dict(zip(own.get(template, ()), own.get(layer, ()), strict=True))
        for row in rows:
            at = ir.InsertionPoint(row[-1][0])
            for layer in self.back:
                known, before = made[layer], made[layer - 1]
                for op in row[template]:
                    copy = op.clone(at).operation
                    copy.location = named[layer].get(op.location.attr, op.location)
                    for number, value in enumerate(op.operands):
                        if value in known:
                            copy.operands[number] = known[value]
                        elif placed.get(value) == template - 1:
                            copy.operands[number] = before[same[value]]
                    known.update(zip(op.results, copy.results, strict=True))
        for row in rows:
            for op in row[-1]:
                for number, value in enumerate(op.operands):
                    if value in made[self.back[-1]]:
                        op.operands[number] = made[self.back[-1]][value]


def _in_rows(found: list[int | None], last: int) -> list[int]:
    """The layers that ops go with, one after the other, from those that they depend on."""
    numbers: list[int] = []
    following = last
    for number in reversed(found):  # what depends on no layer goes with what comes after it
        following = following if number is None else number
        numbers.append(following)
    numbers.reverse()
    for place in range(1, len(numbers)):
        before, number = numbers[place - 1], numbers[place]
        if number < before and (before, number) != (last, 0):  # of the layer before, but comes later
            numbers[place] = before
    return numbers


def _match(
    rows: list[tuple[list[ir.Operation], list[ir.Operation]]],
    layer: int,
    placed: Members,
    given: _Same,
    named: _Places,
    before: _Same | None,
) -> _Same | None:
    """What values of ``layer`` are in the next one, if both compute the same; None otherwise.

    ``before`` says so of the layer before: of that one both may read what is the same there.
    """
    same = dict(given)
    for one, other in rows:
        if len(one) != len(other):
            return None
        for op, twin in zip(one, other, strict=True):
            place = named.get(op.location.attr, op.location)
            if place != twin.location or not _is_one_op(op, twin):
                return None
            for value, read in zip(op.operands, twin.operands, strict=True):
                if value in same:
                    is_same = same[value] == read
                elif value == read:
                    is_same = placed.get(value, 0) == 0
                elif before is not None:
                    is_same = value in before and before[value] == read
                else:
                    is_same = (placed.get(value), placed.get(read)) == (layer - 1, layer)
                if not is_same:
                    return None
            same.update(zip(op.results, twin.results, strict=True))
    return same


def _is_one_op(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether two ops without regions are the same but for what they read."""
    if op.name != other.name or len(op.operands) != len(other.operands) or len(op.regions):
        return False
    if _attributes(op) != _attributes(other):
        return False
    return [value.type for value in op.results] == [value.type for value in other.results]


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    attributes = op.attributes
    return {name: attributes[name] for name in attributes}


def _add_arguments(host: _Host) -> None:
    """Give a function what layers that come back are given that none had before the passes."""
    function, members = host.function, host.members
    entry = function.regions[0].blocks[0]
    attributes = argument_attributes(function)
    arguments = list(entry.arguments)
    template = [
        number
        for number, value in enumerate(arguments)
        if members.get(value) == FIRST - 1 and LAYER.get(attributes[number]) is None
    ]
    if not template:
        return
    after = template[-1] + 1
    rest, marks = arguments[after:], attributes[after:]
    places = {layer: host.named(FIRST - 1, layer) for layer in host.back}
    with function.location:
        del attributes[after:]
        for layer, named in places.items():
            for number in template:
                where = arguments[number].location
                entry.add_argument(arguments[number].type, named.get(where.attr, where))
                attributes.append(LAYER.added(attributes[number], layer))
        for value in rest:
            value.replace_all_uses_with(entry.add_argument(value.type, value.location))
        for number in reversed(range(after, len(arguments))):
            entry.erase_argument(number)
        numbered, results = [], 0
        for each in [*attributes, *marks]:
            numbered.append(each if RESULT.get(each) is None else RESULT.added(each, results))
            results += RESULT.get(each) is not None
        inputs = [argument.type for argument in entry.arguments]
        returned = function.attributes["function_type"].value.results
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, returned))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(numbered)
