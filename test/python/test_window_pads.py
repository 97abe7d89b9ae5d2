"""Padding of convolutions and poolings is read in their kernels, on the CPU and on the emulator."""

from __future__ import annotations

import copy

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn
from torch.nn import Sequential as Seq

pytestmark = pytest.mark.usefixtures("inference")

TARGETS = {"cpu": {}, "emulator": {"device": "emulator", "target": "cuda:sm_80"}}
# A layer, the shape of its input, and whether the padding needs no kernel of its own.
WINDOWS = {
    "3x3": (lambda: nn.Conv2d(5, 7, 3, padding=1), (2, 5, 9, 11), True),
    "1x1": (lambda: nn.Conv2d(5, 7, 1, padding=2), (2, 5, 4, 3), True),
    "1x1, padded before": (lambda: Seq(nn.ZeroPad2d((3, 0, 2, 0)), nn.Conv2d(5, 7, 1)), (2, 5, 4, 13), True),
    "asymmetric": (lambda: Seq(nn.ConstantPad2d((2, 0, 1, 3), 0.0), nn.Conv2d(5, 7, 3)), (2, 5, 7, 6), True),
    "ones": (lambda: Seq(nn.ConstantPad2d(1, 1.0), nn.Conv2d(5, 7, 3)), (2, 5, 7, 6), True),
    "dilated": (lambda: nn.Conv2d(5, 7, 3, padding=4, dilation=3), (2, 5, 9, 8), True),
    "stride": (lambda: nn.Conv2d(3, 7, 7, stride=2, padding=3), (2, 3, 12, 14), True),
    "stride 3": (lambda: nn.Conv2d(3, 7, 5, stride=3, padding=2, dilation=2), (2, 3, 15, 12), True),
    "stride, odd size": (lambda: nn.Conv2d(3, 7, 3, stride=2, padding=1), (2, 3, 9, 7), True),
    "stride 3, odd size": (lambda: nn.Conv2d(3, 7, 4, stride=3, padding=1), (2, 3, 9, 7), False),
    "stride, inside": (lambda: nn.Conv2d(3, 40, 3, stride=2), (1, 3, 13, 35), True),
    "stride, dilated": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=3), (2, 4, 11, 13), True),
    "stride, groups": (lambda: nn.Conv2d(6, 8, 3, stride=2, groups=2), (2, 6, 7, 9), True),
    "stride, a pixel": (lambda: nn.Conv2d(6, 8, 1, stride=2), (2, 6, 7, 9), True),
    "strides": (lambda: nn.Conv2d(3, 7, 3, stride=(1, 2), padding=(2, 1)), (2, 3, 9, 8), True),
    "groups": (lambda: nn.Conv2d(6, 8, 3, padding=1, groups=2), (2, 6, 5, 7), True),
    "depthwise": (lambda: nn.Conv2d(6, 6, 5, padding=2, groups=6), (2, 6, 11, 70), True),
    "depthwise stride": (lambda: nn.Conv2d(6, 6, 3, stride=2, padding=1, groups=6), (2, 6, 8, 70), True),
    "depthwise stride, odd": (lambda: nn.Conv2d(6, 6, 3, stride=2, padding=1, groups=6), (2, 6, 7, 71), True),
    "conv1d stride, odd size": (lambda: nn.Conv1d(3, 5, 4, stride=2), (2, 3, 37), True),
    "causal": (lambda: Seq(nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(6, 8, 3, dilation=2)), (2, 6, 33), True),
    "conv3d": (lambda: nn.Conv3d(3, 5, 3, padding=(1, 0, 2)), (1, 3, 4, 5, 6), True),
    "transposed": (lambda: nn.ConvTranspose2d(5, 7, 3, stride=2, padding=1), (2, 5, 4, 3), False),
    "reflect": (lambda: nn.Conv2d(5, 7, 3, padding=1, padding_mode="reflect"), (2, 5, 6, 7), False),
    "circular": (lambda: nn.Conv2d(5, 7, 3, padding=1, padding_mode="circular"), (2, 5, 6, 7), False),
    "replicate": (lambda: nn.Conv2d(5, 7, 3, padding=1, padding_mode="replicate"), (2, 5, 6, 7), False),
    "max": (lambda: nn.MaxPool2d(3, 2, 1), (2, 3, 12, 70), True),
    "max stride 1": (lambda: nn.MaxPool2d(3, 1, 1), (2, 3, 7, 5), True),
    "max dilated": (lambda: nn.MaxPool2d(3, 1, 1, dilation=2), (2, 3, 7, 9), True),
    "max stride, odd size": (lambda: nn.MaxPool2d(3, 2), (2, 3, 13, 147), True),
    "max stride, odd size, padded": (lambda: nn.MaxPool2d(3, 2, 1), (2, 3, 13, 75), True),
    "max 3d stride, odd size": (lambda: nn.MaxPool3d(2, 2, 1), (2, 2, 5, 6, 7), True),
    "max of some columns": (lambda: nn.MaxPool2d((2, 3), (3, 2)), (2, 3, 8, 33), True),
    "average, odd size": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 7, 33), True),
    "average": (lambda: nn.AvgPool2d(3, 2, 1), (2, 3, 12, 8), True),
    "average of what is there": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 12, 8), True),
}  # fmt: skip
DTYPES = (torch.float64, torch.float16, torch.bfloat16)


def compiled_and_checked(module, x, **options):
    """The compiled module, after a call with other numbers beside eager and float64."""
    compiled = mlopt.jit(module, x, **options)
    x = torch.randn_like(x)
    verifier = Verifier(module, (x,), {})
    verifier.check(compiled(x))
    return compiled


def kernels(compiled):
    return [kernel for kernel in compiled.kernels if kernel.function == "main"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window, target):
    make, shape, alone = WINDOWS[window]
    compiled = compiled_and_checked(make().eval(), torch.randn(shape), **TARGETS[target])
    assert not compiled.report.slow_paths
    assert not alone or len(kernels(compiled)) == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "window", ["3x3", "stride", "stride, odd size", "depthwise", "max", "average, odd size"]
)
def test_dtypes(window, target, dtype):
    make, shape, _ = WINDOWS[window]
    compiled_and_checked(make().eval().to(dtype), torch.randn(shape, dtype=dtype), **TARGETS[target])


@pytest.mark.parametrize("window", ["3x3", "stride", "stride, odd size", "depthwise", "max", "groups"])
def test_dynamic_batch(window):
    make, shape, _ = WINDOWS[window]
    module = make().eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    compiled = mlopt.jit(module, torch.randn(shape), dynamic_shapes=({0: batch},))
    for size in (2, 5):
        x = torch.randn(size, *shape[1:])
        verifier = Verifier(module, (x,), {})
        verifier.check(compiled(x))


@pytest.mark.parametrize("target", TARGETS)
def test_wide_channels(target):
    """Many channels, rows that no strip of pixels divides."""
    compiled_and_checked(
        nn.Conv2d(40, 72, 3, padding=1).eval(), torch.randn(1, 40, 13, 17), **TARGETS[target]
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("weight", [float("inf"), float("nan")])
def test_padding_is_multiplied(weight, target):
    """A zero of the padding times what is not finite is NaN, as in eager's float64."""
    module = nn.Conv2d(3, 4, 3, padding=1)
    module.weight[1, 2, 0, 0] = weight
    x = torch.randn(1, 3, 6, 7)
    expected = module.double()(x.double())
    actual = mlopt.jit(module.float(), x, **TARGETS[target])(x)
    torch.testing.assert_close(actual.double(), expected, equal_nan=True, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("channels", "size", "window", "padding"),
    [
        (8, (5, 28), 3, 1),
        (40, (4, 27), 3, 1),
        (4, (3, 2), 5, 2),
        (3, (6, 9), 4, (3, 2)),
        (480, (3, 4), 3, 1),
        (180, (2, 3), 5, 2),
    ],
)
def test_every_place_of_a_window_is_multiplied(channels, size, window, padding):
    """Also where no sum of a row, or of a strip, meets the weight. 40 channels: tall tiles; 180: blocks."""
    module = nn.Conv2d(channels, 64, window, padding=padding)
    module.requires_grad_(False)
    x = torch.randn(1, channels, *size)
    compiled = mlopt.jit(module, x)
    weight = module.weight.clone()
    for place in range(window * window):
        module.weight.copy_(weight)
        module.weight.view(64, channels, -1)[place, channels - 1, place] = float("inf")
        expected = copy.deepcopy(module).double()(x.double())
        torch.testing.assert_close(compiled(x).double(), expected, equal_nan=True, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_not_finite_at_the_border(target):
    """Padding touches nothing that is in the input, and the other way round."""
    x = torch.randn(1, 3, 6, 8)
    x[0, 0, 0, 0], x[0, 1, 5, 7], x[0, 2, 3, 0] = float("inf"), float("nan"), -float("inf")
    for module in (nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 1, 1)):
        expected = module(x)
        actual = mlopt.jit(module, x, **TARGETS[target])(x)
        torch.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-5, atol=1e-5)


def test_one_pad_for_two():
    """Two readers of one padded tensor, which is returned as well."""

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x):
            padded = nn.functional.pad(torch.tanh(x), (1, 1, 1, 1))
            return self.conv(padded), nn.functional.max_pool2d(padded, 3, 1), padded

    compiled_and_checked(Two(), torch.randn(2, 3, 5, 6))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layer", [nn.MaxPool2d(3, 2), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d((2, 5), (3, 2))])
def test_work_before_steps_over_an_odd_row_is_in_the_window_s_kernel(layer, target):
    shape = (1, 3, 9, 35) if target == "emulator" else (2, 3, 19, 147)
    compiled = compiled_and_checked(Seq(nn.ReLU(), layer), torch.randn(shape), **TARGETS[target])
    assert len(kernels(compiled)) == 1
