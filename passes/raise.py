"""`mlopt-raise`: everything structured becomes a labelled linalg.generic, in one normal form."""

# ruff: noqa: N999 - the file is called as the pass is, and is found by that name

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.decisions import Decision
from .base import Pass
from .costs.machine import DEFAULT_CPU, Machine, machine_of
from .operations import plain_functions
from .raising.asserts import check_as_eager
from .raising.bodies import name_generics
from .raising.buffers import take_tensors_late
from .raising.contractions import read_narrow_operands
from .raising.generated import fill_constants, lower_generated
from .raising.inits import make_inits_explicit
from .raising.joined_reductions import join_reductions
from .raising.known_reshapes import split_known_dims
from .raising.maxima import combine_around_maxima
from .raising.named import generalize_named_ops
from .raising.narrow_sums import narrow_sums
from .raising.simplify import simplify_generics
from .raising.slices import lower_concat_and_pad
from .raising.totals import split_totals
from .raising.unit_dims import drop_unit_dims
from .raising.unit_reshapes import cancel_unit_dims
from .raising.variances import combine_variances
from .raising.windows import lower_windows
from .rewrites import note_rewrites
from .structured import erase_dead


@dataclass(frozen=True)
class Raise(Pass):
    """Bring linalg on tensors into the one form that fusion and tiling know.

    ::

        %b = linalg.broadcast ins(%bias)
        %c = linalg.matmul ins(%x, %w) outs(%b)
      ->
        %z = linalg.fill ins(0.0) outs(tensor.empty)
        %m = linalg.generic {mlopt.op = "matmul"} ins(%x, %w) outs(%z) …
        %c = linalg.generic {mlopt.op = "add"} ins(%m, %bias) outs(tensor.empty) …

    ``machine`` decides how few rows leave so many of its processors idle that each is reduced in parts; each
    such decision, with its numbers, is in ``mlopt.rewrites`` of the module.
    Legal always: each step keeps what is computed; only the order in which a contraction's terms are added
    to its init changes. Run canonicalize and cse after it: they fold the reshapes that it leaves.

    Effect: a GPT-2 block is 7 kernels instead of 14, a BasicBlock 2 instead of 3, and LayerNorm, Linear,
    GELU, Linear 3 instead of 4. Without it kernels of named ops do not say what they cost.
    """

    name: ClassVar[str] = "mlopt-raise"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine, totals = machine_of(op, self.machine), list[Decision]()
        for function in plain_functions(op):
            totals += _raise(function, machine)
        note_rewrites(op, self.name, totals)


def _raise(func: ir.Operation, machine: Machine) -> list[Decision]:
    """The reductions of few results that are made in parts, or not."""
    take_tensors_late(func)
    split_known_dims(func)
    lower_windows(func)  # before pads: it makes some longer
    lower_concat_and_pad(func)
    lower_generated(func)
    generalize_named_ops(func)
    drop_unit_dims(func)  # before the inits: a reduction over a unit loop becomes a parallel op
    cancel_unit_dims(func)
    erase_dead(func)
    simplify_generics(func)
    make_inits_explicit(func)
    fill_constants(func)
    erase_dead(func)
    narrow_sums(func)
    read_narrow_operands(func)
    check_as_eager(func)
    join_reductions(func)
    totals = split_totals(func, machine)
    combine_variances(func)
    combine_around_maxima(func)
    name_generics(func)
    erase_dead(func)
    return totals
