"""Every other element, or every fourth: accesses that lanes beside each other load, and what they exchange.

A thread's four consecutive results of x[:, ::2] in f32 are in two accesses. If it loaded both, each request
of a warp would leave out every other one, and touch twice the sectors that it fills. So neighbouring lanes
load neighbouring accesses, and pick what is wanted of these::

    lane             0        1        2        3
    first load       |a . b .|c . d .|e . f .|g . h .|  …     results 0 to 63 of the warp
    second load      |A . B .|C . D .|E . F .|G . H .|  …     results 64 to 127
    after a shuffle   a b c d A B C D e f g h E F G H

Each of two lanes gives the other what that one stores. Of every fourth element four lanes have four loads.

An access has several elements that are wanted, or it would save no load: of every other f64, and every fourth
f32, each is loaded as it is, which touches no more sectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mlir import ir

from .access import WIDE, Access
from .linear import Linear

STEPS = (2, 4)


@dataclass(frozen=True)
class Stepped:
    """One of ``step`` neighbours in memory, from the ``first`` on in each access of ``wide`` elements.

    ``lanes``: how many accesses a thread's tasks read, and as many lanes exchange what they load.
    """

    step: int
    first: int
    wide: int
    lanes: int


def stepped_of(access: Access, beyond: Linear, step: int, each: int, row: int) -> Stepped | None:
    """How ``each`` consecutive tasks read every ``step``-th element; None if whole accesses have not all.

    ``beyond``: how far the first task's place is behind ``step`` times its number. A group of tasks is in one
    of the rows of ``row`` tasks, or the next row follows as its own tasks do.
    """
    size, elements = access.element_bytes, prod(ir.MemRefType(access.buffer.type).shape)
    if step not in STEPS or 2 * step * size > WIDE or not all(access.in_bounds):
        return None
    wide = min(WIDE // size, step * each)
    first = beyond.constant % wide
    if elements % wide or first >= step or any(factor % wide for factor in beyond.terms.values()):
        return None
    if row % each and beyond.terms:
        return None
    return Stepped(step, first, wide, step * each // wide)


def lanes_of(reads: Sequence[Stepped | None]) -> int | None:
    """How many lanes exchange what they load, one if none do; None if it is not one number for all reads."""
    found = {read.lanes for read in reads if read is not None} - {1}
    return None if len(found) > 1 else next(iter(found), 1)
