"""What a CPU's task makes in one run along rows that are scanned.

The loop over the strips of a row carries the totals so far (`passes/cpu/strips/scan.py`). What reads totals
is made in that loop, so it is element-wise, along the same dims in the same order: parts of rows, sums of
totals and transposes are kernels of their own.
"""

from __future__ import annotations

from ..domain import Dim, Domain
from ..structured import SCAN
from ..tiling import elementwise, scan
from ..tiling.access import Nest
from ..tiling.registry import rule_of


def scans_problem(domain: Domain) -> str | None:
    """Why a task cannot scan rows and make what else its kernel does of them, or None."""
    scans = [nest for nest in domain.nests if nest.op.name == SCAN]
    if not scans:
        return None
    along = {domain.loops(nest)[loop] for nest in scans for loop in nest.reductions}
    if len(along) > 1:
        return "a task would run along two dims that are scanned"
    if any(dim.extent is None for dim in along):
        return "a row of unknown length would be scanned in steps"
    order = _order(domain, scans[0])
    for nest in _behind(domain, scans):
        if rule_of(nest) not in (elementwise, scan):
            return "only element-wise ops are made of totals in the loop that carries them"
        if _order(domain, nest) != order:
            return "what is made of totals has other dims than they have, or in another order"
    return None


def _behind(domain: Domain, scans: list[Nest]) -> list[Nest]:
    """The scans, and what is made of their results."""
    found = [*scans]
    waiting = [write.value for nest in scans for write in nest.writes]
    while waiting:
        value = waiting.pop()
        for nest in domain.nests:
            if nest not in found and any(access and access.value == value for access in nest.reads):
                found.append(nest)
                waiting += [write.value for write in nest.writes]
    return found


def _order(domain: Domain, nest: Nest) -> list[Dim | None]:
    """The dims of what ``nest`` makes, as they lie, but for those of one element."""
    dims = domain.value_dims(nest.writes[0].value)
    return [dim for dim in dims if dim is None or dim.extent != 1]
