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
predicted to take less time than the best block of the whole (`block_times`), among the numbers of parts
that leave whole steps. Runs before mlopt-hoist: the view of a prepared weight is taken once.

Effect: 64x8192 by 8192x64 in f16 runs on 64 blocks, and 128 for the sum, instead of 8; it moves 3.15 MB
instead of 2.11 (sm_80).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from mlir import ir

from ...dialects.attributes import IN_PARTS, OP, WIDENS
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, Machine, find_machine, machine_of
from ..cpu.functions import hosts_of
from ..domain import Domain
from ..moving.expansions import rests_on_rows
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.divided import can_divide, divide_loop
from ..raising.partial import can_reorder, reduce_twice
from ..scheduling.block_times import LATENCY
from ..scheduling.gpu_products import tensor_product
from ..scheduling.tensor_blocks import SHARED, Product
from ..scheduling.warpgroup_blocks import product_estimates
from ..structured import erase_dead, inputs_of, kinds_of, loop_extents, structured_ops
from ..tiling import contraction
from ..tiling.registry import rule_of

STEP = 64  # elements: whole steps of every block
MOST_DIVIDED = 64
GAIN = 0.9  # of the time of the whole; less is not worth another kernel
SUM_BYTES = 4  # of a partial sum


@dataclass(frozen=True)
class SplitProducts(Pass):
    """Divide products of few blocks along their depth; ``machine``: whose times decide; ``shared``: the bytes
    of shared memory of its multiprocessors; ``warpgroups``: whether it has wgmma.
    """

    name: ClassVar[str] = "mlopt-gpu-split-products"
    machine: str = DEFAULT_GPU
    shared: int = SHARED
    warpgroups: bool = False

    def run(self, op: ir.Operation) -> None:
        """Rewrite the products of each function of the host."""
        machine_of(op, self.machine)  # refuses a name that is none
        for function in hosts_of(op):
            for generic in structured_ops(function):
                product = can_split(generic)
                if product is None:
                    continue
                found = best_parts(product, self.machine, self.shared, self.warpgroups)
                if found is not None and should_split(found):
                    _split(generic, found)
            erase_dead(function)  # views of what was made undivided are no readers


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
    product = tensor_product(domain, domain.nests[0])
    return None if product is None else _as_widened(product, op)


def _as_widened(product: Product, op: ir.Operation) -> Product:
    """With the factor that mlopt-gpu-narrow-weights leaves in narrow memory, if there is one."""
    makers = [defining_op(value, "linalg.generic") for value in inputs_of(op)]
    sizes = [size for maker in makers if maker is not None and (size := WIDENS.get(maker))]
    return replace(product, loose=True, narrow=sizes[0]) if sizes else product


class Parts(NamedTuple):
    """Of a depth; the seconds predicted for products of these parts and their sum, and for the whole."""

    number: int
    seconds: float
    whole: float


def best_parts(product: Product, machine: str, shared: int, warpgroups: bool = False) -> Parts | None:
    """The parts of the depth that are predicted to be the fastest, if it can be divided.

    Blocks are compared for those alone whose sum leaves time for the arithmetic at the peak: none of a
    product that keeps the machine busy.
    """
    whole = product_estimates(product, machine, shared, warpgroups=warpgroups)
    if not whole:
        return None
    known = find_machine(machine)
    flops = 2 * product.rows * product.columns * product.depth * product.count * product.around
    left = GAIN * whole[0].seconds - flops / known.matrix[product.kind]
    numbers = [number for number in range(2, MOST_DIVIDED + 1) if product.depth % (number * STEP) == 0]
    times = {
        number: _seconds(product, number, machine, shared, warpgroups)
        for number in numbers
        if _sum_seconds(product, number, known) < left
    }
    return Parts(*min(times.items(), key=lambda each: each[1]), whole[0].seconds) if times else None


def should_split(parts: Parts) -> bool:
    """Whether they save enough of the time."""
    return parts.seconds < GAIN * parts.whole


def _seconds(product: Product, parts: int, machine: str, shared: int, warpgroups: bool) -> float:
    """The time of the partial products, and of their sum."""
    divided = replace(
        product,
        depth=product.depth // parts,
        count=product.count * parts,
        result_bytes=SUM_BYTES,
        goes_on=False,
    )
    found = product_estimates(divided, machine, shared, warpgroups=warpgroups)
    return found[0].seconds + _sum_seconds(product, parts, find_machine(machine)) if found else float("inf")


def _sum_seconds(product: Product, parts: int, machine: Machine) -> float:
    """The time of the sum of so many partial products."""
    size = SUM_BYTES * product.count * parts * product.rows * product.columns
    rate = machine.cache_bandwidth if size < machine.cache / 2 else machine.bandwidth
    return machine.launch + LATENCY + size / rate


def _split(op: ir.Operation, parts: Parts) -> None:
    """Make the outer part of the reduced loop one of the result, and add it up in a second op."""
    (reduced,) = (loop for loop, kind in enumerate(kinds_of(op)) if kind == "reduction")
    extent = loop_extents(op)[reduced]
    assert extent is not None, "can_split has asked"
    # What a product makes is viewed, not what comes of it: the element-wise work stays with the product.
    divided = divide_loop(op, reduced, extent // parts.number, stays=rests_on_rows)
    total = reduce_twice(divided, [reduced], outermost=True)
    OP.set(total, "sum")
    made = defining_op(inputs_of(total)[0], "linalg.generic")
    assert made is not None, "what is added up is made in parts"
    one, other = (f"{seconds * 1e6:.1f} µs" for seconds in (parts.seconds, parts.whole))
    note = f"{parts.number} parts of its depth and their sum take {one}, all of it at once {other}"
    IN_PARTS.set(made, note)
