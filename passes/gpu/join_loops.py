"""The loops of a window and of channels become one loop, whose steps are copied ahead without a break.

Before::

    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %zero) -> (vector<64x128xf32>) {
      %s = scf.for %l = %c0 to %c3 step %c1 iter_args(%b = %a) -> (vector<64x128xf32>) {
        %t = scf.for %c = %c0 to %c256 step %c64 iter_args(%d = %b) -> (vector<64x128xf32>) {
          … vector.contract {…, mlopt.mma = "m16n8k16.bf16"} … %d
        }
        scf.yield %t
      }
      scf.yield %s
    }

After::

    %r = scf.for %i = %c0 to %c2304 step %c64 iter_args(%d = %zero) -> (vector<64x128xf32>) {
      %k = affine.apply (i) -> (i floordiv 768)(%i)
      %l = affine.apply (i) -> ((i floordiv 256) mod 3)(%i)
      %c = affine.apply (i) -> (i mod 256)(%i)
      … vector.contract {…, mlopt.mma = "m16n8k16.bf16"} … %d
    }

Legal for loops of known bounds with nothing between them but places, each of which carries what the next one
does. Done where the inner one multiplies on tensor cores: mlopt-gpu-pipeline-loads fills a ring once, not for
each place of the window anew. Runs after mlopt-gpu-tensor-cores.

Effect: the same bytes; the two kernels of 3x3 convolutions of 64 channels have 2724 instructions of PTX
instead of 2437. What it saves is waiting, which no count shows and no GPU was there to time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import affine, scf

from ...dialects.attributes import MMA
from ..base import Pass
from ..constants import index_constant, integer_of
from ..operations import block_ops, ops_named
from .grids import grids_of

_PLACES = ("affine.", "arith.")


@dataclass(frozen=True)
class JoinLoops(Pass):
    """Join nested loops around products on tensor cores."""

    name: ClassVar[str] = "mlopt-gpu-join-loops"

    def run(self, op: ir.Operation) -> None:
        """Join the loops of each kernel."""
        for forall in grids_of(op):
            chains: list[list[ir.Operation]] = []
            for loop in ops_named(forall, "scf.for"):
                if not any(loop in chain for chain in chains):
                    chains.append(chain_of(loop))
            for chain in chains:
                if should_join(chain):
                    _join(chain)


def chain_of(loop: ir.Operation) -> list[ir.Operation]:
    """A loop and those in it, as far as they can be one."""
    chain = [loop]
    while (inner := _inner(chain[-1])) is not None:
        chain.append(inner)
    return chain if all(_steps(each) for each in chain) else [loop]


def should_join(chain: Sequence[ir.Operation]) -> bool:
    """Whether there are several loops, and the inner one multiplies on tensor cores."""
    return len(chain) > 1 and any(MMA.name in op.attributes for op in block_ops(chain[-1]))


def _inner(loop: ir.Operation) -> ir.Operation | None:
    """The loop that is all that another one does, but for places."""
    *ops, end = block_ops(loop)
    found = [op for op in ops if op.name == "scf.for"]
    if len(found) != 1 or not all(op.name.startswith(_PLACES) for op in ops if op != found[0]):
        return None
    if any(isinstance(value.type, ir.VectorType) for op in ops if op != found[0] for value in op.results):
        return None
    (inner,) = found
    carried = list(loop.regions[0].blocks[0].arguments)[1:]
    through = list(inner.operands)[3:] == carried and list(end.operands) == list(inner.results)
    return inner if through and not any(list(value.uses)[1:] for value in carried) else None


def _steps(loop: ir.Operation) -> range | None:
    """The steps of a loop, if they are known and there are some."""
    bounds = [integer_of(bound) for bound in list(loop.operands)[:3]]
    known = [bound for bound in bounds if bound is not None]
    return (range(*known) or None) if len(known) == len(bounds) else None


def _join(chain: Sequence[ir.Operation]) -> None:
    """One loop in the place of those of a chain; a step of it is one of the last."""
    first, last = chain[0], chain[-1]
    steps = [steps for loop in chain if (steps := _steps(loop)) is not None]
    step = steps[-1].step
    with first.location:
        with ir.InsertionPoint(first):
            bounds = [index_constant(number) for number in (0, prod(map(len, steps)) * step, step)]
            joined = scf.ForOp(*bounds, list(first.operands)[3:])
        with ir.InsertionPoint(joined.body):
            *_, end = block_ops(last)
            for at, (loop, own) in enumerate(zip(chain, steps, strict=True)):
                place = _place(
                    joined.induction_variable, own, [len(each) for each in steps[at + 1 :]], step, at > 0
                )
                loop.regions[0].blocks[0].arguments[0].replace_all_uses_with(place)
            carried = list(last.regions[0].blocks[0].arguments)[1:]
            for old, new in zip(carried, joined.inner_iter_args, strict=True):
                old.replace_all_uses_with(new)
            new_end = scf.YieldOp(list(end.operands)).operation
    for loop in chain:
        for op in block_ops(loop)[:-1]:
            if op not in chain:
                op.move_before(new_end)
    for old, new in zip(first.results, joined.results, strict=True):
        old.replace_all_uses_with(new)
    first.erase()


def _place(number: ir.Value, steps: range, inner: Sequence[int], step: int, wraps: bool) -> ir.Value:
    """Where a loop is in a step of the one that it became part of, of which each turns ``inner`` loops."""
    place: ir.AffineExpr = ir.AffineDimExpr.get(0)
    if inner:
        place = ir.AffineExpr.get_floor_div(place, prod(inner) * step)
        place = ir.AffineExpr.get_mod(place, len(steps)) if wraps else place
        place = place * steps.step
    else:
        place = ir.AffineExpr.get_mod(place, len(steps) * step)
    return affine.AffineApplyOp(ir.AffineMap.get(1, 0, [place + steps.start]), [number]).result
