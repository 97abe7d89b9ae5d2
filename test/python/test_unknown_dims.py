"""Reductions over several dims of unknown length: each is made once, in as many kernels as that takes."""

from __future__ import annotations

from collections.abc import Callable

import mlopt
import pytest
import torch
from torch import nn

Shape = tuple[int | str, ...]  # a letter is a dim of unknown length


def _scaled_softmax(x: torch.Tensor) -> torch.Tensor:
    y = x / (1 + x.abs().var([1], keepdim=True, unbiased=False))
    return y.relu() * y.softmax(0)


PROGRAMS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], Shape]] = {
    "columns of rows": (lambda x: (x / x.abs().sum(1, keepdim=True)).abs().sum(0), ("l", "w", 17)),
    "rows of columns": (lambda x: (x - x.mean(0)).abs().sum(1), ("l", "w", 17)),
    "rows, channels between": (lambda x: (x - x.mean(0)).abs().sum(2), ("l", 17, "w")),
    "columns, channels between": (
        lambda x: (x / x.abs().sum(2, keepdim=True)).abs().sum(0),
        ("l", 17, "w"),
    ),
    "softmax": (lambda x: (x - x.softmax(0)).sum(1), ("a", "b", "c")),
    "two dims and one": (
        lambda x: (x.relu() * x.amax([0, 1], keepdim=True)).sum([2]),
        ("a", "b", "c", "e"),
    ),
    "rows and two dims": (lambda x: x - (x - x.softmax(3)).amax([0, 1], keepdim=True), (3, "a", "b", "c")),
    "softmax of scaled": (_scaled_softmax, ("a", "b", "c")),
    "rows and all": (lambda x: x / (x / x.abs().sum(1, keepdim=True)).abs().sum((0, 1)), ("l", "w", 17)),
    "much to keep": (lambda x: x.softmax(1) - x.abs().sum(0), (640, "l", 17)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    program, shape = PROGRAMS[name]

    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return program(x)

    def sample(lengths: tuple[int, ...]) -> torch.Tensor:
        return torch.randn([lengths[at] if isinstance(n, str) else n for at, n in enumerate(shape)])

    sizes = {at: torch.export.Dim(n, min=2) for at, n in enumerate(shape) if isinstance(n, str)}
    compiled = mlopt.jit(Module(), sample((6, 7, 8, 9)), dynamic_shapes=(sizes,))
    assert sum(each.calls for each in compiled.kernels) > 1
    for lengths in ((2, 7, 33, 40), (33, 2, 7, 5), (7, 70, 2, 3)):
        x = sample(lengths)
        expected = program(x.double())
        close = 3e-5 * max(float(expected.abs().max()), 1)
        torch.testing.assert_close(compiled(x).double(), expected, rtol=3e-5, atol=close)
