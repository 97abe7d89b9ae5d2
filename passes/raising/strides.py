"""Strided windows: the input's dims are split into (blocks, stride), so that a tile steps by one.

::

    %p at (oh * 2 + kh)             ->  expand_shape %p into (H/2, 2), at (oh + kh floordiv 2, kh mod 2)
    (tensor.pad %x low[3]) at …     ->  tensor.pad (expand_shape %x) low[2, 0] in whole blocks,
                                        at (oh + (kh + 1) floordiv 2, (kh + 1) mod 2)

A size that is no multiple of the stride is read in steps, as it is, where tiles can (`should_step`), else
padded first. Legal: what the longer padding adds is never read.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import linalg, tensor

from ..constants import constant
from ..operations import defining_op
from ..structured import DYNAMIC, element_type, named_maps_of, sizes_of
from ..subsets import mixed
from ..tiling.analysis import HALVED
from .reshape import grouped
from .slices import add_sizes, insert, padding_value


@dataclass(frozen=True)
class Window:
    """One dim of the input, read at ``out * stride + inside * dilation``."""

    out: int
    stride: int
    inside: int
    dilation: int


def can_split(window: Window, dim: int, op: ir.Operation) -> bool:
    """Whether a dim is static, or needs no splitting."""
    return window.stride == 1 or op.operands[0].type.shape[dim] != DYNAMIC


def split_strides(
    op: ir.Operation, where: ir.AffineMap, windows: list[Window | None]
) -> tuple[ir.Value, list[ir.AffineExpr]]:
    """The input with each strided dim split into (dim / stride, stride), and how it is read."""
    pad = defining_op(op.operands[0], "tensor.pad")
    if pad is not None and can_pad_blocks(pad, windows):
        return _split_before_padding(op, pad, where, windows)
    source = op.operands[0]
    if should_step(op, windows):
        return source, list(where.results)
    more = [
        0 if window is None or window.stride == 1 else _missing(op, dim, window)
        for dim, window in enumerate(windows)
    ]
    with op.location, ir.InsertionPoint(op):
        if any(more):
            source = _padded(source, more)
        if all(window is None or window.stride == 1 for window in windows):
            return source, list(where.results)
        return _in_blocks(source, windows), _block_reads(where, windows, [0] * len(windows))


def should_step(op: ir.Operation, windows: list[Window | None]) -> bool:
    """Whether an input that is no multiple of its strides is read in steps, as it is.

    Along a row every other element can be taken of what is read (`passes/tiling/analysis.py`); along the
    other dims a tile has one position.
    """
    row = windows[-1]
    if row is not None and row.stride not in (1, HALVED):
        return False
    strided = [(dim, window) for dim, window in enumerate(windows) if window and window.stride > 1]
    return any(_missing(op, dim, window) for dim, window in strided)


def can_pad_blocks(pad: ir.Operation, windows: list[Window | None]) -> bool:
    """Whether what ``pad`` pads can be split before it is padded by whole blocks."""
    if padding_value(pad) is None or not _only_pads(pad) or DYNAMIC in pad.opview.static_low:
        return False
    strided = [window is not None and window.stride > 1 for window in windows]
    return any(strided) and all(
        not split or (window is not None and size != DYNAMIC and size % window.stride == 0)
        for split, window, size in zip(strided, windows, pad.operands[0].type.shape, strict=True)
    )


def _split_before_padding(
    op: ir.Operation, pad: ir.Operation, where: ir.AffineMap, windows: list[Window | None]
) -> tuple[ir.Value, list[ir.AffineExpr]]:
    """As `split_strides`, for a padded input: the first of the whole blocks in front may hold too many."""
    source, low = pad.operands[0], list(pad.opview.static_low)
    with op.location, ir.InsertionPoint(op):
        starts, sizes = [], []
        for dim, (window, size) in enumerate(zip(windows, sizes_of(pad.results[0]), strict=True)):
            if window is None or window.stride == 1:
                starts.append(low[dim])
                sizes.append(size)
                continue
            before = -(-low[dim] // window.stride)
            own = source.type.shape[dim] // window.stride
            starts += [before, 0]
            sizes += [max(before + own, _last_block(op, window, low[dim]) + 1), window.stride]
        parts = _in_blocks(source, windows)
        reads = _block_reads(where, windows, low)
        if not any(starts) and list(parts.type.shape) == [
            DYNAMIC if isinstance(size, ir.Value) else size for size in sizes
        ]:
            return parts, reads
        filled = linalg.fill(padding_value(pad), outs=[tensor.EmptyOp(sizes, element_type(source)).result])
        return insert(parts, filled, starts, sizes_of(parts), "pad"), reads


def _in_blocks(source: ir.Value, windows: list[Window | None]) -> ir.Value:
    """``source`` with each strided dim as (blocks, stride)."""
    groups: list[list[int]] = []
    sizes: list[int | ir.Value] = []
    for window, size in zip(windows, sizes_of(source), strict=True):
        split = window is not None and window.stride > 1
        groups.append([len(sizes), len(sizes) + 1] if split else [len(sizes)])
        if window is None or not split or not isinstance(size, int):
            sizes.append(size)
        else:
            sizes += [size // window.stride, window.stride]
    return expanded(source, groups, sizes)


def _block_reads(where: ir.AffineMap, windows: list[Window | None], low: list[int]) -> list[ir.AffineExpr]:
    """How an input in blocks is read that has ``low`` elements in front of each dim, in whole blocks."""
    exprs: list[ir.AffineExpr] = []
    for expr, window, before in zip(where.results, windows, low, strict=True):
        if window is None or window.stride == 1:
            exprs.append(expr)
            continue
        inside = ir.AffineDimExpr.get(window.inside) * window.dilation + -before % window.stride
        step = ir.AffineExpr.get_floor_div(inside, window.stride)
        exprs += [ir.AffineDimExpr.get(window.out) + step, ir.AffineExpr.get_mod(inside, window.stride)]
    return exprs


def expanded(source: ir.Value, groups: list[list[int]], sizes: list[int | ir.Value]) -> ir.Value:
    """``source`` with the sizes ``sizes``, of which those of each group make up one of its dims."""
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
    dynamic = [size for size in sizes if isinstance(size, ir.Value)]
    kind = ir.RankedTensorType.get(static, source.type.element_type)
    return tensor.ExpandShapeOp(kind, source, grouped(groups), dynamic, static).result


def _missing(op: ir.Operation, dim: int, window: Window) -> int:
    """How many elements a strided dim lacks to be a multiple of its stride and to hold every index."""
    size = op.operands[0].type.shape[dim]
    blocks = max(-(-size // window.stride), _last_block(op, window, 0) + 1)
    return blocks * window.stride - size


def _last_block(op: ir.Operation, window: Window, low: int) -> int:
    """The last block that is read of a dim with ``low`` elements in front, in whole blocks."""
    maps = named_maps_of(op)
    outputs = _extent(window.out, maps[2], op.operands[2])
    insides = _extent(window.inside, maps[1], op.operands[1])
    return outputs - 1 + ((insides - 1) * window.dilation + -low % window.stride) // window.stride


def _extent(loop: int, where: ir.AffineMap, value: ir.Value) -> int:
    for expr, size in zip(where.results, value.type.shape, strict=True):
        if isinstance(expr, ir.AffineDimExpr) and expr.position == loop:
            return size
    raise AssertionError("each loop of a window is a dim of the result or of the filter")


def _padded(source: ir.Value, more: list[int]) -> ir.Value:
    """``source`` with ``more`` elements behind each dim; a tensor.pad before it is done with it."""
    low: list[int | ir.Value] = [0] * len(more)
    pad = defining_op(source, "tensor.pad")
    if pad is not None and padding_value(pad) is not None and _only_pads(pad):
        sizes = [add_sizes(size, extra) for size, extra in zip(sizes_of(source), more, strict=True)]
        low, value = mixed(pad.opview.static_low, pad.opview.low), padding_value(pad)
        source = pad.operands[0]
    else:
        sizes = [add_sizes(size, extra) for size, extra in zip(sizes_of(source), more, strict=True)]
        element = element_type(source)
        integer = isinstance(element, ir.IntegerType)
        value = constant(ir.IntegerAttr.get(element, 0) if integer else ir.FloatAttr.get(element, 0.0))
    filled = linalg.fill(value, outs=[tensor.EmptyOp(sizes, element_type(source)).result])
    return insert(source, filled, low, sizes_of(source), "pad")


def _only_pads(pad: ir.Operation) -> bool:
    """Whether no side is cropped."""
    return all(size >= 0 or size == DYNAMIC for size in (*pad.opview.static_low, *pad.opview.static_high))
