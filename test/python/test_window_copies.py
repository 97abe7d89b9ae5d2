"""Windows on the CPU that read copies: images of whole pages, and large windows with masks of 256 bits."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn
from torch.nn import Sequential as Seq

pytestmark = pytest.mark.usefixtures("inference")

# A layer, and the shape of its input, whose channels are whole pages apart: two kernels.
PAGES = {
    "3x3": (lambda: nn.Conv2d(16, 19, 3, padding=1), (1, 16, 32, 32)),
    "batch": (lambda: nn.Conv2d(17, 16, 3, padding=1), (3, 17, 64, 16)),
    "no padding": (lambda: nn.Conv2d(16, 8, 3), (1, 16, 32, 32)),
    "padded to pages": (lambda: nn.Conv2d(16, 8, 5, padding=(16, 0)), (1, 16, 32, 32)),
    "asymmetric": (lambda: Seq(nn.ConstantPad2d((2, 0, 1, 3), 0.0), nn.Conv2d(16, 7, 3)), (1, 16, 32, 32)),
    "ones": (lambda: Seq(nn.ConstantPad2d(1, 1.0), nn.Conv2d(16, 7, 3)), (1, 16, 32, 32)),
    "dilated": (lambda: nn.Conv2d(16, 32, 3, padding=3, dilation=3), (1, 16, 32, 32)),
    "groups": (lambda: nn.Conv2d(32, 32, 3, padding=1, groups=2), (1, 32, 32, 32)),
    "one column": (lambda: nn.Conv2d(24, 1, 3, padding=1), (1, 24, 32, 32)),
    "two readers": (lambda: Two(), (1, 16, 32, 32)),
    "row": (lambda: nn.Conv1d(16, 16, 5, padding=2), (1, 16, 1024)),
}  # fmt: skip
# With registers of 256 bits a task copies, with the padding, what such a window reads: one kernel.
LARGE = {
    "7x7": (lambda: nn.Conv2d(6, 6, 7, padding=3, groups=6), (2, 6, 13, 37)),
    "5x5": (lambda: nn.Conv2d(6, 6, 5, padding=2, groups=6), (1, 6, 21, 33)),
    "rows only": (lambda: nn.Conv2d(6, 6, (9, 5), padding=(4, 0), groups=6), (1, 6, 21, 40)),
    "dilated": (lambda: nn.Conv2d(6, 6, 5, padding=6, dilation=3, groups=6), (1, 6, 21, 33)),
    "stride": (lambda: nn.Conv2d(6, 6, 5, stride=2, padding=2, groups=6), (1, 6, 20, 66)),
    "stride, odd size": (lambda: nn.Conv2d(6, 6, 5, stride=2, padding=2, groups=6), (1, 6, 21, 67)),
    "asymmetric": (
        lambda: Seq(nn.ConstantPad2d((5, 0, 1, 3), 2.5), nn.Conv2d(3, 3, 6, groups=3)), (1, 3, 17, 50)
    ),
    "conv1d": (lambda: nn.Conv1d(5, 5, 31, padding=15, groups=5), (2, 5, 333)),
    "max": (lambda: nn.MaxPool2d(5, 1, 2), (1, 5, 20, 35)),
    "average": (lambda: nn.AvgPool2d(5, 1, 2), (1, 5, 20, 35)),
    "average of what is there": (lambda: nn.AvgPool2d(5, 1, 2, count_include_pad=False), (1, 5, 20, 35)),
}  # fmt: skip
NARROW = {"cpu": "x86-64-v3"}
DTYPES = (torch.float64, torch.float16, torch.bfloat16)


class Two(nn.Module):
    """Two convolutions of one padded image share its copy."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Conv2d(16, 8, 3), nn.Conv2d(16, 12, 3)

    def forward(self, x):
        x = nn.functional.pad(x, (1, 1, 1, 1))
        return self.one(x), self.other(x)


def check(module, x, **options):
    """The compiled module, after two calls with other numbers beside eager and float64."""
    compiled = mlopt.jit(module, x, **options)
    for _ in range(2):
        x = torch.randn_like(x)
        verifier = Verifier(module, (x,), {})
        verifier.check(compiled(x))
    assert not compiled.report.slow_paths
    return compiled


def copies(compiled):
    return [kernel for kernel in compiled.kernels if kernel.function == "main" and "pixels" in kernel.name]


@pytest.mark.parametrize("window", PAGES)
def test_pages(window):
    make, shape = PAGES[window]
    assert len(copies(check(make().eval(), torch.randn(shape)))) == 1


def test_pages_of_any_batch():
    make, shape = PAGES["batch"]
    module = make().eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    compiled = mlopt.jit(module, torch.randn(shape), dynamic_shapes=({0: batch},))
    assert len(copies(compiled)) == 1
    for size in (2, 5):
        x = torch.randn(size, *shape[1:])
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("dtype", (torch.float32, *DTYPES), ids=str)
@pytest.mark.parametrize("batch", [1, 3])
def test_pixels_of_pages(batch, dtype):
    """Channels a page apart, and no window: pixels are the lanes, and weights stay as they lie."""
    module = Seq(nn.Conv2d(19, 128, 1), nn.ReLU(), nn.Conv2d(128, 64, 1)).eval().to(dtype)
    compiled = check(module, torch.randn(batch, 19, 64, 32, dtype=dtype))
    if dtype in (torch.float32, torch.float64):
        assert not any("pack" in kernel.name for kernel in compiled.kernels)


@pytest.mark.parametrize("window", LARGE)
def test_large(window):
    make, shape = LARGE[window]
    compiled = check(make().eval(), torch.randn(shape), **NARROW)
    assert len([kernel for kernel in compiled.kernels if kernel.function == "main"]) == 1
    assert "memref.alloca" in compiled.asm["tile"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("cases", "window"), [(PAGES, "3x3"), (LARGE, "7x7"), (LARGE, "max")])
def test_dtypes(cases, window, dtype):
    make, shape = cases[window]
    check(make().eval().to(dtype), torch.randn(shape, dtype=dtype), **NARROW)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 1e-42])
@pytest.mark.parametrize(("cases", "window"), [(PAGES, "3x3"), (LARGE, "7x7"), (LARGE, "max")])
def test_what_is_not_finite(cases, window, number):
    """Padding times a weight that is not finite is NaN; so is what a window has of a pixel that is."""
    make, shape = cases[window]
    module, x = make().eval(), torch.randn(shape)
    x[..., 0, 5] = number
    for weight in module.parameters():
        weight.view(-1)[3] = number
    expected = module.double()(x.double())
    actual = mlopt.jit(module.float(), x, **NARROW)(x)
    torch.testing.assert_close(actual.double(), expected, equal_nan=True, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("cases", "window"), [(PAGES, "batch"), (LARGE, "7x7")])
def test_threads(cases, window):
    """Equal bits from any number of threads."""
    make, shape = cases[window]
    module, x = make().eval(), torch.randn(shape)
    compiled = mlopt.jit(module, x, **NARROW)
    before, results = torch.get_num_threads(), []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        results.append(compiled(x))
    torch.set_num_threads(before)
    assert all(torch.equal(each, results[0]) for each in results)
