"""Sums of costs, each of which is made once: equal layers have equal costs, and costs are compared often."""

from __future__ import annotations

from ..costs.cost import Cost


class Sums:
    """One object for all costs that are equal, so that its identity stands for it."""

    def __init__(self) -> None:
        self._known: dict[object, Cost] = {}
        self._by_id: dict[int, Cost] = {}  # the same: while they are here nothing else has their ids
        self._sums: dict[tuple[int, int], Cost] = {}

    def known(self, cost: Cost) -> Cost:
        """The first cost equal to ``cost``."""
        if self._by_id.get(id(cost)) is cost:
            return cost
        # In the order of its parts, since rounding depends on it.
        parts = (tuple(part.items()) for part in (cost.contracted, cost.elementwise, cost.special))
        first = self._known.setdefault((cost.bytes, *parts), cost)
        self._by_id[id(first)] = first
        return first

    def add(self, one: Cost, other: Cost) -> Cost:
        """``one + other``."""
        one, other = self.known(one), self.known(other)
        key = id(one), id(other)
        total = self._sums.get(key)
        if total is None:
            total = self._sums[key] = self.known(one + other)
        return total
