"""Products of bytes and of TF32 read the weights of a linear layer as they lie, and no copy is kept of them.

Before::

    %t = generic {transpose} (k, n) ins(%w at (n, k) : 4096x4096xf32)
    %r = generic {matmul} (m, n | k) ins(%x at (m, k), %t at (k, n))

After::

    %r = generic {matmul} (m, n | k) ins(%x at (m, k), %w at (n, k))

wgmma has factors of one and of four bytes along the depth alone, and ldmatrix turns elements of two bytes.
Legal where the weights are a matrix and the one summed loop is the last dim of both factors. Done for 16 rows
or more, of which tensor cores make a product. Runs before mlopt-hoist, which would turn the weights once, and
before mlopt-gpu-split-products, whose predictions are about the order that there is.

Effect on 4096x4096x4096 in TF32: by wgmma on sm_90a, which the cost model predicts to take 382 µs, not 578;
on sm_80 459 instructions of SASS in the loop, not 497. 64 MB of weights are not held twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..base import Pass
from ..cpu.functions import hosts_of
from ..hoist import made_of_weights
from ..structured import inits_of, inputs_of
from ..weights_in_place import read_weights, rows_beside
from .layouts.instructions import instruction_for
from .layouts.warpgroup import TURNABLE

LEAST_ROWS = 16  # of an instruction


@dataclass(frozen=True)
class WeightsInPlace(Pass):
    """Let products read weights along the depth; ``tf32``: whether factors of f32 are rounded for them."""

    name: ClassVar[str] = "mlopt-gpu-weights-in-place"
    tf32: bool = False

    def run(self, op: ir.Operation) -> None:
        """Rewrite the products of each function of the host."""
        for function in hosts_of(op):
            weights = made_of_weights(function)
            read_weights(function, weights, lambda each, number: should_read(each, number, self.tf32))


def should_read(op: ir.Operation, number: int, tf32: bool) -> bool:
    """Whether tensor cores make the product, of elements that cannot be turned on their way there."""
    one, other = (value.type.element_type for value in inputs_of(op))
    found = instruction_for(one, inits_of(op)[0].type.element_type, tf32) if one == other else None
    if found is None or found.element_bytes == TURNABLE:
        return False
    rows = rows_beside(op, number)
    return rows is None or rows >= LEAST_ROWS
