"""Matrix products on the CPU at sizes around the edges of tiles, on one thread and on several."""

from __future__ import annotations

import mlopt
import pytest
import torch
from torch import Tensor

from .threads import on_any_number


class Layer(torch.nn.Module):
    """A product with weights, and what is added to it."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(inner, outer)

    def forward(self, x: Tensor, more: Tensor) -> Tensor:
        return torch.relu(self.linear(x)) + more


def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def check(function: Layer | None, inputs: tuple[Tensor, ...], cpu: str = "host") -> None:
    """Against float64, and the same bits on 1, 2 and 5 threads and again."""
    called = function or product
    with torch.no_grad():
        compiled = mlopt.jit(called, *inputs, cpu=cpu)
        made = on_any_number(lambda: compiled(*inputs))
        wide = [value.double() for value in inputs]
        wanted = function.double()(*wide) if function else product(*wide)
    assert all(kernel.path == "tile" for kernel in compiled.kernels)
    x, y = (inputs[0], function.linear.weight.mT) if function else inputs
    assert torch.all((made.double() - wanted).abs() <= 1e-6 * (1 + x.abs().double() @ y.abs().double()))


@pytest.mark.parametrize(
    ("rows", "inner", "outer"),
    [
        (1, 65, 64),
        (3, 130, 63),
        (4, 64, 128),
        (31, 768, 65),
        (33, 300, 300),
        (127, 3073, 130),
        (129, 1030, 191),
        (129, 2047, 261),
        (257, 129, 257),
        (301, 1030, 130),
        (300, 64, 16),
    ],
)
def test_edges_of_tiles(rows: int, inner: int, outer: int) -> None:
    check(Layer(inner, outer).eval(), (torch.randn(rows, inner), torch.randn(rows, outer)))
    check(None, (torch.randn(rows, inner), torch.randn(inner, outer)))


@pytest.mark.parametrize(
    ("rows", "inner", "outer"), [(3, 130, 47), (33, 300, 300), (129, 1030, 191), (301, 2047, 145)]
)
def test_edges_of_tiles_of_sixteen_registers(rows: int, inner: int, outer: int) -> None:
    check(Layer(inner, outer).eval(), (torch.randn(rows, inner), torch.randn(rows, outer)), "x86-64-v3")
    check(None, (torch.randn(rows, inner), torch.randn(inner, outer)), "x86-64-v3")


@pytest.mark.parametrize(("rows", "inner", "outer"), [(0, 5, 7), (5, 0, 7), (5, 7, 0), (1, 1, 1)])
def test_none_and_one(rows: int, inner: int, outer: int) -> None:
    x, y = torch.randn(rows, inner), torch.randn(inner, outer)
    assert torch.equal(mlopt.jit(product, x, y)(x, y), x @ y)


def test_not_finite_and_subnormal() -> None:
    """What lies behind the last row, column or summand reaches no other element."""
    x, y = torch.randn(37, 70), torch.randn(70, 67)
    x[36, :] = torch.inf
    y[:, 66] = torch.nan
    x[3, :], y[:, 5] = 1e-40, 1.0
    made, wanted = mlopt.jit(product, x, y)(x, y), x.double() @ y.double()
    torch.testing.assert_close(made[:36, :66].double(), wanted[:36, :66], rtol=0, atol=1e-4)
    assert made[3, 5] != 0
    assert made[:, 66].isnan().all()
    assert not made[36, :66].isfinite().any()


def test_bases_that_are_not_aligned() -> None:
    x = torch.randn(40 * 70 + 1)[1:].view(40, 70)
    y = torch.randn(70 * 130 + 3)[3:].view(70, 130)
    made = mlopt.jit(product, x, y)(x, y)
    torch.testing.assert_close(made.double(), x.double() @ y.double(), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("columns", "inner", "dtype"),
    [(63, 20, torch.float16), (130, 20, torch.bfloat16), (33, 2100, torch.float16)],
)
def test_sums_that_are_spread(columns: int, inner: int, dtype: torch.dtype) -> None:
    """Positions that share a sum add its products up once: FiLM's scale and shift of each channel."""
    x, y = torch.randn(2, 12, columns, dtype=dtype), torch.randn(2, inner, dtype=dtype) / inner**0.5
    scale, shift = torch.randn(inner, 12, dtype=dtype), torch.randn(inner, 12, dtype=dtype)

    def film(x: Tensor, y: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        return (y @ scale)[..., None] * x + (y @ shift)[..., None]

    inputs = (x, y, scale, shift)
    compiled = mlopt.jit(film, *inputs)
    assert len([kernel for kernel in compiled.kernels if kernel.function == "main"]) == 1
    made = on_any_number(lambda: compiled(*inputs))
    wanted = film(*(value.double() for value in inputs))
    torch.testing.assert_close(made.double(), wanted, rtol=0, atol=32 * torch.finfo(dtype).eps)
