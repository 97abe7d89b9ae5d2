"""Loads whose lanes are a stride apart in memory.

Strides of 2 and 4 (pooling and depthwise convolution with strides) load everything and keep
every other lane; other strides gather.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, vector

from .bounds import DYNAMIC
from .emitter import Emitter
from .masks import mask_of
from .memory import memory_size
from .vectors import spread

_DENSE_STRIDES = (2, 4)


def is_dense(source: ir.Value, dim: int) -> bool:
    """Whether lanes along ``dim`` are so close that loading what lies between them is cheaper."""
    return source.type.get_strides_and_offset()[0][dim] in _DENSE_STRIDES


def load_strided(
    em: Emitter,
    source: ir.Value,
    indices: Sequence[ir.Value],
    dim: int,
    lanes: int,
    valid: ir.Value | int | None,
    padding: ir.Value,
) -> ir.Value:
    """``lanes`` elements along ``dim``, of which ``valid`` lie in memory (None: all)."""
    if is_dense(source, dim):
        return _load_dense(em, source, indices, dim, lanes, valid, padding)
    steps = lane_steps(em, source, dim, lanes)
    mask = mask_of(em, lanes if valid is None else valid, lanes)
    kind = ir.VectorType.get([lanes], source.type.element_type)
    with em.here():
        return vector.GatherOp(kind, source, list(indices), steps, mask, spread(padding, lanes)).result


def lane_steps(em: Emitter, source: ir.Value, dim: int, lanes: int) -> ir.Value:
    """Lane × stride of a memory dim, for gathers and scatters."""
    known = source.type.get_strides_and_offset()[0][dim]
    if known != DYNAMIC and known * lanes < 1 << 31:
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


def _load_dense(
    em: Emitter,
    source: ir.Value,
    indices: Sequence[ir.Value],
    dim: int,
    lanes: int,
    valid: ir.Value | int | None,
    padding: ir.Value,
) -> ir.Value:
    stride = source.type.get_strides_and_offset()[0][dim]
    kind = ir.VectorType.get([lanes], source.type.element_type)
    chunks = []
    for chunk in range(stride):
        left = _elements_left(em, lanes if valid is None else valid, stride, chunk * lanes)
        place = [*indices[:-1], em.sum(indices[-1], em.index(chunk * lanes))]
        mask = None if isinstance(left, int) and left >= lanes else mask_of(em, left, lanes)
        with em.here():
            if mask is None:
                chunks.append(vector.LoadOp(kind, source, place).result)
            else:
                chunks.append(vector.MaskedLoadOp(kind, source, place, mask, spread(padding, lanes)).result)
    with em.here():
        while len(chunks) > 1:
            chunks = [
                vector.ShuffleOp(left, right, list(range(0, 2 * lanes, 2))).result
                for left, right in zip(chunks[::2], chunks[1::2], strict=True)
            ]
    return chunks[0]


def _elements_left(em: Emitter, valid: ir.Value | int, stride: int, skipped: int) -> ir.Value | int:
    """Elements from ``skipped`` up to the last valid lane's."""
    beyond = stride - 1 + skipped
    if isinstance(valid, int):
        return max(valid * stride - beyond, 0)
    width, less = em.index(stride), em.index(beyond)
    with em.here():
        return arith.SubIOp(arith.MulIOp(valid, width).result, less).result
