"""How far attention of half floats may be off from float64, for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel


def check_values(made: Tensor, function: Callable[..., Tensor], inputs: Sequence[Tensor]) -> None:
    """The weights are rounded once, the result once; what is done in f32 is far less.

    ``function`` takes queries, keys, values and what else there is, and is linear in the values.
    """
    q, k, v, *more = (each.double() if each.is_floating_point() else each for each in inputs)
    with sdpa_kernel(SDPBackend.MATH):
        exact, terms = (function(q, k, each, *more).nan_to_num() for each in (v, v.abs()))
    allowed = 1.01 * torch.finfo(made.dtype).eps / 2 * (terms + exact.abs())
    off = (made.double().nan_to_num() - exact).abs()
    assert (off <= allowed).all(), f"{(off / allowed).nan_to_num().max():.2f} of what it may be off"
