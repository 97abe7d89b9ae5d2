"""What is padded, or written over in part, as one generic that computes each element where it is read.

::

    %p = insert_slice %e into (fill %c)[0, 1] [4, 5]              %e = generic {exp} ins(%x), %x : 4x5
  ->
    %q = insert_slice %x into (fill 0.0)[0, 1] [4, 5]             4x8, read through (tiling/pads.py)
    %f = generic {exp} (i, j) ins(%q)
    %w = generic {pad} (i, j) ins(%f) { select (1 <= j < 6), %f, %c }
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import constant, index_constant
from ..moving.gathered import clone
from ..operations import defining_op
from ..raising.slices import insert
from ..structured import (
    DYNAMIC,
    body_of,
    element_type,
    inputs_of,
    kinds_of,
    label_of,
    make_copy,
    make_empty,
    make_generic,
    maps_of,
    sizes_of,
)
from ..subsets import Size
from ..tiling.pads import fill_of_pad
from .sinking import can_sink

Bounds: TypeAlias = Mapping[int, tuple[int, int]]  # of each dim the first place, and that behind the last


@dataclass(frozen=True)
class Parts:
    """The insert_slices that make a tensor, the last first; ``base`` is the number or tensor beside them."""

    inserts: tuple[ir.Operation, ...]
    base: ir.Value

    @property
    def whole(self) -> ir.Value:
        """The tensor."""
        return self.inserts[0].results[0]

    @property
    def values(self) -> list[ir.Value]:
        """What is put in."""
        return [op.operands[0] for op in self.inserts]


def computed(parts: Parts, sunk: Collection[ir.Value]) -> ir.Value:
    """The generic that stands for the tensor; what makes those values that are ``sunk`` goes with it."""
    whole = parts.whole
    at = ir.InsertionPoint.after(whole.owner)
    label = label_of(whole.owner) or "insert"
    with whole.owner.location, at:
        if fill_of_pad(whole.owner) is not None and parts.values[0] not in sunk:
            # What is read through has its padding.
            init = make_empty(whole, location=whole.owner.location, at=at)
            read = ir.AffineMap.get_identity(whole.type.rank)
            return make_copy(whole, init, read, label, location=whole.owner.location, at=at).results[0]
        sizes = sizes_of(whole)
        values: list[ir.Value] = []
        bounds: list[Bounds] = []
        for op in parts.inserts:
            starts, shape = list(op.opview.static_offsets), op.operands[0].type.shape
            placed, value = Placed(starts, sizes), op.operands[0]
            values.append(placed.place(value) if value in sunk else placed.padded(value))
            bounds.append(
                {
                    dim: (start, start + size)
                    for dim, (start, size) in enumerate(zip(starts, shape, strict=True))
                    if not _is_equal(size, sizes[dim])
                }
            )
        return _choice(whole, [*values, parts.base], bounds, label)


class Placed:
    """Makes tensors of ``sizes`` in which others begin at ``starts``, with anything beside them."""

    def __init__(self, starts: Sequence[int], sizes: Sequence[Size]) -> None:
        self.starts, self.sizes = starts, sizes

    def place(self, value: ir.Value) -> ir.Value:
        """``value`` there: computed if that is possible, else as a pad of it, which is read through."""
        if not any(self.starts) and all(map(_is_equal, value.type.shape, self.sizes)):
            return value
        maker = defining_op(value, "linalg.generic")
        return self._computed(maker) if maker is not None and can_sink(value) else self.padded(value)

    def padded(self, value: ir.Value) -> ir.Value:
        """``value`` there, from memory."""
        kind = value.type.element_type
        zero = ir.FloatAttr.get(kind, 0.0) if isinstance(kind, ir.FloatType) else ir.IntegerAttr.get(kind, 0)
        filled = linalg.fill(constant(zero), outs=[tensor.EmptyOp(list(self.sizes), kind).result])
        return insert(value, filled, self.starts, sizes_of(value), "pad")

    def _computed(self, maker: ir.Operation) -> ir.Value:
        operands = [
            self._along(where, value).place(value) if where.results else value
            for value, where in zip(inputs_of(maker), maps_of(maker), strict=False)
        ]
        init = tensor.EmptyOp(list(self.sizes), element_type(maker.results[0])).result
        at = ir.InsertionPoint.current
        new = make_generic(
            operands,
            [init],
            maps_of(maker),
            kinds_of(maker),
            label_of(maker),
            location=maker.location,
            at=at,
        )
        known: dict[ir.Value, ir.Value] = dict(
            zip(body_of(maker).arguments, body_of(new).arguments, strict=True)
        )
        with ir.InsertionPoint(body_of(new)), maker.location:
            for inner in [each.operation for each in body_of(maker).operations]:
                clone(inner, known)
                if inner.name == "linalg.index":
                    start = self.starts[inner.attributes["dim"].value]
                    place = known[inner.results[0]]
                    known[inner.results[0]] = arith.subi(place, index_constant(start)) if start else place
        return new.results[0]

    def _along(self, where: ir.AffineMap, value: ir.Value) -> Placed:
        """The same for ``value``, which is read at ``where``."""
        loops = [expr.position if isinstance(expr, ir.AffineDimExpr) else None for expr in where.results]
        own = sizes_of(value)
        return Placed(
            [0 if loop is None else self.starts[loop] for loop in loops],
            [own[dim] if loop is None else self.sizes[loop] for dim, loop in enumerate(loops)],
        )


def _is_equal(size: int, other: Size) -> bool:
    """Whether two sizes are the same; what is not known is not padded here."""
    return size in (DYNAMIC, other)


def _choice(like: ir.Value, values: Sequence[ir.Value], bounds: Sequence[Bounds], label: str) -> ir.Value:
    """The first of ``values`` within whose ``bounds`` an element is, else the last one."""
    rank, at = like.type.rank, ir.InsertionPoint.current
    every, none = ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, [])
    maps = [every if isinstance(value.type, ir.ShapedType) else none for value in values]
    location = ir.Location.current
    init = make_empty(like, location=location, at=at)
    kinds = ["parallel"] * rank
    made = make_generic(values, [init], [*maps, every], kinds, label, location=location, at=at)
    *given, result = list(body_of(made).arguments)[:-1]
    with ir.InsertionPoint(body_of(made)):
        for value, where in reversed(list(zip(given, bounds, strict=True))):
            # A part without bounds is all there is.
            result = arith.select(_inside(like, where), value, result) if where else value
        linalg.YieldOp([result])
    return made.results[0]


def _inside(whole: ir.Value, bounds: Bounds) -> ir.Value:
    """Whether the loops of a body are within the bounds."""
    tests = []
    for dim, (start, end) in bounds.items():
        place = linalg.IndexOp(dim).result
        if start > 0:
            tests.append(arith.cmpi(arith.CmpIPredicate.sge, place, index_constant(start)))
        if end < whole.type.shape[dim]:
            tests.append(arith.cmpi(arith.CmpIPredicate.slt, place, index_constant(end)))
    return reduce(arith.andi, tests)
