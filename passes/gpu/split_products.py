"""Products of few blocks are divided along their depth: partial products, and a sum of those.

Before, 64 blocks of 64 x 64, each of which adds up 8192 products, on a chip of 108 multiprocessors::

    %r = generic (m, n | k reduced) ins(%a : 512x8192xbf16, %b : 8192x512xbf16) -> tensor<512x512xf32>

After, four times as many blocks, each with a quarter of the depth::

    %p = generic (s, m, n | k reduced) ins(expand_shape %a : 512x4x2048xbf16, %b : 4x2048x512xbf16)
        -> tensor<4x512x512xf32>
    %r = generic (m, n | s reduced) ins(%p) -> tensor<512x512xf32>

What is done to the result is fused with the sum (mlopt-fuse). Parts are added up one after the other, in the
accumulator's type: the same numbers at each call. Legal for sums of products in any order, of a depth that
is one dim of both factors. Done for tensor cores, where the best block of the parts and the sum's kernel are
predicted to take less time than the best block of the whole (`tensor_blocks`), among the numbers of parts
that leave whole steps. Runs before mlopt-hoist: the view of a prepared weight is taken once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import KERNEL, OP
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, find_machine, machine_of
from ..domain import Domain
from ..raising.bodies import is_contraction
from ..raising.divided import can_divide, divide_loop
from ..raising.partial import can_reorder, reduce_twice
from ..scheduling.gpu_products import tensor_product
from ..scheduling.tensor_blocks import LATENCY, SHARED, Product, estimates
from ..structured import kinds_of, loop_extents, structured_ops
from ..tiling import contraction
from ..tiling.registry import rule_of

STEP = 64  # elements: whole steps of every block
MOST_PARTS = 64
GAIN = 0.9  # of the time of the whole; less is not worth another kernel
SUM_BYTES = 4  # of a partial sum


@dataclass(frozen=True)
class SplitProducts(Pass):
    """Divide products of few blocks along their depth; ``machine``: whose times decide; ``shared``: the bytes
    of shared memory of its multiprocessors.
    """

    name: ClassVar[str] = "mlopt-gpu-split-products"
    machine: str = DEFAULT_GPU
    shared: int = SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite the products of each function of the host."""
        machine_of(op, self.machine)  # refuses a name that is none
        for function in [each.operation for each in op.regions[0].blocks[0].operations]:
            if function.name == "func.func" and function.regions[0].blocks and not KERNEL.get(function):
                for generic in structured_ops(function):
                    product = can_split(generic)
                    parts = 1 if product is None else parts_of(product, self.machine, self.shared)
                    if parts > 1:
                        _split(generic, parts)


def can_split(op: ir.Operation) -> Product | None:
    """The product that an op is, if it is one for tensor cores with a single reduced loop, of any order."""
    extents = loop_extents(op)
    reduced = [loop for loop, kind in enumerate(kinds_of(op)) if kind == "reduction"]
    if len(reduced) != 1 or None in extents or 0 in extents or not is_contraction(op):
        return None
    if not can_divide(op, reduced[0]) or not can_reorder(op):
        return None
    domain = Domain.build([op], list(op.results))
    if isinstance(domain, str) or rule_of(domain.nests[0]) is not contraction:
        return None
    return tensor_product(domain, domain.nests[0])


def parts_of(product: Product, machine: str, shared: int) -> int:
    """Into how many parts the depth is worth dividing."""
    whole = estimates(product, machine, shared)
    numbers = [number for number in range(2, MOST_PARTS + 1) if product.depth % (number * STEP) == 0]
    times = {number: _seconds(product, number, machine, shared) for number in numbers}
    best = min(times, key=lambda number: times[number], default=1)
    return best if whole and best > 1 and times[best] < GAIN * whole[0].seconds else 1


def _seconds(product: Product, parts: int, machine: str, shared: int) -> float:
    """The time of the partial products, and of their sum."""
    divided = replace(
        product, depth=product.depth // parts, count=product.count * parts, result_bytes=SUM_BYTES
    )
    found = estimates(divided, machine, shared)
    known = find_machine(machine)
    size = SUM_BYTES * divided.count * product.rows * product.columns
    rate = known.cache_bandwidth if size < known.cache / 2 else known.bandwidth
    return found[0].seconds + known.launch + LATENCY + size / rate if found else float("inf")


def _split(op: ir.Operation, parts: int) -> None:
    """Make the outer part of the reduced loop one of the result, and add it up in a second op."""
    (reduced,) = (loop for loop, kind in enumerate(kinds_of(op)) if kind == "reduction")
    extent = loop_extents(op)[reduced]
    assert extent is not None, "can_split has asked"
    OP.set(reduce_twice(divide_loop(op, reduced, extent // parts), [reduced], outermost=True), "sum")
