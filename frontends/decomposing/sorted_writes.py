"""Writes through many indices into many places: indices are sorted, so that those of a place stand together.

For targets without loops over tensors, where there are too many pairs to compare. A place finds its last
index by a binary search. What is added up, or reduced otherwise, is scanned along the sorted indices, and a
place takes what stands at its last one: the same from run to run, unlike atomic additions, and memory is
moved a few times.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .registry import aten
from .scans import part_of
from .sorting import first

_PAIRS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": torch.add,
    "prod": torch.mul,
    "amax": torch.maximum,
    "amin": torch.minimum,
}


def write_sorted(x: Tensor, index: Tensor, values: Tensor) -> Tensor:
    """x[index[k]] = values[k] for indices from 0; of equal ones the last wins."""
    keys, order = _sorted(index, x.shape[0])
    hit, last = _last(keys, x)
    return torch.where(hit, values[order[last]], x)


def reduce_sorted(
    x: Tensor, index: Tensor, values: Tensor, reduce: str, neutral: float, *, include_self: bool = True
) -> Tensor:
    """For each place its values, of those whose indices name it, reduced with x[place], or without."""
    keys, order = _sorted(index, x.shape[0])
    hit, last = _last(keys, x)
    taken = _runs(values[order], keys, keys, reduce, neutral)[last]
    return torch.where(hit, _PAIRS[reduce](x, taken) if include_self else taken, x)


def _sorted(index: Tensor, places: int) -> tuple[Tensor, Tensor]:
    """The indices in order, equal ones as they were, and where each of them was."""
    return first(index.to(torch.int32) if places < 2**31 else index, index.shape[0], descending=False)


def _last(keys: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Whether the keys have a place of ``x``, as a row of its shape, and where the last such one is."""
    given, places = keys.shape[0], torch.arange(x.shape[0])
    ends = torch.zeros_like(places)  # of each place: how many keys are not above it
    for bit in reversed(range(given.bit_length())):
        more = ends + 2**bit
        key = torch.gather(keys, 0, (more - 1).clamp(max=given - 1))
        ends = torch.where((more <= given) & (key <= places), more, ends)
    last = (ends - 1).clamp(min=0)
    hit = (ends > 0) & (torch.gather(keys, 0, last) == places)
    return hit.reshape(-1, *[1] * (x.dim() - 1)), last


def _runs(
    x: Tensor, mine: Tensor, theirs: Tensor, reduce: str, neutral: float, *, exclusive: bool = False
) -> Tensor:
    """For each place all x[k] up to it, or before it, whose key ``theirs[k]`` is ``mine[place]``, reduced.

    Keys are sorted, none of ``theirs`` is above one of ``mine`` that comes after it: what a part's first key
    has before the part are the last runs of those before it. Parts as of a scan (`scans._scan_parts`).
    """
    size, rest = x.shape[0], x.shape[1:]
    part = part_of(size)
    parts = -(-size // part)
    more = parts * part - size
    if more:
        x = aten.constant_pad_nd(x, [*[0, 0] * len(rest), 0, more], neutral)
        above = torch.iinfo(mine.dtype).max
        mine, theirs = (aten.constant_pad_nd(keys, [0, more], above) for keys in (mine, theirs))
    x = x.reshape(parts, part, *rest)
    mine, theirs = mine.reshape(parts, part), theirs.reshape(parts, part)

    def chosen(which: Tensor, values: Tensor) -> Tensor:
        return torch.where(which.reshape(*which.shape, *[1] * len(rest)), values, neutral)

    places = torch.arange(part)
    before = places < places.unsqueeze(1) if exclusive else places <= places.unsqueeze(1)
    same = (theirs.unsqueeze(1) == mine.unsqueeze(2)) & before
    found = _total(reduce, chosen(same, x.unsqueeze(1)), 2)
    if parts > 1:
        tails = _total(reduce, chosen(theirs == theirs[:, -1:], x), 1)
        carried = _runs(tails, mine[:, 0], theirs[:, -1], reduce, neutral, exclusive=True)
        found = _PAIRS[reduce](found, chosen(mine == mine[:, :1], carried.unsqueeze(1)))
    return found.reshape(parts * part, *rest).narrow(0, 0, size)


def _total(reduce: str, x: Tensor, dim: int) -> Tensor:
    if reduce in ("sum", "prod"):
        return (torch.sum if reduce == "sum" else torch.prod)(x, dim, dtype=x.dtype)
    return (torch.amax if reduce == "amax" else torch.amin)(x, dim)
