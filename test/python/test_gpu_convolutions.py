"""Convolutions on tensor cores: windows that cp.async copies ahead, and their gates, without a GPU."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.runtime.verification import Verifier
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))
from gpu_convolution_cases import Case, problems

BLOCK = (
    "warps = array<i64: 4>, min_blocks = array<i64: 2>, stages = array<i64: 3>, tile = array<i64: {}, 1, 1>"
)
CORPUS = [
    Case("bf16", 2, 7, 3, 32, 40, schedule=BLOCK.format("2, 8, 4, 40, 32")),
    Case("f16", 1, 8, 12, 32, 64, stride=2, schedule=BLOCK.format("1, 4, 8, 64, 32")),
]


@pytest.mark.parametrize("case", CORPUS, ids=str)
def test_gates(case: Case) -> None:
    """No spills, ldmatrix, cp.async, no conflicts between banks, and from memory what the tiling implies."""
    assert problems(case) == []


class Bottleneck(nn.Module):
    """A block of a ResNet, whose second convolution may be strided."""

    def __init__(self, channels: int, inner: int, stride: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(channels, inner, 1)
        self.two = nn.Conv2d(inner, inner, 3, stride, 1)
        self.three = nn.Conv2d(inner, channels, 1)
        self.past = nn.Conv2d(channels, channels, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.two(torch.relu(self.one(x))))
        return torch.relu(self.three(y) + self.past(x))


MODULES = {
    "3x3": (lambda: nn.Conv2d(16, 24, 3, padding=1), (3, 16, 9, 7)),
    "7x7, stride 2": (lambda: nn.Conv2d(8, 16, 7, 2, 3), (1, 8, 18, 14)),
    "dilated": (lambda: nn.Conv2d(16, 16, 3, padding=2, dilation=2), (2, 16, 10, 11)),
    "pooling": (
        lambda: nn.Sequential(nn.Conv2d(8, 16, 3), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3)),
        (2, 8, 13, 15),
    ),
    "bottleneck": (lambda: Bottleneck(32, 16, 1), (2, 32, 7, 7)),
    "strided bottleneck": (lambda: Bottleneck(32, 16, 2), (2, 32, 8, 10)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    """Right in torch's order of dims, too, one convolution behind the other, with what is between.

    No bank conflicts: results and what is added to them change hands through shared memory.
    """
    make, shape = MODULES[name]
    dtype = torch.float16 if len(name) % 2 else torch.bfloat16
    module, x = make().to(dtype).eval(), torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
        assert "cp.async.cg.shared.global" in compiled.asm["ptx"]
        assert all(kernel.spills == 0 for kernel in compiled.report.gpu.kernels)
        x = torch.randn(shape, dtype=dtype)
        with emulator.record() as reports:
            made = compiled(x)
        Verifier(module, (x,), {}).check(made)
    assert sum(report.counters.bank_conflicts for report in reports) == 0


def test_an_image_that_lies_with_its_channels_last() -> None:
    """It is read as it lies, by one kernel; a later image that does not is right, too."""
    module, shape = nn.Conv2d(16, 24, 3, padding=1).half().eval(), (3, 16, 9, 7)
    x = torch.randn(shape, dtype=torch.float16)
    last = x.to(memory_format=torch.channels_last)
    with torch.no_grad():
        turned, compiled = (
            mlopt.jit(module, each, target="cuda:sm_80", device="emulator") for each in (x, last)
        )
        assert [kernel.ops[0] for kernel in turned.kernels if kernel.function == "main"] == [
            "transpose",
            "cast",
        ]
        assert [kernel.ops[0] for kernel in compiled.kernels if kernel.function == "main"] == ["cast"]
        for value in (last, x):
            Verifier(module, (value,), {}).check(compiled(value))
            assert compiled(value).stride() == module(value).stride()


FEW = [
    (nn.Conv2d(3, 40, 7, 2, 3), (1, 3, 18, 22)),
    (nn.Conv2d(3, 64, 7, 2, 3), (2, 3, 17, 21)),
    (nn.Conv2d(3, 24, 3, 1, 1), (2, 3, 9, 13)),
    (nn.Conv2d(4, 16, 3, 2, 1), (3, 4, 12, 10)),
    (nn.Conv2d(3, 16, 5, dilation=2), (1, 3, 15, 17)),
    (nn.Conv1d(3, 16, 15), (2, 3, 70)),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("module", "shape"), FEW, ids=lambda each: "x".join(map(str, each)) if isinstance(each, tuple) else ""
)
def test_few_channels(module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """A row of the window in one step: infinities beside a window stay outside of it."""
    module, x = copy.deepcopy(module).to(dtype), torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
        assert '"rows"' in compiled.asm["kernels"]
        assert "mma.sync" in compiled.asm["ptx"]
        # The one step of a window of one row has nothing to come ahead of.
        assert ("cp.async.cg.shared.global" in compiled.asm["ptx"]) == (x.dim() > 3)
        assert compiled.report.gpu.spills == 0
        Verifier(module, (x,), {}).check(compiled(x))
        x.view(-1)[torch.randperm(x.numel())[:3]] = torch.tensor(
            [torch.inf, -torch.inf, torch.nan], dtype=dtype
        )
        made, wanted = compiled(x), module.double()(x.double())
    assert torch.equal(made.isfinite(), wanted.isfinite()) and torch.equal(made.isnan(), wanted.isnan())
