"""Loads of lanes: side by side in memory, or a stride apart.

Strides of 2 and 4 (pooling and depthwise convolution with strides) load everything and keep
every other lane; other strides gather. A step of a lane takes 32 bits, or 64 where the stride is not
known: a strip whose elements take fewer is gathered, or scattered, in parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mlir import ir
from mlir.dialects import arith, scf, vector

from ...scheduling.cpu import WIDE_BITS
from .bounds import DYNAMIC
from .emitter import Emitter
from .masks import mask_of
from .memory import memory_size
from .types import widest
from .vectors import spread

_DENSE_STRIDES = (2, 4)
_STEPS_BITS = 4 * 128  # of the steps of a part: more than four of the narrowest registers are too many
_SHORT, _LONG = 32, 64  # bits of a step


def is_dense(source: ir.Value, dim: int) -> bool:
    """Whether lanes along ``dim`` are so close that loading what lies between them is cheaper."""
    return source.type.get_strides_and_offset()[0][dim] in _DENSE_STRIDES


@dataclass(frozen=True)
class Row:
    """``lanes`` elements along ``dim`` of ``source``, from ``indices`` on.

    The first ``valid`` of them (None: all) lie in memory, but for the first ``before``; the others are
    ``padding``. Where ``inside`` is true all lie in memory, also those that are not valid, and what is
    between lanes that are a stride apart: nothing is masked. ``is_spread``: it is a part of such lanes, with
    what is between.
    """

    source: ir.Value
    indices: Sequence[ir.Value]
    dim: int
    lanes: int
    valid: ir.Value | int | None
    padding: ir.Value
    before: ir.Value | None = None
    inside: ir.Value | None = None
    is_spread: bool = False

    @property
    def kind(self) -> ir.VectorType:
        """The vector that holds it."""
        return ir.VectorType.get([self.lanes], self.source.type.element_type)


def load_row(em: Emitter, row: Row) -> ir.Value:
    """The vector of a row: a load along memory's innermost dim, else as strides allow."""
    if row.dim < row.source.type.rank - 1:
        return _load_dense(em, row) if is_dense(row.source, row.dim) else _gather(em, row)
    if row.before is None and (row.valid is None or (isinstance(row.valid, int) and row.valid >= row.lanes)):
        with em.here():
            return vector.LoadOp(row.kind, row.source, list(row.indices)).result
    parts = list(_masked_parts(em, row))
    if row.inside is None:
        with em.here():
            return _load_masked(row, parts)
    with em.here():
        choice = scf.IfOp(row.inside, [row.kind], has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.YieldOp([vector.LoadOp(row.kind, row.source, list(row.indices)).result])
    with ir.InsertionPoint(choice.else_block):
        scf.YieldOp([_load_masked(row, parts)])
    return choice.results[0]


class _Part(NamedTuple):
    """The lanes from ``start`` on that one load has, where they lie in memory, and their mask."""

    start: int
    indices: list[ir.Value]
    mask: ir.Value


def _masked_parts(em: Emitter, row: Row) -> Iterator[_Part]:
    """A load for all; of spread lanes one for each register where the CPU has no masks of their own.

    LLVM packs those of several registers as bytes there, and takes them apart again. Effect (one Zen 3 core,
    64 x 112 x 112, of which the first strip of each row is padded): max pool of 3x3/2 720 to 495 us, average
    603 to 450. Of lanes side by side the masks are constants once LLVM has written the window out.
    """
    width = row.lanes
    if row.is_spread and em.vector_bits < WIDE_BITS:
        width = min(width, em.vector_bits // widest([row.kind.element_type]))
    *outer, first = row.indices
    for start in range(0, row.lanes, width):
        valid, before = (_after(em, count, start) for count in (row.valid, row.before))
        part = replace(row, lanes=width, valid=valid, before=before)
        yield _Part(start, [*outer, em.plus(first, start)], _mask(em, part))


def _after(em: Emitter, count: ir.Value | int | None, skipped: int) -> ir.Value | None:
    """How many of the first ``count`` lanes come after the first ``skipped``; negative is none."""
    if count is None:
        return None
    return em.plus(em.index(count) if isinstance(count, int) else count, -skipped)


def _load_masked(row: Row, parts: Sequence[_Part]) -> ir.Value:
    whole = spread(row.padding, row.lanes)
    for part in parts:
        kind = ir.VectorType.get(part.mask.type.shape, row.kind.element_type)
        padding = spread(row.padding, kind.shape[0])
        loaded = vector.MaskedLoadOp(kind, row.source, part.indices, part.mask, padding).result
        alone = kind == row.kind
        whole = loaded if alone else vector.InsertStridedSliceOp(loaded, whole, [part.start], [1]).result
    return whole


def _gather(em: Emitter, row: Row) -> ir.Value:
    mask = _mask(em, row)
    with em.here():
        whole = spread(row.padding, row.lanes)
    for start, indices, steps in _parts(em, row.source, row.indices, row.dim, row.lanes):
        with em.here():
            inside, padding = (_lanes(value, start, steps) for value in (mask, whole))
            part = vector.GatherOp(padding.type, row.source, indices, steps, inside, padding).result
            alone = part.type == whole.type
            whole = part if alone else vector.InsertStridedSliceOp(part, whole, [start], [1]).result
    return whole


def scatter(
    em: Emitter, target: ir.Value, indices: Sequence[ir.Value], dim: int, mask: ir.Value, row: ir.Value
) -> None:
    """Store the lanes of ``row`` along ``dim`` of ``target``, from ``indices`` on, where ``mask`` is true."""
    for start, places, steps in _parts(em, target, indices, dim, row.type.shape[0]):
        with em.here():
            part, inside = (_lanes(value, start, steps) for value in (row, mask))
            vector.ScatterOp(None, target, places, steps, inside, part)


def _parts(
    em: Emitter, memory: ir.Value, indices: Sequence[ir.Value], dim: int, lanes: int
) -> Iterator[tuple[int, list[ir.Value], ir.Value]]:
    """The first lane of each part of a row, where it lies in memory, and its lanes' steps."""
    bits = _SHORT if _has_short_steps(memory, dim, lanes) else _LONG
    fits = bits == _SHORT and widest([memory.type.element_type]) >= bits
    width = lanes if fits else min(lanes, _STEPS_BITS // bits)
    for start in range(0, lanes, width):
        places = [em.plus(index, start) if at == dim else index for at, index in enumerate(indices)]
        yield start, places, _lane_steps(em, memory, dim, width)


def _lanes(value: ir.Value, start: int, steps: ir.Value) -> ir.Value:
    """As many lanes of ``value`` as there are steps, from ``start`` on."""
    shape = steps.type.shape
    kind = ir.VectorType.get(shape, value.type.element_type)
    if kind == value.type:
        return value
    return vector.ExtractStridedSliceOp(kind, value, [start], shape, [1]).result


def _mask(em: Emitter, row: Row) -> ir.Value:
    """The mask of the lanes that lie in memory."""
    mask = mask_of(em, row.lanes if row.valid is None else row.valid, row.lanes)
    if row.before is None:
        return mask
    before = mask_of(em, row.before, row.lanes)
    with em.here():
        ones = arith.ConstantOp(
            mask.type, ir.DenseElementsAttr.get_splat(mask.type, ir.BoolAttr.get(True))
        ).result
        return arith.AndIOp(mask, arith.XOrIOp(before, ones)).result


def _has_short_steps(memory: ir.Value, dim: int, lanes: int) -> bool:
    """Whether lane × stride of a memory dim is known and fits 32 bits."""
    known = memory.type.get_strides_and_offset()[0][dim]
    return known != DYNAMIC and bool(known * lanes < 1 << _SHORT - 1)


def _lane_steps(em: Emitter, source: ir.Value, dim: int, lanes: int) -> ir.Value:
    """Lane × stride of a memory dim, for gathers and scatters."""
    known = source.type.get_strides_and_offset()[0][dim]
    if _has_short_steps(source, dim, lanes):
        kind = ir.VectorType.get([lanes], ir.IntegerType.get_signless(32))
        places = ", ".join(str(known * lane) for lane in range(lanes))
        return em.constant(ir.Attribute.parse(f"dense<[{places}]> : {kind}"), kind)
    stride = em.index(1 if known == DYNAMIC else known)
    if known == DYNAMIC:  # the identity layout, or a part that is all of it
        for inner in range(dim + 1, source.type.rank):
            size = memory_size(em, source, inner)
            with em.here():
                stride = arith.MulIOp(stride, size).result
    with em.here():
        steps = vector.StepOp(ir.VectorType.get([lanes], ir.IndexType.get())).result
        return arith.MulIOp(steps, spread(stride, lanes)).result


def _load_dense(em: Emitter, row: Row) -> ir.Value:
    stride, lanes = row.source.type.get_strides_and_offset()[0][row.dim], row.lanes
    *outer, first = row.indices
    chunks = []
    for chunk in range(stride):
        left = _elements_left(em, lanes if row.valid is None else row.valid, stride, chunk * lanes)
        before = None if row.before is None else _elements_before(em, row.before, stride, chunk * lanes)
        place = [*outer, em.sum(first, em.index(chunk * lanes))]
        chunk_row = replace(row, indices=place, dim=len(outer), valid=left, before=before, is_spread=True)
        chunks.append(load_row(em, chunk_row))
    with em.here():
        while len(chunks) > 1:
            chunks = [
                vector.ShuffleOp(left, right, list(range(0, 2 * lanes, 2))).result
                for left, right in zip(chunks[::2], chunks[1::2], strict=True)
            ]
    return chunks[0]


def _elements_before(em: Emitter, before: ir.Value, stride: int, skipped: int) -> ir.Value:
    """Elements from ``skipped`` up to the first lane's that lies in memory."""
    width, less = em.index(stride), em.index(skipped)
    with em.here():
        return arith.SubIOp(arith.MulIOp(before, width).result, less).result


def _elements_left(em: Emitter, valid: ir.Value | int, stride: int, skipped: int) -> ir.Value | int:
    """Elements from ``skipped`` up to the last valid lane's."""
    beyond = stride - 1 + skipped
    if isinstance(valid, int):
        return max(valid * stride - beyond, 0)
    width, less = em.index(stride), em.index(beyond)
    with em.here():
        return arith.SubIOp(arith.MulIOp(valid, width).result, less).result
