"""Linear layers after others read their weights as they lie (mlopt-turn-rows): right, and nothing is kept."""

from __future__ import annotations

from typing import Any

import mlopt
import pytest
import torch
from torch import nn


def calls_of(compiled: Any, function: str) -> int:
    """How many kernels a call of ``main`` runs, or ``prepare``: there, one for each weight that is kept."""
    return sum(each.calls for each in compiled.kernels if each.function == function)


def mlp(width: int, inner: int) -> nn.Sequential:
    """Only the second layer's rows are turned: the first one's are an argument."""
    return nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width)).eval()


@pytest.mark.parametrize("rows", [64, 192, 512])
@pytest.mark.parametrize(("width", "columns"), [(300, 1025), (768, 1024)])
def test_as_eager(rows: int, width: int, columns: int) -> None:
    module = nn.Sequential(
        nn.LayerNorm(width),
        nn.Linear(width, columns),  # whose rows the norm makes
        nn.GELU(),
        nn.Linear(columns, columns),
        nn.Tanh(),
        nn.Linear(columns, columns),
    )
    x = torch.randn(rows, width)
    with torch.no_grad():
        fast = mlopt.jit(module.eval(), x)
        assert calls_of(fast, "prepare") == 1
        assert calls_of(fast, "main") == 4  # the norm, and each layer
        x = torch.randn(rows, width)
        torch.testing.assert_close(fast(x).double(), module.double()(x.double()), rtol=1e-4, atol=1e-5)


def test_batches_and_residual() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = mlp(510, 600)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = x + self.layers(x)
            return y

    module = Residual().eval()
    x = torch.randn(3, 64, 510)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        assert (calls_of(fast, "prepare"), calls_of(fast, "main")) == (1, 2)
        x = torch.randn(3, 64, 510)
        torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)


def test_what_is_not_finite_stays_in_its_row() -> None:
    module = mlp(480, 600)
    x = torch.randn(64, 480)
    x[3, 5], x[17, 0], x[63, 479] = float("nan"), float("inf"), -0.0
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        assert calls_of(fast, "prepare") == 1
        torch.testing.assert_close(fast(x), module(x), equal_nan=True, rtol=1e-4, atol=1e-5)


def test_new_weights_are_seen() -> None:
    module, x = mlp(512, 640), torch.randn(64, 512)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        fast(x)
        for layer in (module[0], module[2]):
            layer.weight.copy_(torch.randn(layer.weight.shape) / 20)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("parts", ["gate", "product of two", "residual of a norm", "twice as wide"])
def test_no_kernel_more(parts: str) -> None:
    """Whatever makes the rows, a layer of many weights runs no more kernels than one of few."""

    class Module(nn.Module):
        def __init__(self, columns: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(512)
            self.first, self.second = nn.Linear(512, 512), nn.Linear(512, 512)
            self.wide, self.last = nn.Linear(512, 1024), nn.Linear(512, columns)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            match parts:
                case "gate":
                    x = torch.sigmoid(self.first(x)) * x
                case "product of two":
                    x = nn.functional.silu(self.first(x)) * self.second(x)
                case "residual of a norm":
                    x = self.norm(x) + torch.relu(self.first(x))
                case _:
                    x = nn.functional.glu(self.wide(x))
            y: torch.Tensor = self.last(x)
            return y

    counts = []
    with torch.no_grad():
        for columns in (64, 768):  # weights of 128 KB and 1.5 MB
            module, x = Module(columns).eval(), torch.randn(64, 512)
            fast = mlopt.jit(module, x)
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-5)
            counts.append(calls_of(fast, "main"))
    assert counts[1] <= counts[0], counts
