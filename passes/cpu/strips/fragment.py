"""What a strip of a tile is, and what it looks like once emitted.

A tile is an n-D ``vector`` value. A `Strip` names some of its positions: one `Axis` a dim,
at most one of them the *lane* axis. Emitting a tile at a strip gives a `Fragment`: for each
unrolled position one 1-D vector along the lane axis, or a scalar where the value is the same
for all lanes (or the strip has no lane axis).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from mlir import ir

Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """The positions of one dim: ``base + offset`` on, ``count`` of them.

    With ``lanes`` > 0 this is the lane axis: ``count`` vectors of ``lanes`` positions each.
    ``limit`` (an index, counted from ``base + offset``) is where valid lanes end; None: all are.
    ``bound`` = (index, size) says that ``index + position < size`` is known for valid positions.
    """

    base: ir.Value | None = None
    offset: int = 0
    count: int = 1
    lanes: int = 0
    limit: ir.Value | int | None = None
    bound: tuple[ir.Value, int] | None = None

    def _identity(self) -> tuple[object, ...]:
        # An ir.Value compared to anything but a value raises; its hash is its address.
        limit = hash(self.limit) if isinstance(self.limit, ir.Value) else self.limit
        bound = None if self.bound is None else (hash(self.bound[0]), self.bound[1])
        base = None if self.base is None else hash(self.base)
        return (base, self.offset, self.count, self.lanes, isinstance(self.limit, int), limit, bound)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def point(self, step: int) -> Axis:
        """The ``step``-th unrolled position (or lane vector) alone."""
        width = max(self.lanes, 1)
        return replace(self, offset=self.offset + step * width, count=1)


UNIT = Axis()
Strip = tuple[Axis, ...]


@dataclass(frozen=True)
class Fragment:
    """The SSA values of a strip, one for each combination of unrolled positions."""

    values: dict[Key, ir.Value]

    def __getitem__(self, key: Key) -> ir.Value:
        return self.values[key]


def keys_of(strip: Strip) -> Iterator[Key]:
    """All combinations of unrolled positions of a strip, the last axis fastest."""
    return product(*(range(axis.count) for axis in strip))


def lane_of(strip: Strip) -> int | None:
    """Which dim of the strip is the lane axis."""
    return next((dim for dim, axis in enumerate(strip) if axis.lanes), None)


def sizes_of(value: ir.Value) -> list[int]:
    """The shape of a tile; empty for a scalar."""
    kind = value.type
    return list(kind.shape) if isinstance(kind, ir.VectorType) else []


def element_of(value: ir.Value) -> ir.Type:
    """The element type of a tile or a lane vector; a scalar's own type."""
    kind = value.type
    return kind.element_type if isinstance(kind, ir.VectorType) else kind


def is_vector(value: ir.Value) -> bool:
    """Whether a value is a vector of any rank."""
    return isinstance(value.type, ir.VectorType)
