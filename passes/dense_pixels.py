"""`mlopt-dense-pixels`: a convolution that skips pixels reads a copy without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import tensor

from ..dialects.attributes import STORED
from ..dialects.decisions import Decision
from .base import Pass
from .costs.cost import Cost
from .costs.count import bytes_of_element
from .costs.machine import DEFAULT_CPU, machine_of
from .hoist import made_of_weights, weights_factor
from .operations import plain_functions
from .rewrites import note_rewrites, rewrite_of, seconds_of
from .scheduling.cpu import window_lanes
from .structured import (
    element_type,
    indexing_maps,
    kinds_of,
    loop_extents,
    make_copy,
    maps_of,
    structured_ops,
    word_for,
)

FEWEST_STRIPS = 4  # of columns, each of which reads all pixels


@dataclass(frozen=True)
class DensePixels(Pass):
    """Copy the pixels that a convolution of 1x1 with a stride reads, so that they lie side by side.

    ::

        %c = generic {conv2d} (o, h, w | k) ins(%x at (k, h, 0, w, 0), %w at (k, o))
      ->
        %p = generic {pixels} (k, h, w) ins(%x at (k, h, 0, w, 0)) : tensor<64x28x28xf32>
        %c = generic {conv2d} (o, h, w | k) ins(%p at (k, h, w), %w at (k, o))

    Run it before mlopt-pack-weights, for which the convolution is a plain product then, and before
    mlopt-fuse, which leaves the copy in memory (``mlopt.stored``): height and width become one dim of the
    product (mlopt-collapse-dims), few register tiles of which are not full, and a strip of columns reads half
    the lines or a quarter. Legal where one factor is made of weights, and each loop of the other, of known
    size, is a dim of its own beside those of which one place is read. Done where ``vector-bits`` make four
    strips of the columns: each reads all pixels.

    One thread of a Zen 3 core, in microseconds: 64 to 128 channels of 56x56 245 to 197 (ONNX Runtime 229),
    256 to 512 of 14x14 218 to 165 (190), 128 to 256 of 28x28 199 to 197 (197), 64 to 64 of 56x56 121 to 105
    (137); to 32 channels, which is left alone, a copy took 88 for 62.
    """

    name: ClassVar[str] = "mlopt-dense-pixels"
    vector_bits: int = 256

    def run(self, op: ir.Operation) -> None:
        decisions: list[Decision] = []
        for function in plain_functions(op):
            decisions += _copy_all(function, self.vector_bits)
        note_rewrites(op, self.name, decisions)


def _copy_all(function: ir.Operation, vector_bits: int) -> list[Decision]:
    weights = made_of_weights(function)
    decisions = []
    for op in structured_ops(function):
        weight = weights_factor(op, weights)
        if weight is None or not can_copy(op, 1 - weight):
            continue
        loops = _loops_of(maps_of(op)[1 - weight])
        copied = Cost(2 * prod(_known(op, loops)) * bytes_of_element(op.operands[1 - weight]))
        reason = should_copy(op, loops, vector_bits)
        seconds = seconds_of(copied, machine_of(function.parent, DEFAULT_CPU))
        word = f"pixels of {word_for(op)}"
        decisions.append(rewrite_of(op, reason or "", -copied.bytes, -seconds, word=word))
        if reason is None:
            _copy(op, 1 - weight, loops)
    return decisions


def can_copy(op: ir.Operation, data: int) -> bool:
    """Whether operand ``data`` has dims of which one place is read, and else one for each of its loops."""
    exprs = list(maps_of(op)[data].results)
    loops = _loops_of(maps_of(op)[data])
    plain = sum(isinstance(expr, ir.AffineDimExpr) for expr in exprs)
    places = sum(isinstance(expr, ir.AffineConstantExpr) for expr in exprs)
    if not places or plain + places < len(exprs) or len(set(loops)) < len(loops):
        return False
    return all(extent is not None for extent in loop_extents(op))


def should_copy(op: ir.Operation, loops: Sequence[int], vector_bits: int) -> str | None:
    """Why no copy pays: ``loops`` are those of what would be copied."""
    others = [loop for loop, kind in enumerate(kinds_of(op)) if kind == "parallel" and loop not in loops]
    columns, strip = prod(_known(op, others)), window_lanes(vector_bits)
    if columns < FEWEST_STRIPS * strip:
        return f"{columns} columns are fewer than {FEWEST_STRIPS} strips of {strip}, each of which reads them"
    return None


def _copy(op: ir.Operation, data: int, loops: Sequence[int]) -> None:
    """Let ``op`` read a copy of operand ``data`` with a dim for each of its ``loops``."""
    maps, source = maps_of(op), op.operands[data]
    own = [ir.AffineExpr.get_dim(at) for at in range(len(loops))]
    with op.location, ir.InsertionPoint(op):
        places = {loop: own[at] for at, loop in enumerate(loops)}
        read = [
            places[expr.position] if isinstance(expr, ir.AffineDimExpr) else expr
            for expr in maps[data].results
        ]
        empty = tensor.EmptyOp(_known(op, loops), element_type(source)).result
        at = ir.InsertionPoint(op)
        where = ir.AffineMap.get(len(loops), 0, read)
        copy = make_copy(source, empty, where, "pixels", location=op.location, at=at)
        STORED.set(copy, f"each strip of columns of {word_for(op)} reads its pixels side by side")
        maps[data] = ir.AffineMap.get(maps[data].n_dims, 0, [ir.AffineExpr.get_dim(loop) for loop in loops])
        op.operands[data] = copy.results[0]
        op.attributes["indexing_maps"] = indexing_maps(maps)


def _loops_of(where: ir.AffineMap) -> list[int]:
    """The loops that are dims of what is read, in their order."""
    return [expr.position for expr in where.results if isinstance(expr, ir.AffineDimExpr)]


def _known(op: ir.Operation, loops: Sequence[int]) -> list[int]:
    extents = loop_extents(op)
    return [extent for loop in loops if (extent := extents[loop]) is not None]
