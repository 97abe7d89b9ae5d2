"""Threads that have all tasks of short inner loops: rows of windows side by side hold what the image has."""

from __future__ import annotations

import re

import mlopt
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Windows(nn.Module):
    """Each filter takes one place of one channel: the results are the windows' elements, as they are."""

    def __init__(self, places: int, channels: int, stride: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.stride, self.padding = stride, places // 2
        size = channels * places * places
        self.register_buffer("weight", torch.eye(size, dtype=dtype).reshape(size, channels, places, places))

    def forward(self, x: Tensor) -> Tensor:
        """A convolution."""
        return F.conv2d(x, self.weight, stride=self.stride, padding=self.padding)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("dtype", "shape", "places", "inner"),
    [
        (torch.float16, (1, 3, 58, 64), 7, 24),
        (torch.bfloat16, (2, 3, 58, 32), 7, 24),
        (torch.bfloat16, (1, 5, 62, 64), 3, 24),
        (torch.float16, (1, 3, 57, 33), 7, 0),  # some thread would have none
    ],
)
def test_rows_of_windows(
    dtype: torch.dtype, shape: tuple[int, ...], places: int, inner: int, chip: str
) -> None:
    x = torch.randn(shape).to(dtype)
    x[0, :, ::3] = -0.0
    x[0, :, 1::5] = 2.0**-24  # a denormal of f16
    module = Windows(places, shape[1], 2, dtype)
    compiled = mlopt.jit(module, x, target=f"cuda:{chip}", device="emulator")
    found = re.findall(r"\binner = array<i64: (\d+)>", compiled.asm["layouts"])
    assert found == ([str(inner)] if inner else [])
    assert torch.equal(compiled(x), module(x))
