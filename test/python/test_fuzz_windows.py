"""Random convolutions and poolings between element-wise ops, within the bound of docs/semantics.md.

MLOPT_FUZZ=N runs N / 20 of them instead of the few of every test run, and N / 100 on the emulator. A window's
rows, padding, strides and groups decide whether what is before it is computed ahead, in scratch, or is a
kernel of its own; a GPU's blocks compute it where they read it.
"""

from __future__ import annotations

import os
import random

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn
from torch.nn import functional as F

PROGRAMS = int(os.environ.get("MLOPT_FUZZ", "300")) // 20
FIRST = int(os.environ.get("MLOPT_FUZZ_FIRST", "0"))
BEFORE = (torch.relu, torch.exp, F.silu, F.gelu, lambda x: x * 0.5 + 1, lambda x: torch.relu(x) * x)
BEHIND = (torch.relu, lambda x: x, lambda x: x + 1)
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
MAXIMA = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
DTYPES = (torch.float32, torch.float32, torch.float64, torch.bfloat16)
MEANS = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)


class Window(nn.Module):
    """``layer`` with something before it and something behind it."""

    def __init__(self, before, layer, behind):
        super().__init__()
        self.before, self.layer, self.behind = before, layer, behind

    def forward(self, x):
        return self.behind(self.layer(self.before(x)))


def window(rng: random.Random) -> tuple[nn.Module, tuple[int, ...]]:
    """A module, and the shape of its input."""
    dims = rng.choice((1, 2, 2, 2, 3))
    channels = rng.choice((1, 2, 4, 6))
    sizes = [rng.choice((7, 16, 17, 33, 40, 65, 102) if dims < 3 else (4, 5, 9, 18)) for _ in range(dims)]
    kernel = [rng.choice((1, 2, 3, 5)) for _ in range(dims)]
    stride = [rng.choice((1, 1, 2, 3)) for _ in range(dims)]
    kind = rng.choice(("depthwise", "dense", "groups", "maximum", "mean"))
    if kind in ("maximum", "mean"):
        padding = [rng.randint(0, size // 2) for size in kernel]
        layer = (MAXIMA if kind == "maximum" else MEANS)[dims - 1](kernel, stride, padding)
    else:
        groups = {"depthwise": channels, "groups": 2 if channels % 2 == 0 else 1}.get(kind, 1)
        if dims == 3:  # torch-mlir does not take all others
            groups = 1
        results = channels if kind == "depthwise" else rng.choice((2, 4, 34))
        dilation = [rng.choice((1, 1, 2)) for _ in range(dims)]
        wide = 60 if dims == 1 else 8
        padding = [rng.choice((0, 1, 2, rng.randint(0, wide))) for _ in range(dims)]
        layer = CONVOLUTIONS[dims - 1](channels, results, kernel, stride, padding, dilation, groups)
    return Window(rng.choice(BEFORE), layer, rng.choice(BEHIND)), (rng.choice((1, 1, 2, 3)), channels, *sizes)


def fits(module: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether the window is no larger than what it slides over."""
    try:
        return module(torch.empty(shape, device="meta")).numel() > 0
    except RuntimeError:
        return False


@pytest.mark.usefixtures("inference")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_random_windows(seed):
    check(seed, DTYPES)


@pytest.mark.usefixtures("inference")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS // 5))
def test_random_windows_on_the_emulator(seed):
    check(seed, (*DTYPES, torch.float16), device="emulator", target="cuda:sm_80")


def check(seed, dtypes, **options):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    module, shape = window(rng)
    while not fits(module.to("meta"), shape):
        module, shape = window(rng)
    module = module.to_empty(device="cpu").to(rng.choice(dtypes))
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(shape, dtype=next(module.parameters(), torch.empty(0)).dtype)
    compiled = mlopt.jit(module.eval(), x, **options)
    Verifier(module, (x,), {}).check(compiled(x))
