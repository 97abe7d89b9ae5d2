"""`mlopt-fold-moves`: slices, transposes, broadcasts and gathered work become part of what reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import Decision
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
    pairs, each element is one of a block. A roll of which a view is read, or along several dims, is a gather.
    Moves that are gone, and those that stay and why, are in ``mlopt.rewrites`` with what they would cost on
    ``machine`` as kernels of their own (`moving/told.py`).

    Effect: a GPT-2 block (128 tokens, 768 wide) is 7 kernels that move 38.6 MB; without this pass 11, and
    41.7 MB. A Llama-like one (512 wide): 7 and 16.3 MB instead of 8 and 16.8.
    """

    name: ClassVar[str] = "mlopt-fold-moves"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine, decisions = machine_of(op, self.machine), list[Decision]()
        for func in op.regions[0].blocks[0].operations:
            if func.operation.name == "func.func" and len(func.operation.regions[0].blocks) == 1:
                moves = Moves(func.operation, machine)
                fold_sizes(func.operation)
                shorten_reshapes(func.operation)
                gathers_to_moves(func.operation)
                read_wraps(func.operation)
                compute_what_is_taken(func.operation)
                split_steps(func.operation)
                lower_slices(func.operation)
                if keep_rows(func.operation):  # while the views that split them follow the products
                    read_originals(func.operation)
                    lift_parts(func.operation)
                    erase_dead(func.operation)
                split_products(func.operation)  # before some of the readers, but not all, join their rows
                sink_expansions(func.operation)
                move_views(func.operation)
                refine_views(func.operation)
                split_products(func.operation)
                sink_collapses(func.operation)
                lift_expansions(func.operation)
                lift_collapses(func.operation)
                gather_in_order(func.operation)  # before moves are read through: then several ops read them
                read_originals(func.operation)
                erase_dead(func.operation)  # moves that nothing reads now are no readers, either
                if part_columns(func.operation):
                    erase_dead(func.operation)
                    split_products(func.operation)
                lift_parts(func.operation)  # of columns that are still read apart
                read_originals(func.operation)
                make_in_order(func.operation)
                if split_by_concats(func.operation):  # the parts stood apart from what reads them until now
                    read_originals(func.operation)
                    make_in_order(func.operation)
                compute_what_is_gathered(func.operation)
                erase_dead(func.operation)
                decisions += moves.decisions()
        note_rewrites(op, self.name, decisions)
