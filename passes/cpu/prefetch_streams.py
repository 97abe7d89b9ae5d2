"""Loops that store past the caches ask for what they will read a page later.

    scf.for %j = … step 64 {
      %v = vector.load %x[%j] : memref<16777216xf32>, vector<64xf32>
      …
      vector.store %y, %out[%j] {nontemporal = true, alignment = 64}
    }
  ->
      %ahead = arith.minsi (%j + 1024), 16777152
      memref.prefetch %x[%ahead], read, locality<3>, data        // and the three lines after it

Hardware that looks ahead stops where a page ends, and does worst where inputs and results lie at the same
place of their pages. Always legal: nothing is read, and what is asked for lies in the buffer. Done for one
large argument in long rows, which the kernel goes through once (`strips/prefetch_row.py` looks after shorter
ones). Not where elements have two bytes, whose conversions memory does not wait for (1.00 of the time), nor
for several arguments, of which hardware has as much under way as it can (x + y takes 1.3 times as long).

On one thread of a Zen 4, of f32 4096×4096: relu(x)·0.5+1 takes 0.93 of the time (of 2048×2048 0.94),
x / x.sum() 0.95, sigmoid(relu(x)·2+1) 0.98, x / s of a scalar, which waits for its divisions, 1.03. By
themselves such loops take 0.86 where addresses differ by 16 bytes in their pages, and 0.97 where by 2 KB. On
two threads, which have all that memory gives, 0.97 to 1.03.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, memref

from ...dialects.attributes import KERNEL
from ..base import Pass
from ..constants import index_constant
from ..operations import block_ops, defining_op, ops_named
from .arena_layout import element_bytes
from .copies import is_memcpy
from .functions import defined_functions
from .stream_stores import LARGE, LINE

AHEAD = 4096  # bytes: 2 to 16 KB do as well, 512 do nothing
SHORTEST = 4 * AHEAD  # bytes of a row: the start of each is asked for by nobody
NARROWEST = 4  # bytes of an element
LOCALITY = 3  # of memref.prefetch: into L1; into L2 it takes 1.3 times as long


@dataclass(frozen=True)
class CpuPrefetchStreams(Pass):
    """Ask ahead for what loops with non-temporal stores read."""

    name: ClassVar[str] = "mlopt-cpu-prefetch-streams"

    def run(self, op: ir.Operation) -> None:
        """Add prefetches to the loops of each kernel where they pay."""
        for kernel in defined_functions(op):
            if not KERNEL.get(kernel):
                continue
            for loop in ops_named(kernel, "scf.for"):
                inside = block_ops(loop)
                if not any(_is_streamed(each) for each in inside):
                    continue
                loads = [
                    each for each in inside if each.name == "vector.load" and _is_large(each.operands[0])
                ]
                if len(loads) == 1 and can_prefetch(loads[0], loop) and should_prefetch(loads[0]):
                    _prefetch(loads[0])


def can_prefetch(load: ir.Operation, loop: ir.Operation) -> bool:
    """Whether the loop goes along rows of a contiguous argument: its variable is in the last index alone."""
    buffer, *others, last = load.operands
    kind = buffer.type
    if not isinstance(buffer, ir.BlockArgument) or not is_memcpy(kind, kind):
        return False
    walked = loop.opview.induction_variable
    sum_ = defining_op(last, "arith.addi")
    terms = list(sum_.operands) if sum_ else [last]
    fixed = [*others, *(each for each in terms if each != walked)]
    return len(fixed) == len(others) + len(terms) - 1 and all(_is_outside(each, loop) for each in fixed)


def should_prefetch(load: ir.Operation) -> bool:
    """Whether long rows of wide elements are read here, and nowhere else but where strips are not full."""
    buffer = load.operands[0]
    element = element_bytes(buffer.type.element_type)
    others = [use.owner.operation.name for use in buffer.uses if use.owner.operation != load]
    is_long = element >= NARROWEST and buffer.type.shape[-1] * element >= SHORTEST
    return is_long and all(name == "vector.maskedload" for name in others)


def _is_large(buffer: ir.Value) -> bool:
    kind = buffer.type
    return kind.has_static_shape and prod(kind.shape) * element_bytes(kind.element_type) >= LARGE


def _is_streamed(op: ir.Operation) -> bool:
    return op.name == "vector.store" and "nontemporal" in op.attributes


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether ``value`` is made before the loop: what is in it is made in its block."""
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    return bool(block != loop.regions[0].blocks[0])


def _prefetch(load: ir.Operation) -> None:
    buffer, *indices = load.operands
    element, lanes = element_bytes(buffer.type.element_type), load.results[0].type.shape[-1]
    with ir.InsertionPoint(load), load.location:
        end = index_constant(buffer.type.shape[-1] - lanes)
        ahead = arith.minsi(arith.addi(indices[-1], index_constant(AHEAD // element)), end)
        for first in range(0, lanes, LINE // element):
            line = arith.addi(ahead, index_constant(first)) if first else ahead
            memref.PrefetchOp(buffer, [*indices[:-1], line], False, LOCALITY, True)
