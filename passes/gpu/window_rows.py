"""Convolutions of few channels on tensor cores read a row of their window at once.

Before, of an image of 3 channels, padded, whose dims are divided by a stride of 2::

    %c = generic {conv2d} (n, o, i, j | c, k, l)
        ins(%p at (n, c, i + (k + 1) floordiv 2, (k + 1) mod 2, j + (l + 1) floordiv 2, (l + 1) mod 2),
            %w at (c, k, l, o) : tensor<3x7x7x64xbf16>) -> tensor<32x64x112x112xf32>

After, 7 steps of 24 products instead of 49 of 3::

    %r = generic {rows} (n, h, g, j, l, c) -> tensor<32x115x2x112x8x3xbf16>
        l < 7 ? %p at (n, c, h, g, j + (l + 1) floordiv 2, (l + 1) mod 2) : 0
    %s = collapse_shape %r : … into tensor<32x115x2x112x24xbf16>
    %v = the same of %w, with zeros: tensor<7x24x64xbf16>
    %c = generic {conv2d} (n, o, i, j | k, d)
        ins(%s at (n, i + (k + 1) floordiv 2, (k + 1) mod 2, j, d), %v at (k, d, o))

A row of the window and its channels lie side by side then, whole pieces of 16 bytes that cp.async copies some
steps ahead, where elements of 3 channels come through registers one by one. What fills a piece up is zero in
both factors: an infinity beside a window stays outside of it.

Legal for tensors of known sizes and convolutions of one group, padded with zeros or not at all. Done where
windows overlap, channels are no multiple of 8, and the copy of the rows and the convolution behind it are
predicted to take less time (`block_times`). Runs before mlopt-gpu-channels-last, which turns the result for
what comes next, and before mlopt-hoist, which takes the weights to @prepare.

Effect: ResNet's first layer with bias and relu, 32 images of 3x224x224 in bf16: 86 µs are predicted behind
a copy of 27, and 537 without (an A100; no GPU was there). Its loop has 133 instructions for 32 products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.decisions import Decision
from ..base import Pass
from ..constants import is_zero, scalar_constant
from ..costs.machine import DEFAULT_GPU, machine_of
from ..cpu.functions import hosts_of
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..rewrites import note_rewrites, rewrite_of
from ..scheduling.copied_images import Times, times_of
from ..scheduling.tensor_blocks import SHARED
from ..structured import (
    elements_of,
    erase_dead,
    inputs_of,
    kinds_of,
    label_of,
    loop_extents,
    maps_of,
    structured_ops,
)
from ..tiling.analysis import loops_in
from ..tiling.pads import fill_of_pad
from .copied_rows import Row, copy_rows, loops_of, shape_of
from .layouts.access import WIDE

HALF = 2  # bytes of an element
PIECE = WIDE // HALF  # elements that are copied at once


@dataclass(frozen=True)
class WindowRows(Pass):
    """Copy the rows of windows of few channels; ``machine``: whose times decide; ``shared``: the bytes of
    shared memory of its multiprocessors.
    """

    name: ClassVar[str] = "mlopt-gpu-window-rows"
    machine: str = DEFAULT_GPU
    shared: int = SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite each function of the host."""
        machine_of(op, self.machine)  # refuses a name that is none
        decisions = list[Decision]()
        for function in hosts_of(op):
            for generic in structured_ops(function):
                row = can_copy(generic)
                times = None if row is None else times_of_rows(generic, row, self.machine, self.shared)
                if row is None or times is None:
                    continue
                told = times.told("the rows of its window side by side")
                decisions.append(rewrite_of(generic, told, 0, times.saved))
                if should_copy(times):
                    copy_rows(generic, row)
            erase_dead(function)
        note_rewrites(op, self.name, decisions)


def can_copy(op: ir.Operation) -> Row | None:
    """The row of a convolution's window; None if it is no convolution of few channels in half floats."""
    if not (label_of(op) or "").startswith("conv") or not is_contraction(op):
        return None
    image, weights = inputs_of(op)
    if any(str(each.type.element_type) not in ("f16", "bf16") for each in (image, weights)):
        return None
    if not all(value.type.has_static_shape for value in op.operands) or not _has_zeros_beside(image):
        return None
    read, own, written = maps_of(op)
    if not all(isinstance(expr, ir.AffineDimExpr) for where in (own, written) for expr in where.results):
        return None
    extents, kinds, filters = loop_extents(op), kinds_of(op), loops_of(own)
    dims = [loops_in(expr) for expr in read.results]
    made = [loop for loop in filters if kinds[loop] == "parallel"]
    channels = [loop for loop in filters if loop not in made and _dims_of(dims, loop) == [{loop}]]
    columns = [loop for loop in loops_of(written) if any(len(dim) > 1 for dim in _dims_of(dims, loop))]
    if len(channels) != 1 or not columns or any(_dims_of(dims, loop) for loop in made):
        return None
    column = columns[-1]
    places = {loop for dim in _dims_of(dims, column) for loop in dim} - {column}
    if len(places) != 1 or not places <= {*filters}:
        return None
    row = {column, *places, *channels}
    (place,), (channel,) = places, channels
    size, wide = extents[place] or 0, extents[channel] or 0
    if not all(dim <= row for dim in _dims_of(dims, place)) or size < 2 or wide % PIECE == 0:
        return None
    if not _overlap(read, column, place, size):
        return None
    kept = tuple(dim for dim, loops in enumerate(dims) if not loops & row)
    outer = tuple(loop for loop in filters if loop not in (*row, *made))
    return Row(column, place, channel, filled(size, wide), kept, outer, tuple(made))


def filled(places: int, channels: int) -> tuple[int, int]:
    """The places and channels, no fewer, that make whole pieces of the fewest elements; then few places."""
    found = [
        (high, wide)
        for high in range(places, places + PIECE)
        for wide in range(channels, channels + PIECE)
        if high * wide % PIECE == 0
    ]
    return min(found, key=lambda each: (prod(each), each))


def times_of_rows(op: ir.Operation, row: Row, machine: str, shared: int) -> Times | None:
    """What a convolution is predicted to take with its rows copied, and as it is."""
    image, extents = inputs_of(op)[0], loop_extents(op)
    size = HALF * (elements_of(image) + prod(shape_of(op, row)))
    around = prod(extents[loop] or 1 for loop in row.outer)
    return times_of(op, size, machine, shared, prod(row.filled), around)


def should_copy(times: Times) -> bool:
    """Whether a convolution of rows and their copy take less time than one without."""
    return times.saved > 0


def _has_zeros_beside(image: ir.Value) -> bool:
    """Whether an image is padded with zeros, or not at all."""
    pad = defining_op(image, "tensor.insert_slice")
    fill = None if pad is None else fill_of_pad(pad)
    return fill is None or is_zero(scalar_constant(fill.operands[0]))


def _overlap(read: ir.AffineMap, column: int, place: int, places: int) -> bool:
    """Whether a window has the first place of one behind it; patches lie apart."""

    def at(loop: int, number: int) -> list[ir.AffineExpr]:
        where = [ir.AffineConstantExpr.get(number if each == loop else 0) for each in range(read.n_dims)]
        return [expr.compose(ir.AffineMap.get(0, 0, where)) for expr in read.results]

    inside = [at(place, number) for number in range(1, places)]
    return any(at(column, number) in inside for number in range(1, places + 1))


def _dims_of(dims: Sequence[set[int]], loop: int) -> list[set[int]]:
    """The dims that have a loop, each with all of its loops."""
    return [dim for dim in dims if loop in dim]
