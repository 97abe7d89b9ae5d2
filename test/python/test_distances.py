"""Norms, and distances between rows, beside eager."""

import pytest
import torch
from mlopt.test.python.beside_eager import assert_as_eager

INF = float("inf")
NORMS = [0, 0.5, 1.0, 2.0, 3.0, INF]


@pytest.mark.parametrize("p", NORMS)
def test_between_rows(p):
    """Of two matrices, with batches that broadcast, and of one."""

    def function(x, y):
        return torch.cdist(x, y, p), torch.cdist(x[0], y, p), torch.nn.functional.pdist(x[0], p)

    assert_as_eager(function, torch.randn(3, 5, 7), torch.randn(3, 6, 7))


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_between_rows_as_told(mode):
    def function(x, y):
        return torch.cdist(x, y, compute_mode=mode)

    assert_as_eager(function, torch.randn(5, 7), torch.randn(6, 7))


def test_between_many_rows():
    assert_as_eager(lambda x, y: torch.cdist(x, y), torch.randn(2, 31, 7), torch.randn(2, 9, 7))


@pytest.mark.parametrize("p", [2.0, INF])
@pytest.mark.parametrize("rows", [(0, 4, 3), (4, 0, 3), (4, 5, 0)])
def test_without_elements(p, rows):
    first, second, width = rows
    assert_as_eager(lambda x, y: torch.cdist(x, y, p), torch.randn(first, width), torch.randn(second, width))


@pytest.mark.parametrize("order", [None, "fro", 1, -1, INF, -INF])
def test_norms(order):
    def function(x):
        return torch.linalg.norm(x, order), torch.linalg.norm(x, order, dim=(1, 0), keepdim=True)

    assert_as_eager(function, torch.randn(5, 7))


@pytest.mark.parametrize("order", [None, 0, 1, 2.5, INF, -INF])
def test_norms_of_rows(order):
    def function(x, y):
        return torch.linalg.norm(x, order, dim=-1), y.norm(2 if order is None else order, 0), y.dist(x[0, 0])

    assert_as_eager(function, torch.randn(5, 7), torch.tensor(-2.5))
