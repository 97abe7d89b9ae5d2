"""Who reads each value: groups, and None for the end of the function."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping

from mlir import ir

from ..operations import defining_op
from .group import Group

_NOBODY: frozenset[Group | None] = frozenset()


class Readers:
    """The groups that read each value, and what the function returns.

    ``position``: where in the block a group ends.
    """

    def __init__(self, returned: Iterable[ir.Value], position: Callable[[Group], int]) -> None:
        self._position = position
        self._readers: dict[ir.Value, set[Group | None]] = {value: {None} for value in returned}
        self._in_order: dict[ir.Value, list[Group]] = {}  # those, for some values

    def of(self, value: ir.Value) -> set[Group | None] | frozenset[Group | None]:
        """Who reads ``value``."""
        return self._readers.get(value, _NOBODY)

    def add(self, group: Group) -> None:
        """``group`` reads its sources."""
        for value in group.sources:
            self._add(value, group)

    def remove(self, group: Group) -> None:
        """``group`` is gone."""
        for value in group.sources:
            self._remove(value, group)

    def move(self, group: Group, same: Mapping[ir.Value, ir.Value]) -> None:
        """``group`` reads other values that are the same."""
        for old, new in same.items():
            if group in self.of(old):
                self._remove(old, group)
                self._add(new, group)

    def beside(self, group: Group, from_empties: bool = True) -> list[Group]:
        """For each tensor that ``group`` reads, who reads it next before and after, in the block's order.

        ``from_empties``: or starts from it, as from an empty one.
        """
        found: dict[Group, None] = {}
        here = self._position(group)
        for value in group.sources:
            if not isinstance(value.type, ir.RankedTensorType):
                continue
            if not from_empties and defining_op(value, "tensor.empty") is not None:
                continue
            readers = self._sorted(value)
            before = bisect_left(readers, here, key=self._position)
            after = bisect_right(readers, here, key=self._position)
            found.update(dict.fromkeys((*readers[max(before - 1, 0) : before], *readers[after : after + 1])))
        return list(found)

    def _add(self, value: ir.Value, group: Group) -> None:
        self._readers.setdefault(value, set()).add(group)
        if value in self._in_order:
            insort(self._in_order[value], group, key=self._position)

    def _remove(self, value: ir.Value, group: Group) -> None:
        self._readers[value].discard(group)
        if value in self._in_order:
            self._in_order[value].remove(group)

    def _sorted(self, value: ir.Value) -> list[Group]:
        """The groups that read ``value``: sorted once, as a value may be read in every layer."""
        readers = self._in_order.get(value)
        if readers is None:
            groups = (each for each in self._readers[value] if each is not None)
            readers = self._in_order[value] = sorted(groups, key=self._position)
        return readers
