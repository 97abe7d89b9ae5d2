"""embedding_bag: a binary search of the offsets for the bag of each index, where its row is added."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .indices import assert_async, static
from .registry import aten, compute_dtype, ours

_SUM, _MEAN = 0, 1  # modes


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

    Offsets that decrease are refused: eager refuses them, or not, by the dtype, the mode and the padding.
    """
    sizes_known = static(weight.shape, indices.shape, offsets.shape)
    if mode not in (_SUM, _MEAN) or not sizes_known or 0 in (*indices.shape, *offsets.shape):
        return NotImplemented
    total, ends = indices.shape[0], offsets.shape[0]
    assert_async(
        (offsets[0] == 0) & (offsets[ends - 1] <= total), f"offsets of bags begin at 0 and end at {total}"
    )
    if ends > 1:
        assert_async((offsets[1:] >= offsets[:-1]).all(), "offsets of bags do not decrease")
    bag = _bags(offsets, total)
    dtype = compute_dtype(weight.dtype)
    rows = weight.index_select(0, indices).to(dtype)
    counted = torch.ones_like(bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.to(dtype).unsqueeze(1)
    if padding_idx >= 0:
        counted = (indices != padding_idx).to(bag.dtype)
        rows = torch.where((indices != padding_idx).unsqueeze(1), rows, 0)
    sums = torch.zeros(ends, weight.shape[1], dtype=dtype).index_put((bag,), rows, accumulate=True)
    counts = torch.zeros(ends, dtype=bag.dtype).index_put((bag,), counted, accumulate=True)
    if include_last_offset:
        sums, counts = sums[: ends - 1], counts[: ends - 1]
    if mode == _MEAN:
        sums = sums / counts.clamp(min=1).to(dtype).unsqueeze(1)
    return sums.to(weight.dtype), bag, counts, torch.zeros_like(counts)


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
