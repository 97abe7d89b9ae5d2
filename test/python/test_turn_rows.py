"""Linear layers of some rows read their weights as they lie (mlopt-turn-rows): right, and nothing is kept."""

from __future__ import annotations

import mlopt
import pytest
import torch
from torch import nn


@pytest.mark.parametrize("rows", [64, 192, 512])
@pytest.mark.parametrize(("width", "columns"), [(300, 1025), (768, 1024)])
def test_as_eager(rows: int, width: int, columns: int) -> None:
    module = nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, columns), nn.GELU(), nn.Linear(columns, columns)
    )
    x = torch.randn(rows, width)
    with torch.no_grad():
        fast = mlopt.jit(module.eval(), x)
        assert "prepare" not in str(fast.report)
        x = torch.randn(rows, width)
        torch.testing.assert_close(fast(x).double(), module.double()(x.double()), rtol=1e-4, atol=1e-5)


def test_batches_and_residual() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(510, 600), nn.Linear(600, 510)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = x + self.outer(torch.relu(self.inner(x)))
            return y

    module = Residual().eval()
    x = torch.randn(3, 64, 510)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        x = torch.randn(3, 64, 510)
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)


def test_what_is_not_finite_stays_in_its_row() -> None:
    module = nn.Linear(480, 600).eval()
    x = torch.randn(64, 480)
    x[3, 5], x[17, 0], x[63, 479] = float("nan"), float("inf"), -0.0
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        torch.testing.assert_close(fast(x), module(x), equal_nan=True, rtol=1e-4, atol=1e-5)


def test_new_weights_are_seen() -> None:
    module, x = nn.Linear(512, 640).eval(), torch.randn(64, 512)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        fast(x)
        module.weight.copy_(torch.randn(640, 512) / 20)
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
