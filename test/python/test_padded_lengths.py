"""Pads of dims of unknown length: what is behind a tensor in memory is never read for its padding."""

from __future__ import annotations

from collections.abc import Callable

import mlopt
import pytest
import torch
from torch import nn
from torch.export import Dim

Shape = tuple[int | str, ...]  # a letter is a dim of unknown length

PROGRAMS: dict[str, tuple[Callable[..., torch.Tensor], tuple[Shape, ...]]] = {
    "rows of a product": (lambda x, y: nn.functional.pad(x, (0, 0, 0, 4)) @ y, (("n", 9), (9, 16))),
    "batches of a product": (
        lambda x, y: nn.functional.pad(x, (1, 0, 1, 1, 0, 3)) @ y,
        (("n", 3, 6), (1, 7, 8)),
    ),
    "rows in front and behind": (lambda x: nn.functional.pad(x, (0, 0, 2, 3)).relu() + 1, (("n", 9),)),
    "sums of rows": (lambda x: nn.functional.pad(x, (0, 5)).exp().sum(-1), ((6, "n"),)),
    "sums of columns": (lambda x: nn.functional.pad(x, (0, 0, 0, 4)).exp().sum(0), (("n", 9),)),
}


def surrounded(shape: Shape, length: int) -> torch.Tensor:
    """Random numbers with NaN before and behind them in memory."""
    x = torch.randn([length if isinstance(size, str) else size for size in shape])
    around = torch.full((3 * x.numel(),), torch.nan)
    return around[x.numel() : 2 * x.numel()].view(x.shape).copy_(x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_behind_a_tensor_is_read(name: str) -> None:
    function, shapes = PROGRAMS[name]
    dynamic = tuple(
        {dim: Dim.DYNAMIC for dim, size in enumerate(shape) if isinstance(size, str)} for shape in shapes
    )
    fast = mlopt.jit(function, *(surrounded(shape, 6) for shape in shapes), dynamic_shapes=dynamic)
    for length in (2, 5, 33, 257):
        inputs = [surrounded(shape, length) for shape in shapes]
        exact = function(*(each.double() for each in inputs))
        torch.testing.assert_close(fast(*inputs).double(), exact, rtol=1e-5, atol=1e-4)
