"""Memory that a call writes to and that another of its tensors reads: an error.

Compiled code reads all of its inputs before it writes to one. Eager would see the new values of a
mutated tensor through every other that shares elements with it, so such calls are refused. Slices of
one storage that have no element in common share nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ..errors import InputError

# How far numpy may search for a common element of two interleaved tensors before they count as sharing.
MAX_WORK = 100_000


class Region(NamedTuple):
    """The bytes from ``start`` to ``end`` in which all elements of ``value`` lie; ``what`` names it."""

    what: str
    start: int
    end: int
    value: Any


def region(what: str, value: torch.Tensor | np.ndarray[Any, Any]) -> Region:
    """Where the elements of a tensor or an array are."""
    if isinstance(value, np.ndarray):
        start, end = np.lib.array_utils.byte_bounds(value)
        return Region(what, start, end if value.size else start, value)
    start = value.data_ptr()
    if not value.numel():
        return Region(what, start, start, value)
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return Region(what, start, start + (last + 1) * value.dtype.itemsize, value)


def refuse_sharing(written: Sequence[Region], others: Sequence[Region]) -> None:
    """Raise `InputError` if one of ``written`` has an element in common with one of ``others``."""
    for one in written:
        for other in others:
            if one.start < other.end and other.start < one.end and one is not other and _share(one, other):
                raise InputError(
                    f"{one.what} is written to and shares memory with {other.what}",
                    remedy="pass a copy of one of them",
                )


def _share(one: Region, other: Region) -> bool:
    try:
        return np.shares_memory(_as_array(one.value), _as_array(other.value), max_work=MAX_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _as_array(value: torch.Tensor | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of the same addresses, which nobody reads: the tensor may be a GPU's."""
    if isinstance(value, np.ndarray):
        return value
    size = value.dtype.itemsize
    interface = {
        "version": 3,
        "typestr": f"|V{size}",
        "shape": tuple(value.shape),
        "strides": tuple(stride * size for stride in value.stride()),
        "data": (value.data_ptr(), True),
    }
    return np.asarray(type("Addresses", (), {"__array_interface__": interface})())
