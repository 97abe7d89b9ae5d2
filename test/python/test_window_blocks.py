"""Windows whose weights are taken in blocks: of channels where registers have 256 bits, of rows where 512."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")

# The last one has AVX2 on any machine.
CPUS = ["host", "x86-64-v3"]
# Channels of a block are not always a part of all, strips and rows not always whole.
WINDOWS = {
    "3x3": (lambda: nn.Conv2d(72, 32, 3, padding=1), (1, 72, 13, 17)),
    "3x3 of 56 columns": (lambda: nn.Conv2d(64, 64, 3, padding=1), (1, 64, 9, 56)),
    "3x3 of 7 columns": (lambda: nn.Conv2d(128, 48, 3, padding=1), (2, 128, 7, 7)),
    "stride": (lambda: nn.Conv2d(68, 16, 3, stride=2, padding=1), (1, 68, 14, 15)),
    "5x5 without padding": (lambda: nn.Conv2d(40, 80, 5), (1, 40, 11, 12)),
    "dilated": (lambda: nn.Conv2d(64, 32, 3, padding=2, dilation=2), (1, 64, 10, 11)),
    "groups": (lambda: nn.Conv2d(128, 64, 3, padding=1, groups=2), (1, 128, 8, 9)),
    "one row": (lambda: nn.Conv2d(96, 32, (1, 3), padding=(0, 1)), (1, 96, 1, 25)),
    "24 channels": (lambda: nn.Conv2d(96, 24, 3, padding=1), (1, 96, 8, 10)),
    "odd channels": (lambda: nn.Conv2d(61, 32, 3, padding=1), (1, 61, 8, 10)),
}


def check(module: nn.Module, x: torch.Tensor, cpu: str) -> None:
    """Compile it, and call it with other numbers, beside eager and float64."""
    compiled = mlopt.jit(module, x, cpu=cpu)
    x = torch.randn_like(x)
    Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window: str, cpu: str) -> None:
    make, shape = WINDOWS[window]
    check(nn.Sequential(make(), nn.ReLU()).eval(), torch.randn(shape), cpu)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_dtypes(dtype: torch.dtype, cpu: str) -> None:
    make, shape = WINDOWS["3x3"]
    check(make().eval().to(dtype), torch.randn(shape, dtype=dtype), cpu)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("weight", [float("inf"), float("nan")])
@pytest.mark.parametrize("channel", [0, 71])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (2, 1)])
def test_what_is_not_finite(place: tuple[int, int], channel: int, weight: float, cpu: str) -> None:
    """The padding's zeros are multiplied by it, in whichever block it is."""
    module = nn.Conv2d(72, 16, 3, padding=1)
    module.weight[1, channel, *place] = weight
    x = torch.randn(1, 72, 6, 7)
    expected = module.double()(x.double())
    actual = mlopt.jit(module.float(), x, cpu=cpu)(x)
    torch.testing.assert_close(actual.double(), expected, equal_nan=True, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cpu", CPUS)
def test_threads(cpu: str) -> None:
    """The same bits by 1, 2 and 5 threads."""
    make, shape = WINDOWS["3x3"]
    x = torch.randn(shape)
    compiled = mlopt.jit(make().eval(), x, cpu=cpu)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(compiled(x).clone())
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
