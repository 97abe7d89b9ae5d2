"""Where the first few elements of a long sorted row can be: parts of it, the rest is not looked at again.

A row is cut into parts. Of its first k elements none lies outside the k parts whose own first elements come
first: each of these has an element that comes before all of another part's. Parts are in order, so that of
equals the first still comes first. What is left are k parts, a row in which the same can be done again, as
for the parts' first elements: with parts of sqrt(size / k) elements both have sqrt(size * k), the fewest.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Of how many elements one may be wanted: with more, parts have too few to be worth kernels of their own.
FEW = 8
SHORT = 128  # elements, of whose ranks one kernel makes the order


def should_leave_parts(x: Tensor, most: int | torch.SymInt) -> bool:
    """Whether the first ``most`` of each row are few, of many."""
    size = x.shape[-1]
    if not isinstance(most, int) or not isinstance(size, int):  # asking would fix a dynamic size
        return False
    return most > 0 and size > SHORT and size >= FEW * most


def part_of_candidates(size: int, most: int) -> int:
    """How many elements a part should have."""
    return math.isqrt(size // most)


def places_in(chosen: Tensor, part: int) -> Tensor:
    """The places of all elements of the ``chosen`` parts, [..., chosen * part], in the order of these."""
    return (chosen.unsqueeze(-1) * part + torch.arange(part)).flatten(-2)
