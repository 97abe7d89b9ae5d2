"""Convolutions of 1x1 with a stride, whose pixels are copied first where registers have 256 bits."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")

AVX2 = "x86-64-v3"
# Pixels are no multiple of a register tile's rows, columns not always whole strips.
COPIED = {
    "35 pixels": (lambda: nn.Conv2d(9, 64, 1, stride=2), (1, 9, 14, 10), torch.float32),
    "two images, 72 columns": (lambda: nn.Conv2d(12, 72, 1, stride=2), (2, 12, 2, 26), torch.float32),
    "a stride of three": (lambda: nn.Conv2d(8, 128, 1, stride=(1, 3)), (1, 8, 5, 21), torch.float32),
    "groups": (lambda: nn.Conv2d(16, 128, 1, stride=2, groups=2), (1, 16, 6, 6), torch.float32),
    "one pixel": (lambda: nn.Conv2d(8, 64, 1, stride=2), (1, 8, 2, 2), torch.bfloat16),
}


@pytest.mark.parametrize("case", COPIED)
def test_copied(case: str) -> None:
    make, shape, dtype = COPIED[case]
    module, x = nn.Sequential(make(), nn.ReLU()).eval().to(dtype), torch.randn(shape, dtype=dtype)
    compiled = mlopt.jit(module, x, cpu=AVX2)
    assert "_pixels(" in compiled.asm["kernels"]
    x = torch.randn_like(x)
    Verifier(module, (x,), {}).check(compiled(x))
