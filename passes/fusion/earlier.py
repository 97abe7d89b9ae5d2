"""What passes before mlopt-fuse decided, as it stands once there are groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mlir import ir

from ...dialects.attributes import GROUP
from ...dialects.decisions import Decision
from ..groups import entry_ops
from ..locations import place_of
from ..moving.reads import is_move
from ..raising.bodies import is_contraction
from ..structured import word_for

_FUSED = "; it is fused with others"


def without_fused_products(products: Iterable[Decision], functions: Iterable[ir.Operation]) -> list[Decision]:
    """The decisions about ``products`` of one tensor, but for those refused that are in one kernel now.

    Passes between have made others of the products: what they read, and their source lines, say which they
    are. Where a line has products in one kernel and products in several, all decisions stay.
    """
    known = list(products)
    if not any(each.reason for each in known):
        return known
    reading: dict[ir.Value, dict[int | None, Counter[str]]] = {}
    for op in (op for function in functions for op in entry_ops(function)):
        if is_contraction(op):
            groups = reading.setdefault(op.operands[0], {})
            groups.setdefault(GROUP.get(op), Counter())[place_of(op.location)] += 1
    return [each for each in known if not each.reason or not _are_fused(each, reading.values())]


def _are_fused(products: Decision, reading: Iterable[Mapping[int | None, Counter[str]]]) -> bool:
    """Whether one group has all of them, wherever they are; ``reading``: of each tensor, lines by groups."""
    lines = Counter(products.places)
    together = [
        any(lines <= inside for inside in groups.values())
        for groups in reading
        if lines <= sum(groups.values(), Counter[str]())
    ]
    return "" not in lines and any(together) and all(together)


def with_fused_moves(
    rewrites: Mapping[str, Sequence[Decision]], functions: Iterable[ir.Operation]
) -> dict[str, tuple[Decision, ...]]:
    """The ``rewrites`` by the passes that made them; a copy that was left, but is fused now, costs nothing.

    A copy is known by its word and its source line: where some of them are kernels of their own, all of them
    keep their numbers.
    """
    fused: dict[tuple[str, tuple[str, ...]], bool] = {}
    for function in functions:
        groups = [(op, GROUP.get(op)) for op in entry_ops(function)]
        sizes = Counter(group for op, group in groups if op.name != "linalg.fill")
        for op, group in groups:
            if op.name == "linalg.generic" and is_move(op):
                place = place_of(op.location)
                key = word_for(op), (place,) if place else ()
                fused[key] = fused.get(key, True) and group is not None and sizes[group] > 1
    return {
        name: tuple(
            replace(each, reason=each.reason + _FUSED, bytes=0, seconds=0.0)
            if each.reason and fused.get((each.ops, each.places))
            else each
            for each in decisions
        )
        for name, decisions in rewrites.items()
    }
