"""Element-wise work before a window is done in the window's kernel, ahead of its loops, where that pays."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn
from torch.nn.functional import pad

pytestmark = pytest.mark.usefixtures("inference")


class Before(nn.Module):
    """``made`` of the input, then ``layer``; what is made is a result, too, if ``stored``."""

    def __init__(self, made, layer, stored=False):
        super().__init__()
        self.made, self.layer, self.stored = made, layer, stored

    def forward(self, x):
        made = self.made(x)
        return (self.layer(made), made) if self.stored else self.layer(made)


class ScaleAndRelu(nn.Module):
    """As a batch norm before a convolution: padding is 0, not what becomes of it."""

    def __init__(self, channels, dims=2):
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.randn(channels, *[1] * dims)) for _ in range(2))

    def forward(self, x):
        return torch.relu(x * self.scale + self.shift)


def shift_and_pad(x):
    return pad(x + 1.5, (2, 0, 1, 3))


def depthwise(channels, size, **options):
    return nn.Conv2d(channels, channels, size, groups=channels, **options)


# A module, the shape of its input, and the kernels that run.
MODULES = {
    "depthwise": (lambda: Before(ScaleAndRelu(6), depthwise(6, 3, padding=1)), (2, 6, 19, 35), 1),
    "rows apart": (lambda: Before(ScaleAndRelu(3), depthwise(3, 5, padding=2)), (1, 3, 67, 130), 1),
    "stride": (lambda: Before(ScaleAndRelu(4), depthwise(4, 3, stride=2, padding=1)), (2, 4, 18, 30), 1),
    "dilated": (lambda: Before(ScaleAndRelu(5), depthwise(5, 3, padding=2, dilation=2)), (1, 5, 9, 14), 1),
    "half": (lambda: Before(ScaleAndRelu(6), depthwise(6, 3, padding=1)).bfloat16(), (1, 6, 11, 21), 1),
    "channels": (lambda: Before(ScaleAndRelu(5), nn.Conv2d(5, 70, 3, padding=1)), (1, 5, 13, 17), 1),
    "groups": (lambda: Before(ScaleAndRelu(6), nn.Conv2d(6, 8, 3, groups=2)), (2, 6, 7, 9), 1),
    "asymmetric": (lambda: Before(shift_and_pad, nn.Conv2d(3, 5, 3)), (1, 3, 8, 9), 1),
    "no padding": (lambda: Before(ScaleAndRelu(3, 1), nn.Conv1d(3, 8, 5, stride=2)), (2, 3, 102), 1),
    "pool": (lambda: Before(ScaleAndRelu(6), nn.MaxPool2d(3, 2, 1)), (1, 6, 16, 30), 1),
    "conv3d": (lambda: Before(ScaleAndRelu(2, 3), nn.Conv3d(2, 3, 3, padding=(1, 0, 2))), (1, 2, 5, 6, 7), 1),
    "several images": (lambda: Before(torch.relu, nn.MaxPool2d(2)), (2, 4, 8, 8), 1),
    "wide padding": (lambda: Before(torch.exp, nn.Conv1d(4, 4, 5, padding=48, groups=4)), (2, 4, 65), 1),
    "wider padding": (lambda: Before(torch.exp, nn.Conv1d(3, 3, 79, padding=39, groups=3)), (1, 3, 200), 1),
    "stored": (lambda: Before(ScaleAndRelu(6), depthwise(6, 3, padding=1), stored=True), (1, 6, 9, 14), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_prologues(name):
    make, shape, count = MODULES[name]
    module = make().eval()
    x = torch.randn(shape, dtype=next(module.parameters(), torch.empty(0)).dtype)
    compiled = mlopt.jit(module, x)
    kernels = [kernel.name for kernel in compiled.kernels if kernel.function == "main"]
    assert len(kernels) == count, kernels
    again = torch.randn_like(x)
    Verifier(module, (again,), {}).check(compiled(again))
    # What lies beside the padding is read by nobody: an infinite element reaches its neighbours only.
    again.view(-1)[0] = torch.inf
    Verifier(module, (again,), {}).check(compiled(again))


class Apart(nn.Module):
    """Each module with an input of its own."""

    def __init__(self, modules):
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, *inputs):
        return [part(x) for part, x in zip(self.parts, inputs, strict=True)]


def test_blocks_of_a_gpu_compute_what_their_windows_read():
    # In one compilation, a kernel each.
    rows = [MODULES[name][:2] for name in ("stride", "half", "groups", "asymmetric", "pool", "conv3d")]
    rows.append(
        (lambda: Before(ScaleAndRelu(3), depthwise(3, 3, padding=4, dilation=2)).half(), (2, 3, 9, 15))
    )
    rows.append((lambda: nn.Sequential(nn.GELU(), nn.AvgPool1d(3, 1, 1)), (1, 5, 21)))
    modules = [make().eval() for make, _ in rows]
    inputs = [
        torch.randn(shape, dtype=next(module.parameters(), torch.empty(0)).dtype)
        for module, (_, shape) in zip(modules, rows, strict=True)
    ]
    module = Apart(modules)
    compiled = mlopt.jit(module, *inputs, device="emulator", target="cuda:sm_80")
    kernels = [kernel.name for kernel in compiled.kernels if kernel.function == "main"]
    assert len(kernels) == len(modules), kernels
    inputs = [torch.randn_like(x) for x in inputs]
    Verifier(module, inputs, {}).check(compiled(*inputs))
    for x in inputs:
        x.view(-1)[0] = torch.inf
    Verifier(module, inputs, {}).check(compiled(*inputs))


@pytest.mark.parametrize(
    "options", [{}, {"device": "emulator", "target": "cuda:sm_80"}], ids=["cpu", "emulator"]
)
@pytest.mark.parametrize("dim", [0, 3])
def test_dynamic_sizes(dim, options):
    # Of any batch a task has one image; of rows of unknown length it cannot know where their padding begins.
    module = Before(ScaleAndRelu(3), depthwise(3, 3, padding=1)).eval()
    size = torch.export.Dim("size", min=2, max=400)
    compiled = mlopt.jit(module, torch.randn(4, 3, 5, 33), dynamic_shapes=({dim: size},), **options)
    assert len([kernel for kernel in compiled.kernels if kernel.function == "main"]) == (1 if dim == 0 else 2)
    for count in (2, 7, 131 if not options else 35):
        x = torch.randn(*(count if each == dim else length for each, length in enumerate((4, 3, 5, 33))))
        Verifier(module, (x,), {}).check(compiled(x))
