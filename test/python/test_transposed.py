"""Transposed convolutions, and gradients of strided ones: in phases, beside eager."""

from __future__ import annotations

import random

import mlopt
import pytest
import torch
from mlopt.frontends.decomposing.registry import OURS, aten
from mlopt.frontends.gradients.table import GRADIENTS
from mlopt.runtime.verification import Verifier
from torch import nn

F64 = torch.float64
# A layer, and the shape of its input.
LAYERS = {
    "window 4": (lambda: nn.ConvTranspose2d(9, 7, 4, 2, 1), (2, 9, 5, 6)),
    "window 3": (lambda: nn.ConvTranspose2d(5, 7, 3, 2, 1, output_padding=1), (2, 5, 4, 3)),
    "window 2": (lambda: nn.ConvTranspose2d(6, 4, 2, 2), (1, 6, 7, 9)),
    "window below the stride": (lambda: nn.ConvTranspose2d(4, 5, 2, 3, output_padding=2), (2, 4, 5, 3)),
    "groups": (lambda: nn.ConvTranspose2d(6, 9, 3, 2, groups=3), (2, 6, 5, 7)),
    "depthwise": (lambda: nn.ConvTranspose2d(6, 6, 4, 2, 1, groups=6), (2, 6, 5, 33)),
    "strides": (lambda: nn.ConvTranspose2d(5, 3, (4, 3), (1, 3), (2, 0)), (2, 5, 6, 5)),
    "no bias": (lambda: nn.ConvTranspose2d(5, 3, 1, 2, bias=False), (2, 5, 6, 5)),
    "1d": (lambda: nn.ConvTranspose1d(8, 5, 16, 8, 4), (3, 8, 21)),
    "3d": (lambda: nn.ConvTranspose3d(3, 5, 3, (1, 2, 2), 1), (2, 3, 4, 3, 5)),
    "dilated": (lambda: nn.ConvTranspose2d(5, 3, 3, 2, dilation=2), (2, 5, 4, 5)),
    "an image": (lambda: nn.ConvTranspose2d(5, 3, 4, 2, 1), (5, 4, 5)),
}


def drawn():
    """Arguments of a convolution in both directions, that eager may refuse."""
    rank, groups = random.choice([1, 2, 2, 3]), random.choice([1, 1, 2, 3])
    inputs, outputs = groups * random.randint(1, 3), random.randint(1, 3)
    window, stride = ([random.randint(1, most) for _ in range(rank)] for most in (5, 4))
    padding, more = ([random.randint(0, most) for _ in range(rank)] for most in (3, 3))
    x = torch.randn(2, inputs, *(random.randint(1, 6) for _ in range(rank)), dtype=F64)
    weight = torch.randn(inputs, outputs, *window, dtype=F64)
    plain = torch.randn(outputs * groups, inputs // groups, *window, dtype=F64)
    bias = torch.randn(outputs * groups, dtype=F64) if random.random() < 0.5 else None
    return x, weight, plain, bias, stride, padding, more, groups


@pytest.mark.parametrize("seed", range(4))
def test_arithmetic(seed):
    random.seed(seed)
    done = 0
    for _ in range(150):
        x, weight, plain, bias, stride, padding, more, groups = drawn()
        ones, zeros = [1] * len(stride), [0] * len(stride)
        for is_transposed, w, extra in ((True, weight, more), (False, plain, zeros)):
            rest = stride, padding, ones, is_transposed, extra, groups
            try:
                eager = aten.convolution(x, w, bias, *rest)
            except RuntimeError:  # of no size, or with more padding than it takes
                continue
            if is_transposed and max(stride) > 1:
                ours = OURS[aten.convolution.default](x, w, bias, *rest)
                torch.testing.assert_close(ours, eager, rtol=1e-12, atol=1e-12)
            grad = torch.randn_like(eager)
            channels, mask = [eager.shape[1]], [True] * 3
            eager = aten.convolution_backward(grad, x, w, channels, *rest, mask)
            ours = GRADIENTS[aten.convolution_backward.default](grad, x, w, channels, *rest, mask)
            torch.testing.assert_close(ours, eager, rtol=1e-11, atol=1e-11)
            done += 1
    assert done > 100


@pytest.mark.usefixtures("inference")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, F64], ids=str)
@pytest.mark.parametrize("layer", LAYERS)
def test_compiled(layer, dtype):
    make, shape = LAYERS[layer]
    module = nn.Sequential(make(), nn.ReLU()).to(dtype)
    compiled = mlopt.jit(module, torch.randn(shape, dtype=dtype))
    x = torch.randn(shape, dtype=dtype)
    Verifier(module, (x,), {}).check(compiled(x))
    assert not compiled.report.slow_paths


@pytest.mark.usefixtures("inference")
@pytest.mark.parametrize("layer", ["window 4", "window 3", "groups"])
def test_compiled_for_a_gpu(layer):
    make, shape = LAYERS[layer]
    module = make()
    compiled = mlopt.jit(module, torch.randn(shape), target="cuda:sm_80", device="emulator")
    x = torch.randn(shape)
    Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.usefixtures("inference")
def test_an_infinity_reaches_its_windows_alone():
    module = nn.ConvTranspose2d(3, 4, 3, 2, 1)
    x = torch.randn(2, 3, 5, 6)
    compiled = mlopt.jit(module, x)
    x[0, 1, 2, 3] = float("inf")
    x[1, 0, 4, 0] = float("nan")
    assert compiled(x).isfinite().equal(module(x).isfinite())


@pytest.mark.usefixtures("inference")
def test_any_batch():
    module = nn.ConvTranspose2d(5, 7, 3, 2, 1)
    shapes = {"input": {0: torch.export.Dim("batch")}}
    compiled = mlopt.jit(module, torch.randn(2, 5, 4, 3), dynamic_shapes=shapes)
    for batch in (1, 3, 17):
        x = torch.randn(batch, 5, 4, 3)
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("layer", [*LAYERS, "plain"])
def test_gradients_are_compiled(layer):
    torch._dynamo.reset()
    make, shape = LAYERS.get(layer, (lambda: nn.Conv2d(5, 7, 3, 2, 1), (2, 5, 9, 8)))
    module = nn.Sequential(make(), nn.Tanh()).to(F64)
    fast = torch.compile(module, backend="mlopt")
    x = torch.randn(shape, dtype=F64, requires_grad=True)
    grads = []
    for each in (fast, module):
        y = each(x)
        weights = torch.linspace(-1, 1, y.numel(), dtype=F64).reshape(y.shape)
        grads.append(torch.autograd.grad((y * weights).sum(), (x, *module.parameters())))
    for ours, eager in zip(*grads, strict=True):
        torch.testing.assert_close(ours, eager, rtol=1e-11, atol=1e-11)
    assert not mlopt.backend.report().eager
