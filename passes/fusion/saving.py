"""The price of a kernel, and what fewer kernels save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlir import ir

from ..costs.cost import Cost
from ..costs.count import Reads


class Price(NamedTuple):
    """A kernel: what it reads, writes and computes, what of that it computes again, how parallel it is."""

    reads: Reads
    writes: dict[ir.Value, int]
    bytes: int  # of both, those included that are read again
    reread: int  # of them, in passes after the first
    work: Cost
    again: Cost
    tasks: int
    seconds: float
    again_seconds: float  # of them, for what is computed again and hides behind nothing
    serial: float  # what one processor alone takes; infinite where nobody knows how much there is
    alike: bool = True  # what it reduces: its work is done as often as is counted
    slow_for: str = ""  # what makes it slower than its bytes and its arithmetic, in words


class Saving(NamedTuple):
    """What fewer kernels save; ``tasks`` are left, ``repeated`` says that work is done again.

    ``serial``: what one processor takes for the largest of those that are left. ``again``: the seconds that
    work takes that is done again. ``slow_for``: what makes one that is left slower than those before were.
    ``reread``: the bytes more that passes after the first read again.
    """

    bytes: int
    seconds: float
    tasks: int
    repeated: bool
    serial: float
    slow_for: str = ""
    again: float = 0.0
    reread: int = 0


def saved(before: Sequence[Price], after: Sequence[Price], small: float) -> Saving:
    """What kernels save that take the place of others.

    One processor runs kernels of at most ``small`` seconds of its work (mlopt-cpu-parallel): however few
    tasks there are then, it is enough that this one saves time. 5 rows of 4096 elements, less their means and
    by their deviations, are one kernel in place of two, in 0.9 of the time.
    """
    repeated = sum(each.again.flops for each in after) > sum(each.again.flops for each in before)
    seconds = sum(each.seconds for each in before) - sum(each.seconds for each in after)
    if seconds <= 0 and all(each.alike and each.serial <= small for each in after):
        alone = sum(each.serial for each in before) - sum(each.serial for each in after)
        seconds = max(seconds, alone)
    known = {each.slow_for for each in before}
    return Saving(
        sum(each.bytes for each in before) - sum(each.bytes for each in after),
        seconds,
        min(each.tasks for each in after),
        repeated,
        max(each.serial for each in after),
        next((each.slow_for for each in after if each.slow_for and each.slow_for not in known), ""),
        _seconds_again(after) - _seconds_again(before) if repeated else 0.0,
        sum(each.reread for each in after) - sum(each.reread for each in before),
    )


def _seconds_again(prices: Sequence[Price]) -> float:
    return sum(each.again_seconds for each in prices)
