"""Diagonals, of all or a part of a matrix, beside eager."""

import pytest
import torch
from mlopt.test.python.beside_eager import assert_as_eager


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.diagonal(dim1=1, dim2=2) * 2,
        lambda x: torch.einsum("bii->bi", x[:, :, :3]),
        lambda x: torch.einsum("bii->b", x[:, :, 1:]),
        lambda x: x[0].diagonal(1) + 1,
    ],
)
def test_diagonals(function):
    assert_as_eager(function, torch.randn(2, 3, 4))


@pytest.mark.parametrize("offset", [-5, -4, -2, 0, 1, 6, 7])
def test_written(offset):
    """Of a matrix that is not square, its dims in either order, up to diagonals without elements."""

    def function(x, y, z):
        return x.diagonal_scatter(y, offset, 2, 0), x.diagonal_scatter(z, offset, 0, 2)

    x = torch.randn(7, 3, 5)
    parts = [torch.randn(x.diagonal(offset, *dims).shape) for dims in ((2, 0), (0, 2))]
    assert_as_eager(function, x, *parts)
