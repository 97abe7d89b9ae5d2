"""Where the bytes of a box are: in global memory, and in shared memory behind the swizzle."""

from __future__ import annotations

import numpy as np

from .ptx import Array
from .tensor_maps import TensorMap

UNIT = 16  # the bytes that a swizzle moves together


def rows(box: TensorMap, at: tuple[int, ...], offsets: tuple[int, ...]) -> tuple[Array, Array]:
    """The addresses of the rows of a box at coordinates ``at``, and whether each is inside of the tensor.

    A row is what lies together in the innermost dimension, whose own bounds are `inside`.
    """
    if box.im2col:
        return _pixels(box, at, offsets)
    address = np.full(1, box.address, np.int64)
    good = np.ones(1, np.bool_)
    for dim in range(1, box.rank):
        index = at[dim] + np.arange(box.counts[dim], dtype=np.int64) * box.element_strides[dim]
        inside_here = (index >= 0) & (index < box.dims[dim])
        address = (index[:, None] * box.strides[dim - 1] + address[None, :]).reshape(-1)
        good = (inside_here[:, None] & good[None, :]).reshape(-1)
    return address, good


def _pixels(box: TensorMap, at: tuple[int, ...], offsets: tuple[int, ...]) -> tuple[Array, Array]:
    """The rows of an im2col box: pixels from ``at`` on within the corners, W first, images last."""
    spatial = box.rank - 2
    low = box.lower
    counts = [
        -(-(size + upper - lower) // step)
        for size, lower, upper, step in zip(
            box.dims[1:-1], low, box.upper, box.element_strides[1:-1], strict=True
        )
    ]
    steps = box.element_strides[1:-1]
    start = at[-1]
    for dim in reversed(range(spatial)):
        start = start * counts[dim] + (at[1 + dim] - low[dim]) // steps[dim]
    number = start + np.arange(box.pixels, dtype=np.int64)
    address, good = np.full(box.pixels, box.address, np.int64), np.ones(box.pixels, np.bool_)
    for dim in range(spatial):
        phase = (at[1 + dim] - low[dim]) % steps[dim]
        index = number % counts[dim] * steps[dim] + low[dim] + phase + offsets[dim]
        number = number // counts[dim]
        good &= (index >= 0) & (index < box.dims[1 + dim])
        address += index * box.strides[dim]
    good &= (number >= 0) & (number < box.dims[-1])
    return address + number * box.strides[-1], good


def inside(box: TensorMap, first: int) -> tuple[int, int]:
    """Which elements of a row that begins at ``first`` are inside of the tensor."""
    count = box.counts[0]
    return max(0, min(count, -first)), max(0, min(count, box.dims[0] - first))


def swizzled(box: TensorMap, address: int, size: int) -> Array:
    """For each 16 bytes of a box in shared memory at ``address``, which 16 bytes of it are there in fact."""
    units = (address + np.arange(0, size, UNIT)) >> 4
    mask = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[box.swizzle]
    found: Array = (units ^ ((units >> 3) & mask)) - (address >> 4)
    return found
