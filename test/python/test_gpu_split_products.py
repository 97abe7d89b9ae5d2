"""Products in parts along their depth, on the emulator: right, the same at each call, weights read once."""

from __future__ import annotations

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.runtime.verification import Verifier
from torch import nn


class Layer(nn.Module):
    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + 1


@pytest.mark.parametrize(("rows", "dtype"), [(1, torch.bfloat16), (16, torch.float16), (33, torch.bfloat16)])
def test_few_rows(rows: int, dtype: torch.dtype) -> None:
    """Partial products, and their sum with all that follows; the same numbers at each call."""
    depth, columns = 4096, 72
    module, x = Layer(depth, columns).to(dtype), torch.randn(rows, depth, dtype=dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
        with emulator.record() as launches:
            found = compiled(x)
        Verifier(module, (x,), {}).check(found)
        assert torch.equal(found, compiled(x))
    product, total = launches[-2:]
    assert "matmul" in product.kernel and "_sum_" in total.kernel and "_add" in total.kernel
    assert product.grid[0] > -(-columns // 16)
    weights = depth * columns * 2
    assert product.counters.dram_read < 1.02 * (weights + rows * depth * 2)
    assert product.counters.bank_conflicts == 0


class Batch(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, y)


def test_batches() -> None:
    """Each product of a batch is divided."""
    x, y = (torch.randn(shape, dtype=torch.float16) for shape in ((2, 8, 4096), (2, 4096, 16)))
    compiled = mlopt.jit(Batch(), x, y, target="cuda:sm_80", device="emulator")
    Verifier(Batch(), (x, y), {}).check(compiled(x, y))
    assert [kernel.name for kernel in compiled.report.gpu.kernels][-2].startswith("kernel_1_sum_cast")
