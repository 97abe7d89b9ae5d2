"""vector.contract: multiply-adds into accumulators in registers.

    acc[m] = fma(broadcast a[m, k], b[k, lanes], acc[m])   for k ascending, for all unrolled m

The operand without the lane axis is loaded by scalars, which the machine broadcasts for free.
Products are added in the order of k, with one rounding each (fma), in the accumulator's type.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from mlir import ir
from mlir.dialects import arith, math, vector

from .cover import Cover, cover, known_extent
from .emitter import Emitter
from .factors import loops_of, reduced_sizes
from .fragment import Axis, Fragment, Strip, element_of, is_vector, keys_of, lane_of
from .prefetch import prefetch_next
from .prefetch_panel import prefetch_panel
from .prefetch_tile import prefetch_rows
from .registry import rule
from .types import bits_of, is_float
from .vectors import spread

# Reduced positions up to this many are unrolled; more become a loop by `_STEP`.
_UNROLLED = 16
_STEP = 4


def _uses(value: ir.Value, strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    return [(value.owner.operands[2], strip)]


@rule("vector.contract", uses=_uses)
def emit_contract(em: Emitter, value: ir.Value, strip: Strip) -> Fragment:
    """Unroll short reductions, loop over long ones."""
    op = value.owner.opview
    loops, keys, lane = loops_of(op), list(keys_of(strip)), lane_of(strip)
    lanes = strip[lane].lanes if lane is not None else 0
    first = em.emit(op.acc, strip)
    with em.here():
        sums = [spread(first[key], lanes) if lanes else first[key] for key in keys]
    kept = dict(zip(loops[2], strip, strict=True))
    sizes = reduced_sizes(op)

    def step(places: dict[int, Axis], values: list[ir.Value]) -> list[ir.Value]:
        axes = {**kept, **places}
        left, right = (
            em.emit(value, tuple(axes[loop] for loop in dims))
            for value, dims in zip(op.operands[:2], loops[:2], strict=True)
        )
        result = []
        for key, total in zip(keys, values, strict=True):
            at = dict(zip(loops[2], key, strict=True))
            a, b = (
                fragment[tuple(at.get(loop, 0) for loop in dims)]
                for fragment, dims in zip((left, right), loops[:2], strict=True)
            )
            add = _add_padding if em.border.outside else _multiply_add
            result.append(add(em, a, b, total))
        return result

    def unrolled(fixed: dict[int, Axis], counts: dict[int, int], values: list[ir.Value]) -> list[ir.Value]:
        for places in product(*(range(count) for count in counts.values())):
            axes = {
                loop: fixed[loop].point(place) if loop in fixed else Axis(offset=place)
                for loop, place in zip(counts, places, strict=True)
            }
            values = step(axes, values)
        return values

    if prod(sizes.values()) <= _UNROLLED:
        prefetch_next(em, op, strip)
        prefetch_panel(em, op, strip)
        prefetch_rows(em, op, strip)
        sums = unrolled({}, sizes, sums)
    else:
        longest = max(sizes, key=lambda loop: sizes[loop])
        sums = cover(
            em,
            known_extent(sizes[longest]),
            Cover(longest, _STEP),
            True,
            sums,
            lambda axis, values: unrolled({longest: axis}, {**sizes, longest: axis.count}, values),
        )
    return Fragment(dict(zip(keys, sums, strict=True)))


def _multiply_add(em: Emitter, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    element = element_of(total)
    with em.here():
        left, right = _spread(left, total), _spread(right, total)
        if not is_float(element):
            return arith.AddIOp(total, arith.MulIOp(left, right).result).result
        if is_vector(total):
            return vector.FMAOp(left, right, total).result
        return math.FmaOp(left, right, total).result


def _add_padding(em: Emitter, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
    """`_multiply_add` where a factor is the padding's zero: a product is a zero or NaN, and so is the sum.

    Their bits in one are as good, and no product waits for the sum before it.
    """
    bits = ir.IntegerType.get_signless(bits_of(element_of(total)))
    kind = ir.VectorType.get(total.type.shape, bits) if is_vector(total) else bits
    with em.here():
        product = arith.MulFOp(_spread(left, total), _spread(right, total)).result
        both = (arith.BitcastOp(kind, each).result for each in (total, product))
        return arith.BitcastOp(total.type, arith.OrIOp(*both).result).result


def _spread(factor: ir.Value, total: ir.Value) -> ir.Value:
    """A factor with the element type and the lanes of the sum."""
    factor = _widened(factor, element_of(total))
    return spread(factor, total.type.shape[0]) if is_vector(total) else factor


def _widened(value: ir.Value, element: ir.Type) -> ir.Value:
    if element_of(value) == element:
        return value
    kind = ir.VectorType.get(value.type.shape, element) if is_vector(value) else element
    if is_float(element):
        return arith.ExtFOp(kind, value).result
    assert bits_of(element) >= bits_of(element_of(value))
    return arith.ExtSIOp(kind, value).result
