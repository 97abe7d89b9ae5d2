"""`mlopt-cpu-pad-windows`: a task copies what its window reads, with the padding around it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import KERNEL
from ..base import Pass
from ..domain import Domain
from ..operations import ops_named
from ..scheduling.cpu import WIDE_BITS, stages_problem
from ..structured import has_one_use, kinds_of, loop_extents, make_copy, make_empty
from ..tile import kernel_domain
from ..tiling import contraction
from ..tiling.pads import fill_of_pad
from ..tiling.registry import rule_of
from ..tiling.stages import Stage, bits_of
from .strips.nest import REGISTERS

# Loads of a strip, one of each position of a window by its registers (twice so many, of every other column):
# LLVM writes out the loops of so many, with masks that it knows. (5x5 of 16 columns on AVX2, but not of 20.)
WRITTEN_OUT = 64


@dataclass(frozen=True)
class PadWindows(Pass):
    """Let each task copy the rows that its large window reads, zeros around them, into scratch of its own.

    ::

        %p = tensor.insert_slice %x into (linalg.fill %zero)[0, 3, 3] : tensor<8x56x56xf32> into …
        %y = linalg.generic {depthwise_conv2d} (c, h, w | i, j) ins(%p at (c, h + i, w + j), %k at (c, i, j))
      ->
        %s = linalg.generic {pixels} ins(%x)
        %p = tensor.insert_slice %s into (linalg.fill %zero)[0, 3, 3] : tensor<8x56x56xf32> into …
        %y = linalg.generic {depthwise_conv2d} (c, h, w | i, j) ins(%p at (c, h + i, w + j), %k at (c, i, j))

    What is computed before a window is a stage of its task (`passes/tiling/stages.py`), padded when it is
    stored. Without one each position of the window compares where its lanes lie with the image, and masks
    its loads, which takes registers of 256 bits some 30 instructions for the two that add a product.

    Run it on kernels, right before mlopt-schedule: canonicalize would take the copy for what it is. Legal
    where the kernel's argument is padded with a constant for one window that is not a contraction, and all
    sizes are known. Done for ``vector-bits`` below 512 (masks of AVX-512 are operands), where a strip
    has more loads than LLVM writes out, and the rows fit a task's scratch.

    One thread of a Zen 3 core, microseconds: 96 channels by themselves, 7x7 of 56x56 2226 to 669 (eager 671),
    7x7 of 28x28 930 to 177 (226), 5x5 of 28x28 498 to 107 (182), 5x5/2 of 56x56 449 to 150 (234), 3x3/2
    of 112x112 514 to 338 (514); 3x3 of 56x56, which is left alone, 176, and 186 (303). Maxima of 5x5 of 20x20
    of 256 channels 957 to 194.
    """

    name: ClassVar[str] = "mlopt-cpu-pad-windows"
    vector_bits: int = 256

    def run(self, op: ir.Operation) -> None:
        if self.vector_bits >= WIDE_BITS:
            return
        for function in ops_named(op, "func.func"):
            for pad in ops_named(function, "tensor.insert_slice") if KERNEL.get(function) else ():
                if can_copy(pad):
                    _copy(function, pad, self.vector_bits)


def can_copy(pad: ir.Operation) -> bool:
    """Whether ``pad`` puts zeros, or another constant, around an argument for one window alone."""
    if fill_of_pad(pad) is None or not has_one_use(pad.results[0]):
        return False
    source, (use,) = pad.operands[0], pad.results[0].uses
    reader = use.owner.operation
    is_window = reader.name == "linalg.generic" and "reduction" in kinds_of(reader)
    is_known = is_window and None not in loop_extents(reader)
    return is_known and isinstance(source.owner, ir.Block) and bool(source.type.has_static_shape)


def _is_staged(domain: Domain, value: ir.Value, vector_bits: int) -> bool:
    """Whether the window of a kernel should read ``value`` from scratch, and tasks have room for it."""
    stage = domain.stages.get(value)
    return stage is not None and should_copy(stage, vector_bits) and stages_problem(domain) is None


def should_copy(stage: Stage, vector_bits: int) -> bool:
    """Whether a window has more loads than are written out, each for a pixel and no other of its channel."""
    reader, row = stage.reader, stage.access.indices[-1]
    own = [loop for index in stage.access.indices if index.plain for loop in index.loops]
    if rule_of(reader) is contraction or {*own} & {*reader.reductions} or not reader.writes[0].indices:
        return False
    positions = prod(reader.extents[loop] or 1 for loop in reader.reductions)
    columns = prod(reader.extents[loop] or 1 for loop in reader.writes[0].indices[-1].loops)
    native = vector_bits // max(bits_of(stage.access.value.type.element_type), 8)
    apart = row.stride if row.loops else stage.access.value.type.shape[-1]  # of neighbours in a row
    return positions * min(-(-columns // native), REGISTERS) * apart > WRITTEN_OUT


def _copy(function: ir.Operation, pad: ir.Operation, vector_bits: int) -> None:
    """Have ``pad`` read a copy, if that pays and tasks have room for it."""
    source, at = pad.operands[0], ir.InsertionPoint(pad)
    empty = make_empty(source, location=pad.location, at=at)
    with pad.location:
        same = ir.AffineMap.get_identity(source.type.rank)
    copy = make_copy(source, empty, same, "pixels", location=pad.location, at=at)
    pad.operands[0] = copy.results[0]
    domain = kernel_domain(function)
    if isinstance(domain, str) or not _is_staged(domain, copy.results[0], vector_bits):
        pad.operands[0] = source
        copy.erase()
        empty.owner.erase()
