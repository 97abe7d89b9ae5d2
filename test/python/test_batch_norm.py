"""Batch norm in eval mode behind convolutions and matrix products: folded into the weights, in @prepare."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")

NORMS = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
# A layer and the shape of its input.
LAYERS = {
    "conv2d": (lambda: nn.Conv2d(5, 7, 3, padding=1, bias=False), (2, 5, 9, 11)),
    "bias": (lambda: nn.Conv2d(5, 7, 3, stride=2), (2, 5, 9, 11)),
    "1x1": (lambda: nn.Conv2d(5, 7, 1), (2, 5, 4, 3)),
    "groups": (lambda: nn.Conv2d(6, 9, 3, padding=1, groups=3), (2, 6, 5, 7)),
    "depthwise": (lambda: nn.Conv2d(6, 6, 3, padding=1, groups=6), (2, 6, 5, 7)),
    "conv1d": (lambda: nn.Conv1d(5, 7, 4, dilation=2), (3, 5, 17)),
    "conv3d": (lambda: nn.Conv3d(3, 5, 2), (2, 3, 4, 5, 6)),
    "transposed": (lambda: nn.ConvTranspose2d(5, 7, 3, padding=1), (2, 5, 4, 3)),
    "transposed depthwise": (
        lambda: nn.ConvTranspose2d(6, 6, 3, 2, 1, output_padding=1, groups=6, dilation=2),
        (2, 6, 4, 3),
    ),
    "linear": (lambda: nn.Linear(5, 7), (6, 5)),
}


def normed(layer, shape):
    """The layer and a batch norm whose statistics and weights are not trivial."""
    norm = NORMS[len(shape)](getattr(layer, "out_channels", None) or layer.out_features)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2.0)
    norm.weight.normal_()
    norm.bias.normal_()
    return nn.Sequential(layer, norm).eval()


def check(compiled, module, x):
    verifier = Verifier(module, (x,), {})
    verifier.check(compiled(x))


def ops(compiled):
    """The ops of the kernels that each call runs."""
    return [op for kernel in compiled.kernels if kernel.function == "main" for op in kernel.ops]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("layer", LAYERS)
def test_folded(layer, dtype):
    make, shape = LAYERS[layer]
    module = normed(make(), shape).to(dtype)
    compiled = mlopt.jit(module, torch.randn(shape, dtype=dtype))
    assert "mul" not in ops(compiled)
    assert ops(compiled).count("add") == 1  # of the bias that both have become
    check(compiled, module, torch.randn(shape, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_narrow(dtype):
    """The weight is not scaled: the product would be rounded once more."""
    make, shape = LAYERS["conv2d"]
    module = normed(make(), shape).to(dtype)
    compiled = mlopt.jit(module, torch.randn(shape, dtype=dtype))
    assert "mul" in ops(compiled)
    check(compiled, module, torch.randn(shape, dtype=dtype))


def test_changes_are_seen():
    """A write to any of the tensors that the folded weight is made of."""
    make, shape = LAYERS["bias"]
    module = normed(make(), shape)
    x = torch.randn(shape)
    compiled = mlopt.jit(module, x)
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        before = compiled(x)
        if value.is_floating_point():
            value.mul_(1.25).add_(0.125)
            assert not torch.equal(compiled(x), before), name
            check(compiled, module, x)


def test_read_elsewhere():
    """What the convolution makes is needed as it is, too."""

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = normed(LAYERS["conv2d"][0](), LAYERS["conv2d"][1])

        def forward(self, x):
            y = self.layers[0](x)
            return y, self.layers[1](y)

    module = Both().eval()
    x = torch.randn(LAYERS["conv2d"][1])
    compiled = mlopt.jit(module, x)
    assert "mul" in ops(compiled)
    check(compiled, module, x)


def test_one_weight_for_two():
    """A convolution that is called twice, with a norm behind one of the calls."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 3, padding=1)
            self.norm = normed(self.conv, (1, 4, 5, 5))[1]

        def forward(self, x):
            return self.conv(torch.relu(self.norm(self.conv(x))))

    module = Tied().eval()
    x = torch.randn(2, 4, 5, 6)
    compiled = mlopt.jit(module, x)
    assert "mul" not in ops(compiled)
    check(compiled, module, x)


def test_training_statistics_are_left_alone():
    """In training mode the statistics are the batch's."""
    make, shape = LAYERS["conv2d"]
    module = normed(make(), shape)
    norm = nn.BatchNorm2d(7, track_running_stats=False)
    module = nn.Sequential(module[0], norm)
    x = torch.randn(shape)
    check(mlopt.jit(module, x), module, x)
