"""What one op saves that is a softmax and the products on both of its sides: its decision's numbers."""

from __future__ import annotations

from math import prod

from mlir import ir

from ..costs.cost import Cost
from ..costs.count import bytes_of, cost_alone
from ..costs.machine import Machine
from ..costs.roofline import predict
from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..structured import ASSUMED, DYNAMIC, kinds_of, maps_of
from .between import is_from_product
from .match import Attention

FEWEST_ROWS = 6  # of fewer, most lanes of a vector along the rows would be idle


def rows_of(found: Attention) -> tuple[int, list[int]]:
    """The rows of a matrix of scores, which share their keys, and how many matrices there are, dim by dim."""
    _, keys, scores = maps_of(found.product)
    # Rows with keys of their own are batches of one row each.
    one = scores.n_dims < 3 or scores.results[-2] in list(keys.results)
    sizes = list(found.product.results[0].type.shape)[:-1] + [1] * one
    return sizes[-1], sizes[:-1]


def has_few_rows(rows: int) -> bool:
    """Whether a task would have all rows of one matrix."""
    return rows != DYNAMIC and rows < FEWEST_ROWS


def tasks_of(matrices: list[int]) -> int:
    """The tasks that have the few rows of one matrix each."""
    return prod(ASSUMED if size == DYNAMIC else size for size in matrices)


def saving_of(found: Attention | str, weights: ir.Value, machine: Machine) -> tuple[int, float]:
    """The bytes and the seconds, less than nothing if it costs; ``weights`` as the softmax's exp makes them.

    Scores and weights would be neither written nor read, but for those written that others read, and two
    kernels less started. Of what is no attention (a reason why) nobody has looked for both products: it is
    memory's time alone.
    """
    size = bytes_of(weights, ASSUMED)
    moved = 4 * size if isinstance(found, Attention) else (4 - _kept(weights.owner.operation)) * size
    apart, tasks = [Cost(size), Cost(2 * size), Cost(size)], machine.tasks
    if isinstance(found, Attention):
        apart[0], apart[2] = (cost_alone(op, ASSUMED) for op in (found.product, found.sums))
        rows, matrices = rows_of(found)
        tasks = tasks_of(matrices) if has_few_rows(rows) else tasks
    together = sum(apart, Cost(-moved))
    seconds = sum(predict(each, machine, machine.tasks).seconds for each in apart)
    return moved, seconds - predict(together, machine, tasks).seconds


def _kept(exp: ir.Operation) -> int:
    """How many of the scores and the weights, which ``exp`` makes first, others read: 0, 1 or 2."""
    less = exp.operands[0].owner.operation
    return _are_scores_kept(less.operands[0]) + _are_weights_kept(exp.results[0])


def _are_scores_kept(scores: ir.Value) -> bool:
    """Whether others than the softmax, or what makes them of a product, read them."""
    value, own = scores, 2  # the greatest of a row, and what is subtracted from
    while len(list(value.uses)) <= own:
        op, own = defining_op(value), 1
        made_of = [] if op is None or is_contraction(op) else list(filter(is_from_product, op.operands))
        if not made_of:
            return False
        value = made_of[0]
    return True


def _are_weights_kept(weights: ir.Value) -> bool:
    """Whether others than the sums of rows, and what leads to a product, read them."""
    value = weights
    while True:
        readers = [use.owner.operation for use in value.uses]
        readers = [op for op in readers if is_contraction(op) or not _is_reduction(op)]
        if len(readers) != 1 or not readers[0].results:
            return bool(readers)
        if is_contraction(readers[0]):
            return False
        value = readers[0].results[0]


def _is_reduction(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and "reduction" in kinds_of(op)
