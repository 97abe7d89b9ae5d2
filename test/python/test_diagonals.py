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
