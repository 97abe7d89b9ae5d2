"""Elements of boxes: what copies by tensor maps make of them, and what they put where there are none.

The types tf32 and .ftz change what is loaded: tf32 rounds to the nearest even of 10 bits of fraction and lets
infinities and NaNs be, .ftz flushes subnormal numbers to zeros of their sign before that. What they make of
elements that are stored, NVIDIA's documents leave open.
"""

from __future__ import annotations

import numpy as np

from .formats import flush
from .ptx import Array
from .tensor_maps import TensorMap

_NAN = {2: 0x7FFF, 4: 0x7FFFFFFF, 8: 0x7FFFFFFFFFFFFFFF}
_DROPPED = 13  # the bits of f32's fraction that tf32 has not


def filled(box: TensorMap, size: int) -> Array:
    """A box of what is outside of the tensor."""
    if box.fill == "zeros":
        return np.zeros(size, np.uint8)
    return np.full(size // box.element, _NAN[box.element], f"u{box.element}").view(np.uint8)


def loaded(box: TensorMap, data: Array) -> Array:
    """The bytes of elements as shared memory gets them."""
    name, _, ftz = box.type.partition(".")
    if not ftz and name != "tf32":
        return data
    values = flush(data.view(np.float32)) if ftz else data.view(np.float32)
    return (_rounded(values.view(np.uint32)) if name == "tf32" else values).view(np.uint8)


def _rounded(bits: Array) -> Array:
    """f32 as tf32, whose last bits are zeros: to the nearest, ties to even."""
    odd = bits >> np.uint32(_DROPPED) & np.uint32(1)
    half = np.uint32((1 << _DROPPED - 1) - 1)
    nearest = (bits + half + odd) & np.uint32(-1 << _DROPPED & 0xFFFFFFFF)
    finite = bits & np.uint32(0x7F800000) != np.uint32(0x7F800000)
    return np.where(finite, nearest, bits)


def open_when_stored(box: TensorMap, data: Array) -> str:
    """Why elements cannot be stored: the type of the map has not their values; empty if they can."""
    if not len(data) or np.array_equal(loaded(box, data), data):
        return ""
    return f"a store of f32 that {box.type} has not by a map of that type, which the ISA leaves open"
