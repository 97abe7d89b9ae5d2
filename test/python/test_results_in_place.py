"""Results are written in place: one that another is made of, by writing into it, must not change."""

import mlopt
import pytest
import torch
from torch.nn import functional as F


def changed(x, number):
    copy = x.clone()
    copy[number] = -1
    return copy


def cat_and_changed(x):
    both = torch.cat([x, 2 * x])
    return changed(both, 1), both


def product_and_two_changed(x):
    product = torch.cat([x, x]).mm(x.t())
    return changed(product, 0), changed(product, 1), product


def chain(x):
    first = torch.cat([x, -x])
    second = changed(first, 0)
    return second, changed(second, 1), first.reshape(-1)


def two_pads(x):
    return F.pad(x, (0, 1)), F.pad(x, (1, 0)), F.pad(x, (1, 0)) * 2


def three_cats(x):
    return torch.cat([x, x[:0], x]), torch.cat([x, x + 1]), torch.cat([x[:2], x, x[2:]])


@pytest.mark.parametrize("function", [cat_and_changed, product_and_two_changed, chain, two_pads, three_cats])
def test_results_made_of_one_another(function):
    x = torch.randn(4, 5)
    for actual, expected in zip(mlopt.jit(function, x)(x), function(x), strict=True):
        torch.testing.assert_close(actual, expected)


def added_twice(x, i, y):
    return x.index_add(0, i, y).index_add(0, i, 2 * y)


def added_twice_and_once(x, i, y):
    once = x.index_add(0, i, y)
    return once.index_add(0, i, 2 * y), once


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("function", "copies"), [(added_twice, 0), (added_twice_and_once, 1)])
def test_sums_in_a_row(function, copies, dynamic):
    """The second ones go on where the first ones were, if these are not a result of their own."""
    rows, given = torch.export.Dim("rows", min=2), torch.export.Dim("given", min=2)
    shapes = {"dynamic_shapes": ({0: rows}, {0: given}, {0: given})} if dynamic else {}
    inputs = lambda n, m: (torch.randn(n, 5), torch.randint(0, n, (m,)), torch.randn(m, 5))  # noqa: E731
    compiled = mlopt.jit(function, *inputs(3000, 2000), **shapes)
    assert compiled.asm["kernels"].count("memref.copy") == copies
    for sizes in ((3000, 2000), *([(7, 50), (2, 3)] if dynamic else [])):
        x, i, y = inputs(*sizes)
        torch.testing.assert_close(compiled(x, i, y), function(x.double(), i, y.double()), check_dtype=False)
