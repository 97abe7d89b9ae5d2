"""The ops that want layouts of their own, and the registry that finds their rules.

A rule is an `Anchor` in a file of this package that `_ANCHORS` names, under the op's name. ``place`` puts the
classes of the op's result where the op wants them, before anything else is spread (`Spread.put`); a kernel's
other tiles follow. ``cuts`` says which operands, by their number, are laid out for themselves: they come to
the op through an mlopt.convert_layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol

from mlir import ir

from ....dialects.attributes import MMA
from ....dialects.layouts import Layout
from .dims import Dims
from .spread import Spread


class Anchor(Protocol):
    """The layouts that one kind of op wants."""

    def cuts(self, op: ir.Operation) -> Sequence[int]:
        """The operands that are laid out for themselves, and come to the op through a conversion."""

    def place(self, op: ir.Operation, dims: Dims, spread: Spread) -> None:
        """Place classes of the op's tiles in ``spread`` that have no place yet."""

    def wants(self, op: ir.Operation, layout: Layout) -> Mapping[int, Layout]:
        """The layouts that operands must have, by their number, if the result has ``layout``."""


# The op and the file with its rule.
_ANCHORS = {"vector.contract": "contract"}


@cache
def _rule(file: str) -> Anchor:
    return import_module(f".{file}", __package__).RULE


def anchor_of(op: ir.Operation) -> Anchor | None:
    """The rule of an op, if it has one."""
    if (instruction := MMA.get(op)) is not None:
        return _rule("mma" if instruction.startswith("m16") else "warpgroup")
    return _rule(_ANCHORS[op.name]) if op.name in _ANCHORS else None
