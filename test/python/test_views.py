"""Views between kernels: windows over rows, slices, reshapes; on the CPU and on the emulator."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier

pytestmark = pytest.mark.usefixtures("inference")

TARGETS = {"cpu": {}, "emulator": {"device": "emulator", "target": "cuda:sm_80"}}


def main_kernels(module, *shapes, target, dtype=torch.float32):
    """The kernels of a call, after one with fresh numbers beside eager and float64."""
    compiled = mlopt.jit(module, *(_random(shape, dtype) for shape in shapes), **TARGETS[target])
    inputs = tuple(_random(shape, dtype) for shape in shapes)
    Verifier(module, inputs, {}).check(compiled(*inputs))
    return [kernel for kernel in compiled.kernels if kernel.function == "main"]


def _random(shape, dtype):
    return torch.randn(shape).mul(40).to(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.uint8], ids=str)
def test_windows_over_narrow_elements(target, dtype):
    """Bytes that lie apart are moved in parts: the steps between them are wider than they are."""

    class Windows(torch.nn.Module):
        def forward(self, x):
            return (x > 0).unfold(0, 4, 1).any(-1), x.unfold(0, 3, 2).amax(-1), x.unfold(0, 5, 1).contiguous()

    main_kernels(Windows(), (500,), target=target, dtype=dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_every_other_element_behind_a_transpose(target, dtype):
    """Pairs, as of rotary embeddings, are read where a projection wrote them: no kernel only takes them."""

    class Pairs(torch.nn.Module):
        def forward(self, x, weight, turn):
            heads = (x @ weight).unflatten(-1, (2, 16)).transpose(1, 2)
            one, other = heads[..., ::2], heads[..., 1::2]
            return torch.stack((one * turn - other, one + other * turn), -1).flatten(-2)

    kernels = main_kernels(Pairs(), (2, 5, 24), (24, 32), (5, 8), target=target, dtype=dtype)
    assert len(kernels) == 2, [kernel.name for kernel in kernels]


@pytest.mark.parametrize("target", TARGETS)
def test_concats_with_slices_in_steps(target):
    """A whole tensor, then a slice that is cut in two dims or takes steps; pairs of neighbours, turned."""

    class Parts(torch.nn.Module):
        def forward(self, x, y):
            turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
            return torch.cat((y, x[:, ::2]), 1), torch.cat((y, x[1:, :3]), 0), turned * 2

    assert len(main_kernels(Parts(), (4, 6), (4, 3), target=target)) <= 4
