"""What one op saves that is a softmax and the products on both of its sides: its decision's numbers."""

from __future__ import annotations

from math import prod

from mlir import ir

from ..costs.cost import Cost
from ..costs.count import bytes_of, cost_alone
from ..costs.machine import Machine
from ..costs.roofline import predict
from ..structured import ASSUMED, DYNAMIC, maps_of
from .match import Attention

FEWEST_ROWS = 6  # of fewer, most lanes of a GPU's vector along the rows would be idle


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

    Scores and weights would be neither written nor read, and two kernels less started. Of what is no
    attention (a reason why) nobody has looked for both products: it is memory's time alone.
    """
    size = bytes_of(weights, ASSUMED)
    apart, tasks = [Cost(size), Cost(2 * size), Cost(size)], machine.tasks
    if isinstance(found, Attention):
        apart[0], apart[2] = (cost_alone(op, ASSUMED) for op in (found.product, found.sums))
        rows, matrices = rows_of(found)
        tasks = tasks_of(matrices) if has_few_rows(rows) else tasks
    together = sum(apart, Cost(-4 * size))
    seconds = sum(predict(each, machine, machine.tasks).seconds for each in apart)
    return 4 * size, seconds - predict(together, machine, tasks).seconds
