"""Products of few rows widen weights where they read them: memory keeps, and a call moves, the narrow ones.

Before, of a weight of bytes that mlopt-hoist would make one of bf16, once, twice as large::

    %v = generic {cast} (n, k) ins(%w : 4096x4096xi8) -> tensor<4096x4096xbf16>
    %s = generic {mul} (n, k) ins(%v, %scale at (n))
    %t = generic {transpose} (k, n) ins(%s at (n, k))
    %r = generic {matmul} (m, n | k) ins(%x : 16x4096xbf16, %t at (k, n))

After, and mlopt-hoist leaves both to the calls, and mlopt-fuse to the product's kernel::

    %v = generic {cast, mlopt.widens = 1} (n, k) ins(%w : 4096x4096xi8) -> tensor<4096x4096xbf16>
    %s = generic {mul, mlopt.widens = 1} (n, k) ins(%v, %scale at (n))
    %r = generic {matmul} (m, n | k) ins(%x : 16x4096xbf16, %s at (n, k))

Legal for element-wise work on one weight of the columns, with scales beside it, that nothing else reads, and
through transposes that the product can do without. Done where it is predicted to take less time
(`block_times`): a factor that comes through registers has no copies under way while a step is multiplied,
and is widened again for each block of rows, so that only products that wait for memory gain: some tens of
rows. A product of one row, which no tensor core makes, is asked by the roofline. Each such product is in
``mlopt.rewrites``, with the reason if its weights are widened once. Runs before mlopt-gpu-split-products,
which makes the parts of the depth that hide these steps.

Effect on sm_80: a call of 16 x 4096 by 4096 x 4096 bytes moves 21.2 MB, of which 4.2 are partial sums, where
the weights in bf16 alone are 33.6; one row 17.1. The time is the cost model's: 14.4 µs rather than 19.5.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar, NamedTuple

from mlir import ir
from mlir.dialects import tensor

from ...dialects.attributes import WIDENS
from ...dialects.decisions import Decision
from ..base import Pass
from ..costs.cost import Cost
from ..costs.count import bytes_of, bytes_of_element, cost_alone, work_of
from ..costs.machine import DEFAULT_GPU, Machine, machine_of
from ..costs.roofline import arithmetic_of
from ..cpu.functions import hosts_of
from ..hoist import SMALL, made_of_weights, should_keep, weights_factor
from ..moving.reads import original, should_turn
from ..operations import defining_op
from ..raising.divided import reads_whole_dims, works_in_order
from ..rewrites import note_rewrites, rewrite_of, seconds_of
from ..scheduling.block_times import overlapped
from ..scheduling.tensor_blocks import SHARED, Product
from ..scheduling.warpgroup_blocks import product_estimates
from ..structured import (
    ASSUMED,
    body_of,
    elements_of,
    erase_dead,
    has_one_use,
    indexing_maps,
    inits_of,
    inputs_of,
    is_pointwise,
    loop_extents,
    maps_of,
    sizes_of,
    structured_ops,
)
from ..tiling.access import nest_of
from .split_products import GAIN, best_parts, can_split, should_split

CONVERSION = 4  # as long as so many additions: an estimate, alike on the chips that are described


@dataclass(frozen=True)
class NarrowWeights(Pass):
    """Let products of few rows read weights as they are stored, and widen them.

    ``machine``: whose times decide; ``shared``: the bytes of shared memory of its multiprocessors;
    ``warpgroups``: whether it has wgmma.
    """

    name: ClassVar[str] = "mlopt-gpu-narrow-weights"
    machine: str = DEFAULT_GPU
    shared: int = SHARED
    warpgroups: bool = False

    def run(self, op: ir.Operation) -> None:
        """Rewrite the products of each function of the host."""
        machine, decisions = machine_of(op, self.machine), list[Decision]()
        for function in hosts_of(op):
            weights = made_of_weights(function)
            for product in structured_ops(function):
                number = weights_factor(product, weights)
                widened = None if number is None else _widened(product, number, weights)
                if widened is not None:
                    decisions.append(self._decide(product, widened, machine))
            erase_dead(function)
        note_rewrites(op, self.name, decisions)

    def _decide(self, op: ir.Operation, widened: Widened, machine: Machine) -> Decision:
        """What became of a product: rewritten, or left as it is."""
        reason = why_cannot_read(op, widened)
        times = None if reason is not None else self._times(op, widened, machine)
        if times is None:
            reason = reason or "it would widen them again for each of its rows"
            return rewrite_of(op, reason, widened.saved, 0.0)
        if should_read(times):
            _read(op, widened)
        else:
            late, once = (f"{seconds * 1e6:.1f} µs" for seconds in times)
            reason = f"with its weights widened in its kernel it takes {late}, with them made once {once}"
        return rewrite_of(op, reason or "", widened.saved, times.once - times.late)

    def _times(self, op: ir.Operation, widened: Widened, machine: Machine) -> Times | None:
        product = can_split(op)
        if product is None:
            return _times_of_row(op, widened, machine)
        late, once = (self._best(each) for each in (_with_narrow(product, widened), product))
        if late is None or once is None:
            return None
        again = seconds_to_widen(widened, machine) * ceil(product.rows / late.rows)
        return Times(overlapped(late.seconds, again), once.seconds)

    def _best(self, product: Product) -> Best | None:
        found = product_estimates(product, self.machine, self.shared, warpgroups=self.warpgroups)
        if not found:
            return None
        parts = best_parts(product, self.machine, self.shared, self.warpgroups)
        best = parts if parts is not None and should_split(parts) else found[0]
        return Best(best.seconds, found[0].block.rows)


class Times(NamedTuple):
    """The seconds of a call with the weights widened in the product's kernel, and with them made once."""

    late: float
    once: float


class Best(NamedTuple):
    """The seconds of the best block of a product, or of the best parts of its depth, and the block's rows."""

    seconds: float
    rows: int


@dataclass(frozen=True)
class Widened:
    """Operand ``number`` of a product, as ``value`` was before it was transposed.

    ``makers``: what widened it element by element, the last first, from a weight of ``stored`` bytes an
    element, each with where the weight lies in its order. The product reads at ``where`` what is made in the
    weight's own. ``saved``: the bytes that a call does not move if its kernel does that.
    """

    number: int
    value: ir.Value
    where: ir.AffineMap
    makers: tuple[tuple[ir.Operation, ir.AffineMap], ...]
    stored: int
    saved: int


def _widened(op: ir.Operation, number: int, weights: Set[ir.Value]) -> Widened | None:
    """A factor of a product that is a weight made wider, if it is."""
    value, where = original(op, number)
    source, steps = value, list[tuple[ir.Operation, ir.AffineMap]]()
    while source in weights:
        maker = defining_op(source, "linalg.generic")
        along = None if maker is None else _along(maker)
        if maker is None or along is None:
            break
        steps.append((maker, maps_of(maker)[along]))
        source = maker.operands[along]
    if not steps or not should_keep(steps[0][0]):  # of what is not kept each call widens it in any case
        return None
    turn = ir.AffineMap.get_identity(len(where.results), op.context)
    makers: list[tuple[ir.Operation, ir.AffineMap]] = []
    for maker, step in reversed(steps):
        turn = _after(turn, step)
        makers.insert(0, (maker, turn))
    stored, wide = bytes_of_element(source), bytes_of_element(value)
    saved = elements_of(value) * (wide - stored)
    return Widened(number, value, _after(turn, where), tuple(makers), stored, saved) if saved > 0 else None


def _after(outer: ir.AffineMap, inner: ir.AffineMap) -> ir.AffineMap:
    """Where a permutation ``outer`` of what ``inner`` reads is read."""
    exprs = [inner.results[expr.position] for expr in outer.results]
    return ir.AffineMap.get(inner.n_dims, 0, exprs, inner.context)


def _along(maker: ir.Operation) -> int | None:
    """The operand that an element-wise op makes its result of, with no more than scales beside it."""
    if not is_pointwise(maker) or not works_in_order(maker) or not reads_whole_dims(maker):
        return None
    if any(inner.operation.name == "linalg.index" for inner in body_of(maker).operations):
        return None
    whole = [number for number in range(len(inputs_of(maker))) if maps_of(maker)[number].is_permutation]
    others = [value for number, value in enumerate(inputs_of(maker)) if number not in whole]
    is_scaled = len(whole) == 1 and all(bytes_of(value, ASSUMED) <= SMALL for value in others)
    return whole[0] if is_scaled else None


def why_cannot_read(op: ir.Operation, widened: Widened) -> str | None:
    """Why a product cannot widen its weights itself; None if it can."""
    columns = maps_of(op)[-1].results[-1:]
    if columns and columns[0] not in list(widened.where.results):
        return "its rows are the weights"
    value, read = op.operands[widened.number], {maker.results[0] for maker, _ in widened.makers}
    while value != widened.value:  # the transposes between
        read.add(value)
        value = value.owner.operands[0]
    if not all(map(has_one_use, read)):
        return "others read what is made of the weights, too"
    if maps_of(op)[widened.number] != widened.where and not should_turn(op, _maps_with(op, widened)):
        return "it would not read along rows of the weights as they lie"
    return None


def should_read(times: Times) -> bool:
    """Whether a call takes less time by enough."""
    return times.late < GAIN * times.once


def seconds_to_widen(widened: Widened, machine: Machine) -> float:
    """What all processors take to make the weights once."""
    work = sum((work_of(nest_of(maker), ASSUMED) for maker, _ in widened.makers), Cost(0))
    casts = Cost(0, elementwise={"f32": CONVERSION * elements_of(widened.value)})
    return sum(arithmetic_of(work + casts, machine))


def _with_narrow(product: Product, widened: Widened) -> Product:
    return replace(product, loose=True, narrow=widened.stored)


def _times_of_row(op: ir.Operation, widened: Widened, machine: Machine) -> Times | None:
    """The same of what no tensor core multiplies, by the roofline, if it reads each weight once."""
    own = {expr.position for expr in widened.where.results}
    if any(extent != 1 for loop, extent in enumerate(loop_extents(op)) if loop not in own):
        return None
    cost = cost_alone(op, ASSUMED)
    narrow = seconds_of(replace(cost, bytes=cost.bytes - widened.saved), machine)
    return Times(max(narrow, machine.launch + seconds_to_widen(widened, machine)), seconds_of(cost, machine))


def _maps_with(op: ir.Operation, widened: Widened) -> list[ir.AffineMap]:
    maps = maps_of(op)
    return [*maps[: widened.number], widened.where, *maps[widened.number + 1 :]]


def _read(op: ir.Operation, widened: Widened) -> None:
    """Let each call widen the weights, in their own order, for the product."""
    op.attributes["indexing_maps"] = indexing_maps(_maps_with(op, widened))
    op.operands[widened.number] = widened.value
    for maker, turn in reversed(widened.makers):
        if turn != ir.AffineMap.get_identity(turn.n_dims, op.context):
            _turn(maker, [expr.position for expr in turn.results])
        WIDENS.set(maker, widened.stored)


def _turn(maker: ir.Operation, loops: list[int]) -> None:
    """Let an element-wise op run through its loops in this order, and make its result so."""
    count, context = len(loops), maker.context
    now = [ir.AffineDimExpr.get(loops.index(loop), context) for loop in range(count)]
    maps = [
        ir.AffineMap.get(count, 0, [expr.compose(ir.AffineMap.get(count, 0, now, context)) for expr in each])
        for each in (list(where.results) for where in maps_of(maker)[:-1])
    ]
    (init,) = inits_of(maker)
    with maker.location, ir.InsertionPoint(maker):
        sizes = sizes_of(init)
        made = tensor.EmptyOp([sizes[loop] for loop in loops], init.type.element_type).result
        whole = ir.AffineMap.get_identity(count)
        along = _along(maker)
        assert along is not None, "it was found so"
        maps[along] = whole  # what came before has been turned
        maker.attributes["indexing_maps"] = indexing_maps([*maps, whole])
    maker.operands[len(maps)] = made
    maker.results[0].set_type(made.type)
