"""`F.unfold`: windows as columns are the same bits as eager's."""

from __future__ import annotations

import mlopt
import pytest
import torch
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")

TARGETS = {"cpu": {}, "emulator": {"device": "emulator", "target": "cuda:sm_80"}}
# Arguments of nn.Unfold, and the shape of the input.
WINDOWS = {
    "3x3": ({"kernel_size": 3, "padding": 1}, (2, 3, 9, 11)),
    "stride": ({"kernel_size": 3, "padding": 1, "stride": 2}, (2, 3, 9, 70)),
    "strides, dilated": (
        {"kernel_size": (2, 3), "dilation": (3, 2), "padding": (0, 2), "stride": (1, 3)}, (1, 4, 8, 17)
    ),
    "no batch": ({"kernel_size": (3, 2)}, (3, 6, 7)),
    "patches": ({"kernel_size": (4, 3), "stride": (4, 3)}, (2, 3, 12, 9)),
    "patches, padded, with a rest": ({"kernel_size": 4, "padding": 1, "stride": 4}, (2, 3, 13, 16)),
    "many places": ({"kernel_size": 9, "padding": 4}, (1, 2, 11, 12)),
    "one place": ({"kernel_size": 1}, (2, 3, 4, 5)),
    "none": ({"kernel_size": 2}, (0, 3, 4, 5)),
}  # fmt: skip
DTYPES = (torch.float64, torch.float16, torch.bfloat16)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("window", WINDOWS)
def test_windows(window, target):
    options, shape = WINDOWS[window]
    module = nn.Unfold(**options)
    compiled = mlopt.jit(module, torch.randn(shape), **TARGETS[target])
    x = torch.randn(shape)
    assert torch.equal(compiled(x), module(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("window", ["3x3", "stride", "patches"])
def test_dtypes(window, dtype):
    options, shape = WINDOWS[window]
    module, x = nn.Unfold(**options), torch.randn(shape, dtype=dtype)
    assert torch.equal(mlopt.jit(module, x)(x), module(x))


@pytest.mark.parametrize("window", ["3x3", "patches"])
def test_dynamic_batch(window):
    options, shape = WINDOWS[window]
    module = nn.Unfold(**options)
    batch = torch.export.Dim("batch", min=2, max=64)
    compiled = mlopt.jit(module, torch.randn(shape), dynamic_shapes=({0: batch},))
    for size in (2, 5):
        x = torch.randn(size, *shape[1:])
        assert torch.equal(compiled(x), module(x))


def test_rows_are_copied():
    compiled = mlopt.jit(nn.Unfold(3, padding=1), torch.randn(1, 16, 56, 56))
    assert "gather" not in [op for kernel in compiled.kernels for op in kernel.ops]
