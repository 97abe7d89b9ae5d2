"""Rows whose sum of exponentials follows their maximum are read once for both, not twice.

Before::

    %m = scf.for %k … iter_args(%a = %low) -> (vector<1x1024xf32>) { %v = …; yield maximumf(%a, %v) }
    %max = vector.multi_reduction <maximumf>, %m, …
    %s = scf.for %k … iter_args(%a = %zero) -> (vector<1x1024xf32>) { %v = …; yield %a + exp(%v - %max) }
    %sum = vector.multi_reduction <add>, %s, …

After::

    %m, %s = scf.for %k … iter_args(%a = %low, %b = %zero) {
      %v = …; %w = …                                        // several steps at once
      %n = maximumf(%a, maximumf(%v, %w))
      yield %n, %b * exp(%a - %n) + exp(%v - %n) + exp(%w - %n)
    }
    %max = vector.multi_reduction <maximumf>, %m, …
    %sum = vector.multi_reduction <add>, %s * exp(%m - %max), …

Each element of the carried tiles has a maximum of its own, and a sum that belongs to it; they meet after the
last step. Where both are minus infinity, the difference is taken for 0 (minnumf drops what is not a number):
it counts for nothing as soon as there is a larger maximum, and without one the last line has the same result
as before, which is not a number. Legal where both loops have the same steps and compute the same values.
Runs after mlopt-gpu-late-reductions.

Effect, by count (no GPU was there): softmax of 256x50257 in f32 reads each row twice instead of three times,
51 of 206 MB less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith, math, scf

from ..base import Pass
from .grids import grids_of
from .online.match import Pair, find_pair
from .online.steps import at_end, inside, spread_again, steps_at_once


@dataclass(frozen=True)
class OnlineSums(Pass):
    """Compute sums of exponentials together with the maximum that they are relative to."""

    name: ClassVar[str] = "mlopt-gpu-online-sums"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the pairs of loops that each task of a kernel begins with."""
        for forall in grids_of(op):
            while (pair := find_pair(forall)) is not None:
                join(pair, steps_at_once(forall, pair))


def join(pair: Pair, together: int) -> None:
    """One loop in the place of two, with ``together`` steps at once; the last, fewer steps come before it."""
    first, last, step = pair.bounds
    wide = step * together
    whole = first + (last - first) // wide * wide
    with ir.InsertionPoint(pair.maxima), pair.maxima.location:
        zero = pair.sums.operands[3]
        nothing = arith.constant(zero.type, zero.owner.attributes["value"])  # the other may come later
        carried = [pair.maxima.operands[3], nothing]
        if whole < last:  # first, as its reads come before the loop
            values = [
                inside(pair, _index(start), last) if start + step <= last else at_end(pair, _index(start))
                for start in range(whole, last, step)
            ]
            carried = _combined(values, carried)
        if first < whole:
            loop = scf.ForOp(*map(_index, (first, whole, wide)), carried)
            with ir.InsertionPoint(loop.body):
                at = loop.induction_variable
                places = [at, *(arith.addi(at, _index(step * number)) for number in range(1, together))]
                values = [inside(pair, place, whole) for place in places]
                scf.YieldOp(_combined(values, loop.inner_iter_args))
            carried = list(loop.results)
    maxima, sums = carried
    pair.maxima.results[0].replace_all_uses_with(maxima)
    with ir.InsertionPoint(pair.total), pair.total.location:
        share = math.exp(arith.subf(maxima, spread_again(pair)))
        pair.total.operands[0] = arith.mulf(sums, share)
    pair.sums.erase()
    pair.maxima.erase()


def _combined(values: Sequence[ir.Value], carried: Sequence[ir.Value]) -> list[ir.Value]:
    """The maxima, and the sums relative to them, after some more values."""
    before, total = carried
    most = before
    for value in values:
        most = arith.maximumf(most, value)
    total = arith.mulf(total, _relative(before, most))
    for value in values:
        total = arith.addf(total, _relative(value, most))
    return [most, total]


def _relative(value: ir.Value, most: ir.Value) -> ir.Value:
    """exp(value - most), 1 where both are the same infinity."""
    kind = ir.VectorType(value.type)
    zero = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(kind.element_type, 0.0))
    return math.exp(arith.minnumf(arith.subf(value, most), arith.constant(kind, zero)))


def _index(number: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), number)
