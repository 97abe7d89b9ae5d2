"""A residual behind a GELU, a slice at a time, in a kernel and in its twin for what is unaligned."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt import emulator
from torch import nn

CHIPS = ("sm_80", "sm_90a")


class Product(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(a @ b) + residual


def _off(like: torch.Tensor) -> torch.Tensor:
    """The same, two bytes after a multiple of 16."""
    room = torch.empty(like.numel() + 1, dtype=like.dtype)
    room[1:] = like.flatten()
    return room[1:].view(like.shape)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("m", "n", "k"), [(72, 264, 72), (67, 136, 40)])
def test_the_twin_is_right(chip: str, m: int, n: int, k: int) -> None:
    """To the bit what the kernel makes, without a finding; rows end within the last block."""
    arguments = [torch.randn(shape).bfloat16() for shape in ((m, k), (k, n), (m, n))]
    compiled = mlopt.jit(Product(), *arguments, target=f"cuda:{chip}", device="emulator")
    with emulator.record() as reports:
        found = compiled(*arguments)
        twin = compiled(*map(_off, arguments))
    assert not [finding for report in reports for finding in report.findings]
    assert torch.equal(found, twin)
    torch.testing.assert_close(found, Product()(*arguments), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("chip", CHIPS)
def test_nothing_spills(chip: str) -> None:
    """Blocks of 128 sums a thread beside their residual, of which the twin has single elements.

    The depth is ragged: a product of the last step stands behind the loop's.
    """
    arguments = [torch.empty(shape).bfloat16() for shape in ((4000, 4072), (4072, 4040), (4000, 4040))]
    compiled = mlopt.jit(Product(), *arguments, target=f"cuda:{chip}", device="emulator")
    gpu = compiled.report.gpu
    assert gpu is not None
    assert [kernel.spills for kernel in gpu.kernels] == [0, 0] and not gpu.warnings
