"""Sorting: short rows by ranks, longer ones by merging sorted parts, a few of many one by one (`leading`).

torch-mlir lowers a sort to scalar loops. A rank is how many elements come before one: an ordinary
reduction over comparisons, which fuses and runs over threads, and whose work is the square of the size. Rows
for which that is more than `LIMIT` are cut into parts, and parts merged two by two. An element of two parts
merged finds its source by a binary search, as many gathers as the part's size has bits, twice: no element
waits for another one, and a merge is a kernel. Parts keep as many elements as are asked for. Rows of dynamic
size have ranks, however long: torch-mlir's loops compare as often, and lose NaN and the order of equals.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .candidates import part_of_candidates, places_in, should_leave_parts
from .leading import first_value, last, leading, not_after, should_take_leading
from .ranks import order_of, ranked_at_once
from .registry import aten, ours

LIMIT = 1 << 22  # comparisons
ROWS = 64  # where their number is dynamic


def first(x: Tensor, most: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The first ``most`` elements of each sorted row, and where they were."""
    if should_leave_parts(x, most):
        return _first_of_candidates(x, most, descending)
    if should_take_leading(x, most):
        return leading(x, most, descending)
    if not _should_merge(x):
        order = order_of(x, most, descending)
        return torch.gather(x, -1, order), order
    size = x.shape[-1]
    merges = (-(-size // ranked_at_once(x.dtype)) - 1).bit_length()
    part, parts = -(-size // 2**merges), 2**merges
    keys = _cut(x, parts, part, descending)
    order = order_of(keys, most, descending)
    keys = torch.gather(keys, -1, order)
    order = (order + torch.arange(parts).unsqueeze(1) * part).to(torch.int32)
    for _ in range(merges):
        shape = (*x.shape[:-1], keys.shape[-2] // 2, 2 * keys.shape[-1])
        source = _merged(keys.reshape(shape), most, descending)
        keys, order = (torch.gather(each.reshape(shape), -1, source) for each in (keys, order))
    keys, order = (each.squeeze(-2)[..., :most] for each in (keys, order))
    return keys.to(x.dtype), order.to(torch.int64)


def _first_of_candidates(x: Tensor, most: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The same of the ``most`` parts of each row that can have them, in the order of the row."""
    part = part_of_candidates(x.shape[-1], most)
    parts = _cut(x, -(-x.shape[-1] // part), part, descending)
    _, chosen = first(first_value(parts, None, descending).squeeze(-1), most, descending)
    places = places_in(first(chosen, most, False)[0], part)
    keys, order = first(torch.gather(parts.flatten(-2), -1, places), most, descending)
    return keys.to(x.dtype), torch.gather(places, -1, order)


def _cut(x: Tensor, parts: int, part: int, descending: bool) -> Tensor:
    """The rows of ``x`` as [..., parts, elements], filled up with what comes last; bools as bytes."""
    keys = x.to(torch.uint8) if x.dtype == torch.bool else x
    filled = aten.constant_pad_nd(keys, [0, part * parts - x.shape[-1]], last(keys.dtype, descending))
    return filled.reshape(*x.shape[:-1], parts, part)


def _should_merge(x: Tensor) -> bool:
    """Whether ranks are too many comparisons, and rows have a size that can be cut into parts."""
    *outer, size = x.shape
    if not isinstance(size, int) or size <= 2 * ranked_at_once(x.dtype):
        return False
    rows = math.prod(outer) if all(isinstance(each, int) for each in outer) else ROWS
    return rows * size * size > LIMIT


def _merged(x: Tensor, most: int, descending: bool) -> Tensor:
    """Where the first ``most`` elements of each row come from, once its two sorted halves are merged.

    Of the first k the search finds how many the first half gives: its element comes before one of the second
    half unless that is less.
    """
    half = x.shape[-1] // 2
    places = torch.arange(min(2 * half, most))
    shape = (*x.shape[:-1], *places.shape)

    def taken(index: Tensor) -> Tensor:
        return torch.gather(x, -1, index.expand(shape))

    def is_first(one: Tensor, other: Tensor) -> Tensor:
        second = taken(other.clamp(min=0, max=half - 1) + half)
        return not_after(taken(one.clamp(max=half - 1)), second, descending)

    given, limit = (places - half).clamp(min=0), places.clamp(max=half)
    for bit in reversed(range(half.bit_length())):
        more = given + 2**bit
        given = torch.where((more <= limit) & is_first(more - 1, places - more), more, given)
    other = places - given
    first = (given < half) & ((other >= half) | is_first(given, other))
    return torch.where(first, given, other + half)


def _sorted(x: Tensor, dim: int, most: int, descending: bool) -> Any:
    values, order = first(x.movedim(dim, -1), most, descending)
    return values.movedim(-1, dim), order.movedim(-1, dim)


@ours(aten.sort.default, aten.sort.stable)
def _sort(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    stable = kwargs.pop("stable", None)
    if stable is None and len(args) == 3:
        args = args[1:]
    dim = args[0] if args else kwargs.get("dim", -1)
    descending = args[1] if len(args) > 1 else kwargs.get("descending", False)
    return _sorted(x, dim, x.shape[dim], descending) if x.dim() > 0 else NotImplemented


@ours(aten.topk.default)
def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> Any:
    """Always sorted."""
    return _sorted(x, dim, k, largest) if x.dim() > 0 and isinstance(k, int) else NotImplemented


@ours(aten.kthvalue.default)
def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Of equals, the place of the one that a stable sort has there."""
    if x.dim() == 0 or not isinstance(k, int):
        return NotImplemented
    values, order = (each.narrow(dim, k - 1, 1) for each in _sorted(x, dim, k, False))
    return (values, order) if keepdim else (values.squeeze(dim), order.squeeze(dim))


@ours(aten.median.dim)
def _median_of_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Of an even number the lower one; the first NaN if there is one."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    if not isinstance(size, int) or size == 0:
        return NotImplemented
    middle = (size - 1) // 2
    values, order = (each.narrow(dim, middle, 1) for each in _sorted(x, dim, middle + 1, False))
    if x.is_floating_point():
        unknown = x != x
        found = unknown.any(dim, keepdim=True)
        values = torch.where(found, float("nan"), values)
        order = torch.where(found, unknown.to(torch.int32).argmax(dim, keepdim=True), order)
    return (values, order) if keepdim else (values.squeeze(dim), order.squeeze(dim))


@ours(aten.median.default)
def _median(x: Tensor) -> Any:
    if not isinstance(x.numel(), int) or x.numel() == 0:
        return NotImplemented
    return torch.median(x.reshape(-1), 0)[0]
