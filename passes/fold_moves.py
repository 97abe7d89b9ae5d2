"""`mlopt-fold-moves`: slices, transposes, broadcasts and gathered work become part of what reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.decisions import Decision
from .base import Pass
from .costs.machine import DEFAULT_CPU, machine_of
from .moving.chains import shorten_reshapes
from .moving.collapses import sink_collapses
from .moving.columns import part_columns
from .moving.concats import split_by_concats
from .moving.expansions import lift_expansions
from .moving.gathered import compute_what_is_gathered
from .moving.gathers import gathers_to_moves
from .moving.heads import split_products
from .moving.lifts import lift_collapses, lift_parts
from .moving.reads import read_originals
from .moving.refined import refine_views
from .moving.reshapes import sink_expansions
from .moving.rows import keep_rows
from .moving.sizes import fold_sizes
from .moving.sliced import compute_what_is_taken
from .moving.slices import lower_slices
from .moving.steps import split_steps
from .moving.told import Moves
from .moving.views import move_views
from .moving.wraps import read_wraps
from .moving.writes import gather_in_order, make_in_order
from .operations import plain_functions
from .rewrites import note_rewrites
from .structured import erase_dead


@dataclass(frozen=True)
class FoldMoves(Pass):
    """Read a tensor that was only moved where it was before, where that is as good.

    ::

        %s = tensor.extract_slice %x[0, 768] [128, 768]
        %e = tensor.expand_shape %s into 128x12x64
        %t = linalg.generic {mlopt.op = "transpose"} (h, t, d) -> (t, h, d) ins(%e)
        linalg.generic {mlopt.op = "bmm"} ins(%t at (h, m, k), …)
      ->
        %e = tensor.expand_shape %x into 128x36x64
        linalg.generic {mlopt.op = "bmm"} ins(%e at (m, h + 12, k), …)

    Legal always; see the modules for where it is done. Run it on folded reshapes: after canonicalize. The
    queries and the values of attention are then never copied. What a gather reads of an element-wise result
    is computed for the elements that it reads. What is made in one order and read in another by its only
    reader is made in the reader's. Element-wise work passes views that split other dims than they join, and
    rows are split into the parts that such a view of them has. What reads a concat element by element is
    computed part by part, and of an element-wise result only the parts that are taken. A product whose
    columns are read apart, by element-wise ops alone, becomes one product for each part. Rows that were moved
    for a product stay where they are, and what reads the product finds them there. Of a slice in steps, as of
    pairs, each element is one of a block. A roll of which a view is read, or along several dims, is a gather;
    on GPUs so are those of last dims, and borders that are reflected or replicated.
    Moves that are gone, and those that stay and why, are in ``mlopt.rewrites`` with what they would cost on
    ``machine`` as kernels of their own (`moving/told.py`).

    Effect: a GPT-2 block (128 tokens, 768 wide) is 7 kernels that move 38.6 MB; without this pass 11, and
    41.7 MB. A Llama-like one (512 wide): 7 and 16.3 MB instead of 8 and 16.8.
    """

    name: ClassVar[str] = "mlopt-fold-moves"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine, decisions = machine_of(op, self.machine), list[Decision]()
        for function in plain_functions(op):
            moves = Moves(function, machine)
            fold_sizes(function)
            shorten_reshapes(function)
            gathers_to_moves(function)
            read_wraps(function, machine)
            compute_what_is_taken(function)
            split_steps(function)
            lower_slices(function)
            if keep_rows(function):  # while the views that split them follow the products
                read_originals(function)
                lift_parts(function)
                erase_dead(function)
            split_products(function)  # before some of the readers, but not all, join their rows
            sink_expansions(function)
            move_views(function)
            refine_views(function)
            split_products(function)
            sink_collapses(function)
            lift_expansions(function)
            lift_collapses(function)
            gather_in_order(function)  # before moves are read through: then several ops read them
            read_originals(function)
            erase_dead(function)  # moves that nothing reads now are no readers, either
            if part_columns(function):
                erase_dead(function)
                split_products(function)
            lift_parts(function)  # of columns that are still read apart
            read_originals(function)
            make_in_order(function)
            if split_by_concats(function):  # the parts stood apart from what reads them until now
                read_originals(function)
                make_in_order(function)
            compute_what_is_gathered(function)
            erase_dead(function)
            decisions += moves.decisions()
        note_rewrites(op, self.name, decisions)
