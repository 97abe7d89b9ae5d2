"""What one thread holds of a tile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import le

from mlir import ir

from ....dialects.layouts import Layout, Position


class Words(ABC):
    """Values of which some lie together in registers of 32 bits."""

    @abstractmethod
    def word(self, positions: Sequence[Position]) -> ir.Value | None:
        """The register that has the elements at ``positions``, in that order, if there is one."""


@dataclass(frozen=True)
class Fragment:
    """A scalar for each register, by what the register adds to the position.

    Without a layout all positions have the one value, in every thread.
    """

    layout: Layout | None
    values: Mapping[Position, ir.Value]

    def __getitem__(self, position: Position) -> ir.Value:
        return self.values[() if self.layout is None else position]

    def word(self, positions: Sequence[Position]) -> ir.Value | None:
        """The register of 32 bits that has the elements at ``positions``, if they were loaded so."""
        return self.values.word(positions) if isinstance(self.values, Words) else None

    @property
    def uniform(self) -> bool:
        """Whether it is one scalar for all positions."""
        return self.layout is None


def uniform(value: ir.Value) -> Fragment:
    """The fragment of a tile that is one scalar."""
    return Fragment(None, {(): value})


def positions_of(layout: Layout, tile: ir.Value) -> list[Position]:
    """The registers' positions that are inside of the tile for some thread."""
    sizes = list(ir.VectorType(tile.type).shape)
    if all(map(le, layout.covered, sizes)):
        return list(layout.register_positions)
    return [
        position
        for position in layout.register_positions
        if all(at < size for at, size in zip(position, sizes, strict=True))
    ]
