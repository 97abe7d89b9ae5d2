"""Convolutions and poolings become generics whose parallel loops step by one through memory.

::

    %p = tensor.pad %x low[0, 0, 3, 3] high[0, 0, 3, 3]
    linalg.conv_2d_nchw_fchw {strides = 2} ins(%p, %w) outs(%b)
  ->
    %w1 = generic {transpose} (co, ci, kh, kw) -> (ci, kh, kw, co) ins(%w)
    %p1 = tensor.expand_shape (pad to a multiple of 2) -> n x ci x H/2 x 2 x W/2 x 2
    generic {conv2d} (n, co, oh, ow | ci, kh, kw)
        ins(%p1 at (n, ci, oh + kh floordiv 2, kh mod 2, ow + kw floordiv 2, kw mod 2), %w1) outs(%b)

Legal for static windows: what the longer padding adds is never read. A tile of the input is then read by
whole vectors, and one of the weights along its output channels.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import linalg, tensor

from ..groups import entry_ops
from ..structured import (
    DYNAMIC,
    body_of,
    constant,
    defining_op,
    element_type,
    make_copy,
    make_generic,
    named_maps_of,
    replace_op,
    sizes_of,
)
from ..subsets import mixed
from .named import kinds_from
from .reshape import grouped
from .slices import add_sizes, insert, padding_value

_PREFIXES = ("linalg.conv_", "linalg.depthwise_conv_", "linalg.pooling_")


@dataclass(frozen=True)
class Window:
    """One dim of the input, read at ``out * stride + inside * dilation``."""

    out: int
    stride: int
    inside: int
    dilation: int


def lower_windows(func: ir.Operation) -> None:
    """Rewrite the convolutions and poolings of ``func``."""
    for op in entry_ops(func):
        if op.name.startswith(_PREFIXES) and len(op.operands) == 3 and op.results:
            _lower(op)


def label_for(name: str) -> str:
    """`conv2d` for linalg.conv_2d_nchw_fchw, `max_pool` for linalg.pooling_nchw_max."""
    words = name.removeprefix("linalg.").split("_")
    if words[0] == "pooling":
        kind = words[-1] if words[-1] != "unsigned" else words[-2]
        return f"{kind}_pool"
    return ("depthwise_" if words[0] == "depthwise" else "") + "conv" + words[words.index("conv") + 1]


def _lower(op: ir.Operation) -> None:
    source, filters, init = op.operands
    maps = named_maps_of(op)
    windows = [_window(expr) for expr in maps[0].results]
    exprs = list(maps[0].results)
    if all(window is None or _can_split(window, dim, op) for dim, window in enumerate(windows)):
        source, exprs = _split_strides(op, maps[0], windows)
    pooling = op.name.startswith("linalg.pooling_")
    filter_map = maps[1]
    if not pooling:
        filters, filter_map = _channels_last(op, maps)
    new = make_generic(
        [source, filters],
        [init],
        [ir.AffineMap.get(maps[0].n_dims, 0, exprs), filter_map, maps[2]],
        kinds_from(maps, 1),
        label_for(op.name),
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body_of(op),
    )
    replace_op(op, new.results)


def _window(expr: ir.AffineExpr) -> Window | None:
    """The parts of ``out * stride + inside * dilation``; None for a single loop."""
    if not isinstance(expr, ir.AffineAddExpr):
        return None
    (out, stride), (inside, dilation) = _term(expr.lhs), _term(expr.rhs)
    return Window(out, stride, inside, dilation)


def _term(expr: ir.AffineExpr) -> tuple[int, int]:
    """A loop and its factor."""
    return (expr.lhs.position, expr.rhs.value) if isinstance(expr, ir.AffineMulExpr) else (expr.position, 1)


def _can_split(window: Window, dim: int, op: ir.Operation) -> bool:
    """Whether a dim is static, or needs no splitting."""
    return window.stride == 1 or op.operands[0].type.shape[dim] != DYNAMIC


def _split_strides(
    op: ir.Operation, where: ir.AffineMap, windows: list[Window | None]
) -> tuple[ir.Value, list[ir.AffineExpr]]:
    """The input with each strided dim split into (dim / stride, stride), and how it is read."""
    source = op.operands[0]
    more = [
        0 if window is None or window.stride == 1 else _missing(op, dim, window)
        for dim, window in enumerate(windows)
    ]
    with op.location, ir.InsertionPoint(op):
        if any(more):
            source = _padded(source, more)
        exprs: list[ir.AffineExpr] = []
        groups: list[list[int]] = []
        sizes: list[int | ir.Value] = []
        for expr, window, size in zip(where.results, windows, sizes_of(source), strict=True):
            split = window is not None and window.stride > 1
            groups.append([len(sizes), len(sizes) + 1] if split else [len(sizes)])
            if window is None or not split or not isinstance(size, int):
                exprs.append(expr)
                sizes.append(size)
                continue
            sizes += [size // window.stride, window.stride]
            inside = ir.AffineDimExpr.get(window.inside) * window.dilation
            step = ir.AffineExpr.get_floor_div(inside, window.stride)
            exprs += [ir.AffineDimExpr.get(window.out) + step, ir.AffineExpr.get_mod(inside, window.stride)]
        if len(exprs) == len(windows):
            return source, exprs
        return _expanded(source, groups, sizes), exprs


def _expanded(source: ir.Value, groups: list[list[int]], sizes: list[int | ir.Value]) -> ir.Value:
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
    dynamic = [size for size in sizes if isinstance(size, ir.Value)]
    kind = ir.RankedTensorType.get(static, source.type.element_type)
    return tensor.ExpandShapeOp(kind, source, grouped(groups), dynamic, static).result


def _missing(op: ir.Operation, dim: int, window: Window) -> int:
    """How many elements a strided dim lacks to be a multiple of its stride and to hold every index."""
    size = op.operands[0].type.shape[dim]
    maps = named_maps_of(op)
    outputs = _extent(window.out, maps[2], op.operands[2])
    insides = _extent(window.inside, maps[1], op.operands[1])
    last = outputs - 1 + (insides - 1) * window.dilation // window.stride
    blocks = max(-(-size // window.stride), last + 1)
    return blocks * window.stride - size


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


def _channels_last(op: ir.Operation, maps: list[ir.AffineMap]) -> tuple[ir.Value, ir.AffineMap]:
    """The filter with its output channels last: (groups, input channels, window, output channels)."""
    filters = op.operands[1]
    windows = {window.inside for window in map(_window, maps[0].results) if window is not None}
    in_source = {expr.position for expr in maps[0].results if isinstance(expr, ir.AffineDimExpr)}
    in_result = {expr.position for expr in maps[2].results if isinstance(expr, ir.AffineDimExpr)}
    loops = [expr.position for expr in maps[1].results]

    def place(loop: int) -> int:
        if loop in windows:
            return 2
        if loop in in_result:
            return 0 if loop in in_source else 3
        return 1

    order = sorted(range(len(loops)), key=lambda dim: place(loops[dim]))
    if order == list(range(len(loops))):
        return filters, maps[1]
    with op.location, ir.InsertionPoint(op):
        sizes = sizes_of(filters)
        empty = tensor.EmptyOp([sizes[dim] for dim in order], element_type(filters)).result
        read = ir.AffineMap.get(
            len(loops), 0, [ir.AffineExpr.get_dim(order.index(dim)) for dim in range(len(loops))]
        )
        moved = make_copy(filters, empty, read, "transpose", location=op.location, at=ir.InsertionPoint(op))
        exprs = [ir.AffineExpr.get_dim(loops[dim]) for dim in order]
        return moved.results[0], ir.AffineMap.get(maps[1].n_dims, 0, exprs)
