"""embedding_bag: a binary search of the offsets for the bag of each index, where its row is added."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .indices import assert_async, static
from .registry import aten, compute_dtype, ours

_SUM, _MEAN, _MAX = 0, 1, 2  # modes


@ours(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,  # noqa: ARG001 (of gradients)
    mode: int = _SUM,
    sparse: bool = False,  # noqa: ARG001
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """As long as the indices: torch-mlir's compares each bag with each index.

    Offsets that decrease are refused: eager refuses them, or not, by the dtype, the mode and the padding. NaN
    goes through maxima (in eager if it is the first of its bag); that of an empty bag is 0.
    """
    sizes_known = static(weight.shape, indices.shape, offsets.shape)
    if not sizes_known or 0 in (*indices.shape, *offsets.shape):
        return NotImplemented
    total, ends = indices.shape[0], offsets.shape[0]
    assert_async(
        (offsets[0] == 0) & (offsets[ends - 1] <= total), f"offsets of bags begin at 0 and end at {total}"
    )
    if ends > 1:
        assert_async((offsets[1:] >= offsets[:-1]).all(), "offsets of bags do not decrease")
    # Eager's maxima go on to the end of the indices, whatever the last offset says.
    bag = _bags(offsets[: ends - 1] if include_last_offset and mode == _MAX else offsets, total)
    dtype = compute_dtype(weight.dtype)
    rows = weight.index_select(0, indices).to(dtype)
    counted = torch.ones_like(bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.to(dtype).unsqueeze(1)
    if padding_idx >= 0:
        counted = (indices != padding_idx).to(bag.dtype)
        rows = torch.where((indices != padding_idx).unsqueeze(1), rows, -math.inf if mode == _MAX else 0)
    places = torch.zeros(ends, dtype=bag.dtype)
    if mode == _MAX:
        sums, places = _maxima(rows, bag, ends)
        places = indices[places]
    else:
        sums = torch.zeros(ends, weight.shape[1], dtype=dtype).index_put((bag,), rows, accumulate=True)
    counts = torch.zeros(ends, dtype=bag.dtype).index_put((bag,), counted, accumulate=True)
    if include_last_offset:
        sums, counts, places = sums[: ends - 1], counts[: ends - 1], places[: ends - 1]
    if mode == _MEAN:
        sums = sums / counts.clamp(min=1).to(dtype).unsqueeze(1)
    if mode == _MAX:
        sums = torch.where(counts.unsqueeze(1) > 0, sums, 0)
    return sums.to(weight.dtype), bag, counts, places


def _maxima(rows: Tensor, bag: Tensor, bags: int) -> tuple[Tensor, Tensor]:
    """The maximum of each bag and column, and which of ``rows`` is the first that has it."""
    where, total = bag.unsqueeze(1).expand(rows.shape), rows.shape[0]
    lowest = torch.full((bags, rows.shape[1]), -math.inf, dtype=rows.dtype)
    maxima = lowest.scatter_reduce(0, where, rows, "amax")
    number = torch.arange(total).unsqueeze(1)
    hits = torch.where(rows == maxima.index_select(0, bag), number, total - 1)
    return maxima, torch.full(lowest.shape, total - 1).scatter_reduce(0, where, hits, "amin")


def _bags(offsets: Tensor, total: int) -> Tensor:
    """For each of ``total`` places the last of ``offsets`` that is not behind it."""
    place = torch.arange(total, dtype=offsets.dtype)
    bag = torch.zeros_like(place)
    step = 1 << (offsets.shape[0] - 1).bit_length()
    while step := step // 2:
        next_bag = bag + step
        inside = next_bag < offsets.shape[0]
        start = offsets.index_select(0, torch.where(inside, next_bag, 0))
        bag = torch.where(inside & (start <= place), next_bag, bag)
    return bag
