"""What is padded, or written over in part, is computed where it is read: no kernel writes a buffer in parts.

::

    %e = generic {exp} ins(%x)                                    %x : 4x5
    %p = insert_slice %e into (fill %c)[0, 1] [4, 5]              4x8
    %r = generic {sub} (i, j) ins(%p at (i, j), …)
  ->
    %q = insert_slice %x into (fill 0.0)[0, 1] [4, 5]             never made: read through (tiling/pads.py)
    %f = generic {exp} (i, j) ins(%q)
    %w = generic {pad} (i, j) ins(%f) { select (1 <= j < 6), %f, %c }
    %r = generic {sub} (i, j) ins(%w at (i, j), …)

All that is element by element is one kernel then, with the reductions that read it; a pad of the caller's is
one that no kernel fills before (64x60x60 floats in 0.45 of the time). Legal where places are known, and what
stands beside the elements that are put in may be computed and dropped: nothing divides integers or asserts.
What another kernel can write to its place in a buffer as it makes it stays so, and special functions where
the padding would have them computed for many more elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ...dialects.attributes import WHOLE
from ..constants import constant, index_constant, scalar_constant
from ..costs.cost import SPECIAL
from ..groups import is_init
from ..moving.gathered import clone
from ..operations import block_ops, defining_op
from ..raising.slices import insert
from ..structured import (
    DYNAMIC,
    STRUCTURED,
    body_of,
    element_type,
    elements_of,
    has_one_use,
    inputs_of,
    is_pointwise,
    kinds_of,
    label_of,
    make_copy,
    make_empty,
    make_generic,
    maps_of,
    origin_of_size,
    sizes_of,
)
from ..subsets import Size
from ..tiling.access import nest_of
from ..tiling.pads import fill_of_pad
from ..tiling.stages import is_moved
from .kinds import Kind, kind_of
from .pads import can_read_through

Bounds: TypeAlias = Mapping[int, tuple[int, int]]  # of each dim the first place, and that behind the last

MOST_PARTS = 4  # each is asked for at each element
MOST_MORE = 1.1  # times as many elements: with 1.16 exp of 64x60x60 floats, padded, took 1.3 of the time

MORE = "special functions would be computed for its padding, too"

_TRAPS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi")
_PURE = ("arith.", "math.", "linalg.index", "linalg.yield")


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


def compute_padded(func: ir.Operation) -> None:
    """Let generics stand for what ``func`` pads or writes over, but for pads that windows read through."""
    for op in block_ops(func):
        parts = parts_of(op) if op.name == "tensor.insert_slice" else None
        if parts is None or not can_compute(parts):
            continue
        readers = _readers_of(parts.whole)
        if not readers:
            continue
        if should_compute(parts, readers):
            made = _computed(parts)
            for use in list(parts.whole.uses):
                if use.owner.operation in readers:
                    use.owner.operation.operands[use.operand_number] = made
        elif any(can_sink(value) and not should_sink(value, parts.whole) for value in parts.values):
            WHOLE.set(op, MORE)


def parts_of(op: ir.Operation) -> Parts | None:
    """What the tensor is made of that ``op`` completes; None of a concat, and if parts of it are read."""
    inserts = [op]
    while (below := defining_op(inserts[-1].operands[1], "tensor.insert_slice")) is not None:
        if not has_one_use(below.results[0]):
            return None
        inserts.append(below)
    base = inserts[-1].operands[1]
    fill = defining_op(base, "linalg.fill")
    if defining_op(base, "tensor.empty") is not None or (fill and scalar_constant(fill.operands[0]) is None):
        return None
    return Parts(tuple(inserts), base if fill is None else fill.operands[0])


def can_compute(parts: Parts) -> bool:
    """Whether there are few parts, their places are known, and nothing more is written over them."""
    return (
        len(parts.inserts) <= MOST_PARTS
        and not any(_is_written(use.owner.operation, use.operand_number) for use in parts.whole.uses)
        and all(map(_has_known_place, parts.inserts))
    )


def _is_written(op: ir.Operation, number: int) -> bool:
    """Whether an operand is what ``op`` writes into."""
    return is_init(op, number) or (op.name == "tensor.insert_slice" and number == 1)


def _has_known_place(op: ir.Operation) -> bool:
    """Whether the part that ``op`` puts in lies at known places of each dim that it is not all of."""
    part, whole, view = op.operands[0], op.operands[1], op.opview
    if part.type.rank != whole.type.rank or any(step != 1 for step in view.static_strides):
        return False
    if DYNAMIC in view.static_offsets:
        return False
    sizes = enumerate(zip(part.type.shape, whole.type.shape, strict=True))
    return all(
        DYNAMIC not in both or origin_of_size(part, dim) == origin_of_size(whole, dim) for dim, both in sizes
    )


def should_compute(parts: Parts, readers: Sequence[ir.Operation]) -> bool:
    """Whether it saves a kernel, and no part would be written to its place as it is made."""
    at_hand = [_is_in_memory(value) or sinks(value, parts.whole) for value in parts.values]
    compute = all(map(_computes, readers))
    if isinstance(parts.base.type, ir.RankedTensorType):
        return compute and any(at_hand)
    return compute or all(at_hand)  # else a kernel fills it, and another one writes the part


def _readers_of(whole: ir.Value) -> list[ir.Operation]:
    """What reads a tensor, but for what reads through it: windows, contractions, moves in turns."""
    readers = (use.owner.operation for use in whole.uses)
    return [each for each in readers if not (_is_made_of_moved(each) and can_read_through(each))]


def _is_made_of_moved(op: ir.Operation) -> bool:
    """Whether ``op`` is a contraction or a window, or reads at sums of loops."""
    if op.name != "linalg.generic":
        return False
    nest = nest_of(op)
    return kind_of(op, lambda _: nest) is Kind.ANCHOR or any(map(is_moved, filter(None, nest.reads)))


def _computes(op: ir.Operation) -> bool:
    """Whether ``op`` is element by element, or a reduction that is no contraction and no window."""
    return op.name == "linalg.generic" and kind_of(op, nest_of) in (Kind.POINTWISE, Kind.ROW, Kind.BARRIER)


def _is_in_memory(value: ir.Value) -> bool:
    """Whether no kernel makes ``value``, or any makes it itself."""
    maker = defining_op(value)
    return maker is None or maker.name not in STRUCTURED or maker.name == "linalg.fill"


def sinks(value: ir.Value, whole: ir.Value) -> bool:
    """Whether ``value`` is made where what it is a part of is read, and something beside it."""
    return can_sink(value) and should_sink(value, whole)


def can_sink(value: ir.Value) -> bool:
    """Whether ``value`` can be made at other places, and something beside it, of what is at hand."""
    maker = defining_op(value, "linalg.generic")
    if maker is None or not is_pointwise(maker) or not has_one_use(value) or not inputs_of(maker):
        return False
    names = [inner.operation.name for inner in body_of(maker).operations]
    if any(name in _TRAPS or not name.startswith(_PURE) for name in names):
        return False
    *reads, write = maps_of(maker)
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    return (
        write == ir.AffineMap.get_identity(write.n_dims, value.context)
        and not any(True for _ in body_of(maker).arguments[len(reads)].uses)
        and all(isinstance(expr, plain) for where in reads for expr in where.results)
        and all(_runs_through(value, where, each) for where, each in zip(reads, maker.operands, strict=False))
        and all(_is_in_memory(each) or can_sink(each) for each in inputs_of(maker))
    )


def should_sink(value: ir.Value, whole: ir.Value) -> bool:
    """Whether no special functions are computed for many elements more."""
    return elements_of(whole) <= MOST_MORE * elements_of(value) or not _takes_special_functions(value)


def _takes_special_functions(value: ir.Value) -> bool:
    """Whether what makes ``value`` of what is in memory has an exp in it, say."""
    if not can_sink(value):
        return False
    maker = value.owner.operation
    names = {inner.operation.name for inner in body_of(maker).operations}
    return bool(names & SPECIAL.keys()) or any(map(_takes_special_functions, inputs_of(maker)))


def _runs_through(made: ir.Value, where: ir.AffineMap, read: ir.Value) -> bool:
    """Whether the loops along which ``made`` lies run through all of what they read."""
    return all(
        isinstance(expr, ir.AffineConstantExpr) or size == made.type.shape[expr.position]
        for expr, size in zip(where.results, read.type.shape if where.results else (), strict=True)
    )


def _computed(parts: Parts) -> ir.Value:
    """The generic that stands for the tensor."""
    whole = parts.whole
    at = ir.InsertionPoint.after(whole.owner)
    label = label_of(whole.owner) or "insert"
    with whole.owner.location, at:
        if fill_of_pad(whole.owner) is not None and not sinks(parts.values[0], whole):
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
            values.append(placed.place(value) if sinks(value, whole) else placed.padded(value))
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
