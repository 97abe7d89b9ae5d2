"""Sums of products over a window, one factor of which is read through padding with zeros."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mlir import ir

from ...constants import is_zero, scalar_constant
from ...operations import ops_named
from .emitter import Emitter
from .factors import loops_of, read_of
from .fragment import UNIT, Axis, Key, Strip
from .memory import memory_dims


class Window(NamedTuple):
    """The loops, from the outermost, around the contraction of ``read`` and another factor.

    ``shared``: the dims of the sum that the other factor has. Along the others all of what comes of padding
    is the same.
    """

    loops: tuple[ir.OpView, ...]
    read: ir.OpView
    shared: frozenset[int]

    def axes(self, em: Emitter, strip: Strip) -> Iterator[tuple[int, int, Axis, int | None]]:
        """For each dim of the read's tile that may lie in the padding: it, memory's, its axis, the sum's."""
        known = em.layout.classes.all_of(self.loops[0].results[0])
        for dim, (place, mine) in enumerate(
            zip(memory_dims(self.read), em.layout.classes.all_of(self.read.results[0]), strict=True)
        ):
            if place is None or self.read.in_bounds[dim].value:
                continue
            if mine is None:
                yield dim, place, UNIT, None
            elif mine in known:
                yield dim, place, strip[known.index(mine)], known.index(mine)

    def point(self, strip: Strip) -> Strip:
        """One position for all those of a strip that padding is the same for."""
        return tuple(axis if dim in self.shared else UNIT for dim, axis in enumerate(strip))

    def at_point(self, key: Key) -> Key:
        """Where in the fragment of a `point` the padding for ``key`` is."""
        return tuple(place if dim in self.shared else 0 for dim, place in enumerate(key))


def find_windows(em: Emitter, loop: ir.OpView) -> Iterator[Window]:
    """The reads through padding in a loop that adds the products of one contraction and does no more."""
    contracts = ops_named(loop, "vector.contract")
    if len(contracts) != 1 or "add" not in str(contracts[0].attributes["kind"]):
        return
    contract = contracts[0].opview
    loops = _around(contract, loop)
    places = loops_of(contract)
    for factor in (0, 1) if loops else ():
        read = read_of(contract.operands[factor])
        if read is None or read.operation in em.border.outside or not is_zero(scalar_constant(read.padding)):
            continue
        other = places[1 - factor]
        yield Window(loops, read, frozenset(dim for dim, each in enumerate(places[2]) if each in other))


def _around(contract: ir.OpView, loop: ir.OpView) -> tuple[ir.OpView, ...]:
    """The loops from ``loop`` on around a contraction, if each hands on its sums; else none."""
    found: list[ir.OpView] = []
    inner, total = contract.operation, contract.acc
    while inner != loop.operation:
        outer = inner.parent.operation
        if outer.name != "scf.for" or len(outer.results) != 1:
            return ()
        body = outer.regions[0].blocks[0]
        yielded = body.operations[len(body.operations) - 1].operands[0]
        if yielded != inner.results[0] or total != body.arguments[1]:
            return ()
        found.append(outer.opview)
        inner, total = outer, outer.operands[3]
    return tuple(reversed(found))
