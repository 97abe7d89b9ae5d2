"""Whether a legal fusion pays: what one kernel saves of two kernels' time, as the roofline predicts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from ..costs.machine import Machine
from ..costs.roofline import are_enough
from ..domain import Domain
from ..siblings import MOST
from ..structured import ROW_SCORES, SCORES, label_of, word_for
from ..tiling.registry import should_step
from .graph import Graph
from .group import Group
from .kinds import Kind
from .prologue import should_compute
from .saving import Price, Saving

_MASK = 1 / 8  # of the time of attention, that its tasks may spend on a mask or a bias


def should_go_together(graph: Graph, groups: Sequence[Group], domain: Domain | None) -> str | None:
    """Why tasks should not do the work of all ``groups``, whatever the model says of its time, or None.

    ``domain``: that of one kernel of them, if it is known.
    """
    products = sum(group.kinds.count(Kind.ANCHOR) for group in groups)
    if products > MOST:
        return f"a task would make tiles of {products} products, and has room for {MOST}"
    reason = should_compute(graph, groups)
    return should_step(domain) if reason is None and domain is not None else reason


def should_fuse(saving: Saving, wanted: int, most_repeated: Callable[[], str]) -> str | None:
    """Why the fusion does not pay on a machine that wants so many tasks, or None if it does.

    ``most_repeated``: what would be computed again, and how often.
    """
    if saving.seconds > 0:
        return None
    if saving.slow_for:
        return saving.slow_for
    few = saving.tasks < wanted
    if saving.repeated and not (few and saving.seconds + saving.again <= 0):
        return f"what would be computed again costs more than is saved: {most_repeated()}"
    if few:
        tasks = "1 task" if saving.tasks == 1 else f"{saving.tasks} tasks"
        return f"only {tasks} would be left, {wanted} are wanted"
    if saving.reread > 0 > saving.bytes:
        return f"rows that no cache keeps would be read again: {saving.reread} bytes"
    return "it saves no time"


def should_be_one_task(domain: Domain) -> str | None:
    """Why the one task that makes a total should not go through all of its elements again, or None.

    That is so where nobody knows how many there are: what the model takes for their number is small.
    """
    if not any(nest.reductions and not nest.parallels and None in nest.extents for nest in domain.nests):
        return None
    for nest in domain.nests:
        is_walked = not nest.reductions and any(dim.walked for dim in domain.loops(nest))
        if is_walked and any(write.value in domain.results for write in nest.writes):
            return f"one task would make all of {word_for(nest.op)}, and nobody knows how much that is"
    return None


def is_one_attention(producer: Group, consumer: Group, saving: Saving, machine: Machine) -> bool:
    """Whether tasks make the scores of their rows, which may be few (mlopt-raise-attention).

    On a GPU several blocks share the keys then (mlopt-gpu-split-keys).
    """
    labels = {label_of(op) for op in producer.ops}
    if not consumer.has(Kind.ATTENTION) or labels.isdisjoint((SCORES, ROW_SCORES)):
        return False
    return bool(machine.chips) or are_enough(saving.tasks, saving.serial, machine)


def is_mask_of_many(producer: Group, consumer: Group, saving: Saving, price: Price, machine: Machine) -> bool:
    """Whether tasks of a CPU make a mask or a bias of attention themselves, whose sizes are not known.

    ``price``: of ``consumer``. What they do again for each matrix, of which there may be one or many, is then
    a small part of what they do for it, and the mask is not in memory, however long queries and keys are.
    """
    is_small = saving.again <= _MASK * price.seconds and not saving.slow_for
    is_mask = set(producer.kinds) == {Kind.POINTWISE} and consumer.has(Kind.ATTENTION)
    return is_mask and is_small and not machine.chips and price.serial == inf
