"""ldmatrix: a warp loads up to four 8 x 8 matrices of 16-bit words from shared memory; stmatrix stores them.

Each lane says where one row of 16 bytes lies, and gets a word of each matrix: what mma.sync wants of it. A
tile that lies the other way in shared memory is turned on the way, where its elements have two bytes.

    a lane has    reg … 2:(0,1)  lane 4:(0,2) 8:(1,0)       two neighbours, four lanes a row
    it points to  reg … 8:(0,1)  lane 8:(1,0) 2:(8,0) 2:(0,8)   a row of 8, of each of four matrices

Bytes that lie the other way are turned in pairs: a word has two neighbours of two rows. Of two such words,
the second of the two rows behind, a lane makes two that have four rows each::

    a lane has    reg … 2:(1,0) 4:(0,1)  lane 4:(0,4) 8:(2,0)
    it points to  reg … 16:(1,0)  lane 2:(0,1) 4:(0,4) 2:(0,2) …

(PTX ISA 9.0, "Warp-level matrix load instruction: ldmatrix", "… store instruction: stmatrix".)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.layouts import LANE_BITS, Axis, Layout, Position
from ..layouts.access import WIDE
from .builder import Builder

SIDE = 8  # rows of a matrix
_WORD = 4  # bytes that a lane gets
_LANES = 2  # bits of the lanes that share a row
_TURNABLE = 2  # bytes


@dataclass(frozen=True)
class Matrices:
    """How a fragment consists of matrices: ``rows`` is which rows the lanes point to.

    ``inner``: the dim along which a row runs; ``pair``: along which a word's elements do. ``starts`` are the
    registers where instructions begin; a bit of the matrix's number adds each of ``steps``.
    """

    inner: int
    pair: int
    packed: int
    steps: tuple[Position, ...]
    starts: tuple[Position, ...]
    rows: Layout

    @property
    def turned(self) -> bool:
        """Whether matrices are transposed on the way."""
        return self.inner != self.pair

    def members(self, start: Position) -> list[list[Position]]:
        """The registers of each matrix's word, for the instruction that begins at ``start``."""
        firsts = [start]
        for step in self.steps:
            firsts += [_sum(first, step) for first in firsts]
        unit = tuple(int(dim == self.pair) for dim in range(len(start)))
        return [[_sum(first, _times(unit, at)) for at in range(self.packed)] for first in firsts]


def matrices_of(layout: Layout, sizes: Sequence[int], element_bytes: int) -> list[Matrices]:
    """The ways to load a fragment by matrices, rows along either dim; none if mma.sync wants no such one."""
    packed = _WORD // element_bytes
    if not packed or any(covered > size for covered, size in zip(layout.covered, sizes, strict=True)):
        return []
    pair = _only_dim(layout.bits[0])
    row = _only_dim(layout.bits[_LANES])
    if pair is None or row is None or pair == row:
        return []
    lanes = [_along(pair, packed << bit, layout.rank) for bit in range(_LANES)]
    lanes += [_along(row, 1 << bit, layout.rank) for bit in range(LANE_BITS - _LANES)]
    axes = list(layout.registers)
    if element_bytes == 1 and layout.bits[:LANE_BITS] == _pair_lanes(pair, row, layout.rank):
        return _matrices_of_pairs(layout, axes, pair, row)
    own = next((axis for axis in axes if axis.step == _along(pair, 1, layout.rank)), None)
    if layout.bits[:LANE_BITS] != tuple(lanes) or (own.extent if own is not None else 1) != packed:
        return []
    if own is not None:
        axes.remove(own)
    found = [_matrices(layout, axes, pair, row, pair, packed, WIDE // element_bytes)]
    if element_bytes == _TURNABLE:
        found.append(_matrices(layout, axes, row, pair, pair, packed, WIDE // element_bytes))
    return found


def _matrices(
    layout: Layout, axes: Sequence[Axis], inner: int, outer: int, pair: int, packed: int, length: int
) -> Matrices:
    """Rows of ``length`` along ``inner``, one below the other along ``outer``."""
    rank = layout.rank
    steps: list[Position] = []
    left = list(axes)
    for number in reversed(range(len(left))):
        axis = left[number]
        while axis.extent % 2 == 0 and len(steps) < LANE_BITS - 3:
            steps.append(axis.step)
            axis = Axis(axis.extent // 2, _times(axis.step, 2))
        left[number] = axis
    left = [axis for axis in left if axis.extent > 1]
    still = (0,) * rank
    lanes = [_along(outer, 1 << bit, rank) for bit in range(3)] + [*steps, still, still][: LANE_BITS - 3]
    bits = (*lanes, *layout.bits[LANE_BITS:])
    starts = Layout(rank, tuple(left), bits).register_positions
    rows = Layout(rank, (*left, Axis(length, _along(inner, 1, rank))), bits)
    return Matrices(inner, pair, packed, tuple(steps), starts, rows)


def _pair_lanes(pair: int, row: int, rank: int) -> tuple[Position, ...]:
    """The lanes of bytes that are turned in pairs of rows."""
    lanes = [_along(pair, 4 << bit, rank) for bit in range(_LANES)]
    return (*lanes, *(_along(row, 2 << bit, rank) for bit in range(LANE_BITS - _LANES)))


def _matrices_of_pairs(layout: Layout, axes: list[Axis], pair: int, row: int) -> list[Matrices]:
    """Bytes that lie along ``row`` in memory, if a lane has four along ``pair`` of two neighbours."""
    rank = layout.rank
    own, beside = Axis(_WORD, _along(pair, 1, rank)), Axis(2, _along(row, 1, rank))
    if own not in axes or beside not in axes:
        return []
    left = [axis for axis in axes if axis not in (own, beside)]
    steps, further = [beside.step], (0,) * rank
    for number, axis in enumerate(left):
        if axis.extent % 2 == 0:
            further = axis.step
            steps.append(further)
            left[number] = Axis(axis.extent // 2, _times(axis.step, 2))
            break
    left = [axis for axis in left if axis.extent > 1]
    lanes = [_along(pair, size, rank) for size in (1, 4, 8, 2)]
    bits = (*lanes, further, *layout.bits[LANE_BITS:])
    starts = Layout(rank, tuple(left), bits).register_positions
    rows = Layout(rank, (*left, Axis(WIDE, _along(row, 1, rank))), bits)
    return [Matrices(row, pair, _WORD, tuple(steps), starts, rows)]


def load_matrices(
    build: Builder, pointer: ir.Value, count: int, turned: bool, element: ir.Type
) -> list[ir.Value]:
    """The words that a lane has of ``count`` matrices; ``pointer`` is its row's."""
    word = ir.IntegerType.get_signless(32)
    kinds = word if count == 1 else ir.Type.parse(f"!llvm.struct<({', '.join(['i32'] * count)})>")
    attributes = {"num": ir.IntegerAttr.get(word, count), **_form(turned)}
    loaded = build.op("nvvm.ldmatrix", [pointer], kinds, attributes)
    words = (
        [loaded]
        if count == 1
        else [
            build.op("llvm.extractvalue", [loaded], word, {"position": ir.DenseI64ArrayAttr.get([at])})
            for at in range(count)
        ]
    )
    if turned and element.width == 8:
        words = [word for at in range(0, count, 2) for word in _interleaved(build, *words[at : at + 2])]
    return words


def elements_of(build: Builder, word: ir.Value, element: ir.Type) -> list[ir.Value]:
    """The elements of a word."""
    packed = 32 // element.width
    vector = build.op("vector.bitcast", [build.vector([word])], ir.VectorType.get([packed], element))
    return build.elements(vector)


def store_matrices(
    build: Builder, pointer: ir.Value, words: Sequence[Sequence[ir.Value]], turned: bool
) -> None:
    """Store one, two or four matrices, of which a lane has a word each; ``pointer`` is its row's."""
    word = ir.VectorType.get([1], ir.IntegerType.get_signless(32))
    packed = [build.op("vector.bitcast", [build.vector(values)], word) for values in words]
    operands = [pointer, *(element for each in packed for element in build.elements(each))]
    ir.Operation.create("nvvm.stmatrix", [], operands, _form(turned))


def _form(turned: bool) -> dict[str, ir.Attribute]:
    """What both instructions say of their matrices."""
    return {
        "layout": ir.Attribute.parse(f"#nvvm.mma_layout<{'col' if turned else 'row'}>"),
        "shape": ir.Attribute.parse(f"#nvvm.ld_st_matrix_shape<m = {SIDE}, n = {SIDE}>"),
        "eltType": ir.Attribute.parse("#nvvm.ld_st_matrix_elt_type<b16>"),
    }


def _interleaved(build: Builder, one: ir.Value, other: ir.Value) -> list[ir.Value]:
    """The first and third byte of both words, and the second and fourth."""
    mode = ir.Attribute.parse("#nvvm.permute_mode<default>")
    return [
        build.op("nvvm.prmt", [one, other, build.constant(one.type, selected)], one.type, {"mode": mode})
        for selected in (0x6420, 0x7531)
    ]


def _only_dim(step: Position) -> int | None:
    """The one dim along which a step goes."""
    dims = [dim for dim, size in enumerate(step) if size]
    return dims[0] if len(dims) == 1 else None


def _along(dim: int, size: int, rank: int) -> Position:
    return tuple(size if at == dim else 0 for at in range(rank))


def _times(step: Position, factor: int) -> Position:
    return tuple(part * factor for part in step)


def _sum(one: Position, other: Position) -> Position:
    return tuple(a + b for a, b in zip(one, other, strict=True))
