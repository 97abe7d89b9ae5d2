"""`mlopt-spread-planes`: a convolution whose channels lie whole pages apart reads a copy where they don't."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from math import gcd, prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import linalg, tensor

from ..dialects.attributes import STORED
from ..dialects.decisions import Decision
from .base import Pass
from .constants import constant
from .costs.cost import Cost
from .costs.count import bytes_of, bytes_of_element
from .costs.machine import DEFAULT_CPU, machine_of
from .hoist import made_of_weights, weights_factor
from .operations import defining_op, plain_functions
from .raising.slices import insert
from .rewrites import note_rewrites, rewrite_of, seconds_of
from .structured import (
    DYNAMIC,
    element_type,
    erase_dead,
    kinds_of,
    make_copy,
    maps_of,
    sizes_of,
    structured_ops,
    word_for,
)
from .tiling.pads import fill_of_pad
from .tiling.vectors import zero_of

# Lines so many bytes apart share a set of the first cache, which has room for 8 to 12 of them.
PAGE = 4096
FEWEST_CHANNELS = 16


@dataclass(frozen=True)
class SpreadPlanes(Pass):
    """Copy an image, padded, to where its channels begin in all sets of the caches, not in one.

    ::

        %p = tensor.insert_slice %x into %zeros[0, 1, 1] : tensor<64x32x32xf32> into tensor<64x34x34xf32>
        %c = generic {conv2d} (o, h, w | c, kh, kw) ins(%p at (c, h + kh, w + kw), %w)
      ->
        %s = generic {pixels} (c, h, w) ins(%p at (c, h, w)) : tensor<64x34x34xf32>
        %c = generic {conv2d} (o, h, w | c, kh, kw) ins(%s at (c, h + kh, w + kw), %w)

    A window reads one line of each channel, turn by turn. Where an image has 32x32, 64x64 or 96x96 pixels
    these lines share sets, and drive each other out. The rows of the copy are longer than the padding needs
    where its channels would be some large power of two apart, too, as of 62x62 pixels with a padding of 1.

    Run it before mlopt-pack-weights and mlopt-fuse, which leaves the copy in memory (``mlopt.stored``).
    Legal where one factor is made of weights, and the other is read by a window, with one summed dim outside
    of it, from which on sizes are known. Done for 16 channels.

    One thread of a Zen 3 core, in milliseconds: 64 channels of 32x32 by 3x3 2.02 to 0.96, 128 of them 7.5 to
    3.3, 256 29.6 to 14.3; 32 of 64x64 1.45 to 0.86, 64 5.8 to 3.9 (by 3x3/2 3.6 to 2.1), 64 of 96x96 11.5 to
    7.9; 64 of 128x128 to 3 of them 5.2 to 3.0; 8 channels gain nothing, nor do those 1024 bytes apart, of
    16x16 or 48x48.
    """

    name: ClassVar[str] = "mlopt-spread-planes"

    def run(self, op: ir.Operation) -> None:
        decisions: list[Decision] = []
        for function in plain_functions(op):
            decisions += _spread_all(function)
        note_rewrites(op, self.name, decisions)


def _spread_all(function: ir.Operation) -> list[Decision]:
    weights, machine = made_of_weights(function), machine_of(function.parent, DEFAULT_CPU)
    spread: dict[ir.Value, ir.Value] = {}
    decisions = []
    for op in structured_ops(function):
        weight = weights_factor(op, weights)
        channel = None if weight is None else channel_of(op, 1 - weight)
        if weight is None or channel is None:
            continue
        read = op.operands[1 - weight]
        reason = should_spread(op, 1 - weight, channel)
        copied = Cost(2 * bytes_of(read))
        seconds = seconds_of(copied, machine)
        decisions.append(
            rewrite_of(op, reason or "", -copied.bytes, -seconds, word=f"planes of {word_for(op)}")
        )
        if reason is None:
            spread[read] = spread.get(read) or _spread(op, read, channel)
            op.operands[1 - weight] = spread[read]
    erase_dead(function)  # pads that nobody reads any more
    return decisions


def channel_of(op: ir.Operation, data: int) -> int | None:
    """The one summed dim of operand ``data`` that is not the window's and has planes; None without one."""
    exprs, kinds = list(maps_of(op)[data].results), kinds_of(op)
    plain = [dim for dim, expr in enumerate(exprs) if isinstance(expr, ir.AffineDimExpr)]
    summed = [dim for dim in plain if kinds[exprs[dim].position] == "reduction"]
    is_window = len(plain) < len(exprs)
    if not is_window or len(summed) != 1 or summed[0] == len(exprs) - 1:
        return None
    return None if DYNAMIC in op.operands[data].type.shape[summed[0] :] else summed[0]


def should_spread(op: ir.Operation, data: int, channel: int) -> str | None:
    """Why no copy of operand ``data`` pays, whose dim ``channel`` is summed."""
    read = op.operands[data]
    shape = _unpadded(read)[0].type.shape
    apart = prod(shape[channel + 1 :]) * bytes_of_element(read)
    if apart % PAGE:
        return f"its channels are {apart} bytes apart, not whole pages of {PAGE}"
    if shape[channel] < FEWEST_CHANNELS:
        return f"{shape[channel]} channels stay in a cache, fewer than {FEWEST_CHANNELS}"
    return None


def _unpadded(value: ir.Value) -> tuple[ir.Value, list[int], ir.Value | None]:
    """What a pad with a constant has inside, where, and the constant; ``value`` itself if no pad makes it."""
    pad = defining_op(value, "tensor.insert_slice")
    fill = None if pad is None else fill_of_pad(pad)
    if pad is None or fill is None:
        return value, [0] * value.type.rank, None
    return pad.operands[0], list(pad.opview.static_offsets), fill.operands[0]


def _spread(op: ir.Operation, read: ir.Value, channel: int) -> ir.Value:
    """A copy of ``read``, and of more padding behind its rows if need be."""
    shape, size = read.type.shape, bytes_of_element(read)
    rows = prod(shape[channel + 1 : -1])
    row = next(width for width in count(shape[-1]) if gcd(rows * width * size, PAGE) <= PAGE // 16)
    inside, starts, padding = _unpadded(read)
    at, element = ir.InsertionPoint(op), element_type(read)
    with op.location, at:
        sizes = [*sizes_of(read)[:-1], row]
        number = padding or constant(zero_of(element))
        wide = linalg.fill(number, outs=[tensor.EmptyOp(sizes, element).result])
        whole = insert(inside, wide, starts, sizes_of(inside), "pad")
        same, empty = ir.AffineMap.get_identity(len(sizes)), tensor.EmptyOp(sizes, element).result
        copy = make_copy(whole, empty, same, "pixels", location=op.location, at=at)
        STORED.set(copy, f"{word_for(op)} reads channels from other sets of the caches")
        return copy.results[0]
