"""What passes rewrite before there are kernels, or leave as it is: each a decision with its numbers.

They are in ``mlopt.rewrites`` of the module, by the pass, for `mlopt explain`; mlopt-outline takes them off.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from ..dialects.attributes import REWRITES
from ..dialects.decisions import NO_GROUP, Decision
from .costs.cost import Cost
from .costs.machine import Machine
from .costs.roofline import predict
from .locations import place_of
from .structured import word_for


def rewrite_of(
    op: ir.Operation, reason: str, size: int, seconds: float, *, kept: int = 0, word: str = ""
) -> Decision:
    """What became of ``op`` (in a ``word``): rewritten, or left as it is for a ``reason``.

    ``size`` bytes and ``seconds`` are what a call saves by it, ``kept`` bytes what @prepare makes for it.
    """
    place = place_of(op.location)
    places = (place,) if place else ()
    return Decision(NO_GROUP, NO_GROUP, word or word_for(op), reason, size, seconds, places, kept)


def seconds_of(cost: Cost, machine: Machine) -> float:
    """The time of a kernel with tasks enough, as mlopt-fuse prices it."""
    return predict(cost, machine, machine.tasks).seconds


def note_rewrites(module: ir.Operation, name: str, decisions: Iterable[Decision]) -> None:
    """Add what the pass ``name`` decided about a module, if it decided anything."""
    found = tuple(decisions)
    if found:
        before = REWRITES.get(module) or {}
        with module.location:
            REWRITES.set(module, {**before, name: (*before.get(name, ()), *found)})
