"""Layers of enough rows read their weights as they lie: right, and nothing is kept twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
from torch import nn

ROWS, FEW = (
    128,
    127,
)  # the least that read weights of a few MB as they lie, and fewer, for which they are packed


def calls_of(compiled: Any, function: str) -> int:
    """How many kernels a call of ``main`` runs, or ``prepare``: there, one for each weight that is kept."""
    return sum(each.calls for each in compiled.kernels if each.function == function)


def close(module: nn.Module, fast: Callable[..., torch.Tensor], x: torch.Tensor) -> None:
    """As exact as sums of f32 are."""
    got = fast(x).double()
    torch.testing.assert_close(got, module.double()(x.double()), equal_nan=True, rtol=1e-4, atol=1e-5)
    module.float()


@pytest.mark.parametrize(
    ("rows", "width", "columns"),
    [(128, 512, 513), (129, 517, 1024), (200, 127, 2113), (131, 4099, 65), (33, 2049, 4097)],
)
def test_as_exact(rows: int, width: int, columns: int) -> None:
    """Around the edges of squares of 16, panels of 128 and strips of 64."""
    module, x = nn.Sequential(nn.Linear(width, columns), nn.ReLU()).eval(), torch.randn(rows, width)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        assert (calls_of(fast, "prepare"), calls_of(fast, "main")) == (0, 1)
        close(module, fast, torch.randn(rows, width))


def test_more_rows_than_a_task() -> None:
    module, x = nn.Linear(512, 640).eval(), torch.randn(1100, 512)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        assert calls_of(fast, "prepare") == 0
        close(module, fast, torch.randn(1100, 512))


def test_fewer_rows_are_packed() -> None:
    module = nn.Linear(512, 640).eval()
    with torch.no_grad():
        for rows, kept in ((ROWS, 0), (FEW, 1)):
            x = torch.randn(rows, 512)
            fast = mlopt.jit(module, x)
            assert calls_of(fast, "prepare") == kept, rows
            close(module, fast, x)


def test_a_table_that_is_gathered_does_not_count() -> None:
    """A call reads a few of its rows: the weights of the layer stay in a cache, and are packed."""
    table, layer = nn.Embedding(12000, 768), nn.Linear(768, 768).eval()
    rows = torch.randint(12000, (32,))
    with torch.no_grad():
        fast = mlopt.jit(nn.Sequential(table, layer), rows)
        assert calls_of(fast, "prepare") == 1
        torch.testing.assert_close(fast(rows), layer(table(rows)), rtol=1e-4, atol=1e-4)
        head = nn.Linear(768, 12000, bias=False).eval()
        head.weight = table.weight  # which a product reads as a whole
        assert calls_of(mlopt.jit(nn.Sequential(table, layer, head), rows), "prepare") == 0


def test_layers_alike_that_were_taken_out_count() -> None:
    """Twenty layers of 2.4 MB: the few that are compiled would stay in a cache, all of them do not."""

    class Stack(nn.Module):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(768, 768) for _ in range(count))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = x + torch.relu(layer(x))
            return x

    with torch.no_grad():
        for count, kept in ((20, 0), (5, 5)):
            assert calls_of(mlopt.jit(Stack(count).eval(), torch.randn(32, 768)), "prepare") == kept


def test_batches_and_residual() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(510, 600), nn.GELU(), nn.Linear(600, 510))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = x + self.layers(x)
            return y

    module, x = Residual().eval(), torch.randn(3, 47, 510)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        assert (calls_of(fast, "prepare"), calls_of(fast, "main")) == (0, 2)
        close(module, fast, torch.randn(3, 47, 510))


def test_what_is_not_finite_stays_in_its_row_and_column() -> None:
    module, x = nn.Linear(480, 610).eval(), torch.randn(133, 480)
    x[3, 5], x[17, 0], x[132, 479] = float("nan"), float("inf"), -0.0
    with torch.no_grad():
        module.weight[7, 3], module.weight[609, 479] = float("inf"), float("nan")
        fast = mlopt.jit(module, x)
        assert calls_of(fast, "prepare") == 0
        close(module, fast, x)


def test_threads_make_the_same_bits() -> None:
    module, x = nn.Sequential(nn.Linear(700, 1100), nn.Linear(1100, 700)).eval(), torch.randn(140, 700)
    before = torch.get_num_threads()
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        results = []
        try:
            for threads in (1, 2, 5):
                torch.set_num_threads(threads)
                results.append(fast(x))
        finally:
            torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_new_weights_are_seen() -> None:
    module, x = nn.Linear(512, 640).eval(), torch.randn(128, 512)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        fast(x)
        module.weight.copy_(torch.randn(module.weight.shape) / 20)
        close(module, fast, x)
        module.weight.data = torch.randn(module.weight.shape) / 20
        close(module, fast, x)


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
            module, x = Module(columns).eval(), torch.randn(128, 512)
            fast = mlopt.jit(module, x)
            close(module, fast, x)
            counts.append(calls_of(fast, "main"))
    assert counts[1] <= counts[0], counts


class Projections(nn.Module):
    """Queries, keys and values of one tensor, each by weights of its own, and attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.parts)
        return nn.functional.scaled_dot_product_attention(*heads)


@pytest.mark.parametrize(("rows", "joined"), [(ROWS, False), (FEW, True)])
def test_products_of_one_tensor(rows: int, joined: bool) -> None:
    """One kernel in either case; weights that are joined and packed are copies, with their biases."""
    module, x = Projections(512, 8).eval(), torch.randn(1, rows, 512)
    with torch.no_grad():
        fast = mlopt.jit(module, x)
        assert calls_of(fast, "main") == 2
        assert (calls_of(fast, "prepare") > 0) == joined
        close(module, fast, torch.randn(1, rows, 512))
