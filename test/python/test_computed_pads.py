"""What is padded or written over in part, and computed where it is read, is as in eager."""

from __future__ import annotations

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.runtime.verification import Verifier
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")

TARGETS = {"cpu": {}, "emulator": {"device": "emulator", "target": "cuda:sm_80"}}


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def check(function, inputs, target):
    """A call beside eager and float64."""
    module = Function(function)
    compiled = mlopt.jit(module, *inputs, **TARGETS[target])
    Verifier(module, tuple(inputs), {}).check(compiled(*inputs))


WIDE = {
    "before": lambda x, y: F.pad(x.relu() + y, (3, 0)) - 1,
    "behind": lambda x, y: F.pad(x * y[:, :1], (0, 3, 2, 1), value=-2.0).sum(-1),
    "softmax": lambda x, y: F.pad(x * y[0], (7, 2), value=-float("inf")).softmax(-1),
    "columns": lambda x, y: F.pad(x - y, (0, 0, 1, 2)).amax(0),
    "of a part": lambda x, y: F.pad(x[1:, 2:-1], (2, 1)) / y[1:],
    "for two": lambda x, y: (lambda p: (p.tanh(), p.sum(0), p))(F.pad(x, (1, 4))),
    "written over": lambda x, y: x.slice_scatter(y[:, 2:9] * 2, 1, 3, 10).cumsum(-1),
    "written over twice": lambda x, y: x.select_scatter(y[0], 0, 1).slice_scatter(y[:, :4], 1, 2, 6).exp(),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_floats(dtype, target):
    """With what is not finite, which is nowhere else than in eager."""
    x, y = (torch.randn(5, 29).to(dtype) for _ in range(2))
    x[2, 3], x[3, 0], x[4, 28] = float("inf"), float("nan"), -float("inf")
    check(lambda x, y: tuple(function(x, y) for function in WIDE.values()), (x, y), target)


@pytest.mark.parametrize("target", TARGETS)
def test_integers(target):
    """Quotients, which trap where the padding would be divided by, and whole numbers of all widths."""
    pairs = [
        torch.randint(1, 2 if dtype is torch.bool else 100, (2, 5, 29)).to(dtype)
        for dtype in (torch.int64, torch.uint8, torch.bool)
    ]

    def padded(*pairs):
        for x, y in pairs:
            divided = torch.logical_and(x, y) if x.dtype is torch.bool else x // y
            yield F.pad(divided, (2, 3)) + 1, F.pad(x | y, (1, 2)).sum(-1)

    check(lambda *pairs: tuple(padded(*pairs)), pairs, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(2, 1), (12, 11)])
def test_borders_of_any_length(pad, mode, target):
    """Of rows whose length is known at the call only: one program for all."""
    columns = torch.export.Dim("columns", min=16)
    module = Function(lambda x: F.pad(x, pad, mode=mode))
    compiled = mlopt.jit(module, torch.randn(5, 37), dynamic_shapes=(({1: columns},),), **TARGETS[target])
    for size in (16, 29, 130):
        x = torch.randn(5, size)
        assert torch.equal(compiled(x), module(x))
