"""Reductions of what is read one element at a time, as embedding(i).sum(1): one kernel."""

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.test.python.kernel_counts import TARGETS, kernels_in
from torch import nn

BAGS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": lambda y: y.sum(1),
    "mean": lambda y: y.mean(1),
    "amax": lambda y: y.amax(1),
    "argmax": lambda y: y.argmax(1),
    "logsumexp": lambda y: y.logsumexp(1),
    "tokens and columns": lambda y: y.sum((1, 2)),
    "with work on both sides": lambda y: (y.exp() * 2).sum(1) + 1,
}
OTHERS: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "rows": (lambda x, i: x[i].sum(0), (torch.randn(70, 33), torch.randint(-70, 70, (19,)))),
    "columns": (lambda x, i: x[:, i].sum(1), (torch.randn(33, 70), torch.randint(-70, 70, (19,)))),
    "single elements": (lambda x, i: x[i].sum(1), (torch.randn(70), torch.randint(70, (9, 19)))),
    "elements of each row": (
        lambda x, i: x.gather(1, i).sum(1),
        (torch.randn(9, 70), torch.randint(70, (9, 19))),
    ),
    "every other element": (lambda x: x[:, ::2].sum(1), (torch.randn(9, 71),)),
    "every third row": (lambda x: x[::3].amax(0), (torch.randn(71, 33),)),
    "the other way round": (lambda x: x.flip(1).cumsum(1)[:, -1] + x.flip(1).sum(1), (torch.randn(9, 71),)),
}


class Module(nn.Module):
    """A module of a function."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.function(*tensors)


class Bag(nn.Module):
    """A reduction of an embedding."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, table: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return self.function(F.embedding(i, table))


def check(compiled: Any, function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """Compare with what eager makes of float64; a sum may be off by so much of its terms' magnitudes."""
    values, *indices = inputs
    result, expected = compiled(*inputs).double(), function(values.double(), *indices).double()
    terms = function(values.double().abs(), *indices).double()
    assert torch.equal(result.isnan(), expected.isnan())
    bound = (1e-5 if values.dtype is torch.float32 else 2e-2) * (1 + terms)
    assert torch.all((result == expected) | ((result - expected).abs() <= bound) | expected.isnan())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name in ("sum", "mean", "amax")
        for shape in ((5, 13, 33), (1, 1, 1), (2, 0, 7), (0, 3, 7), (3, 64, 1), (2, 9, 64))
        if name != "amax" or 0 not in shape[1:]  # nothing has no maximum
    ],
)
def test_bags(name: str, target: str, shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    bags, tokens, width = shape
    table, i = torch.randn(70, width).to(dtype), torch.randint(70, (bags, tokens))
    table[3, 0], table[5, 0] = torch.nan, torch.inf
    check(mlopt.jit(Bag(BAGS[name]), table, i, **TARGETS[target]), Bag(BAGS[name]), table, i)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("target", TARGETS)
def test_others(name: str, target: str) -> None:
    function, inputs = OTHERS[name]
    check(mlopt.jit(Module(function), *inputs, **TARGETS[target]), function, *inputs)


@pytest.mark.parametrize("name", BAGS)
@pytest.mark.parametrize("target", TARGETS)
def test_unknown_numbers_of_tokens(name: str, target: str) -> None:
    table, bag = torch.randn(70, 33), Bag(BAGS[name])
    sizes = (None, {0: torch.export.Dim("bags"), 1: torch.export.Dim("tokens")})
    compiled = mlopt.jit(bag, table, torch.randint(70, (5, 13)), dynamic_shapes=sizes, **TARGETS[target])
    for bags, tokens in ((5, 13), (2, 2), (3, 64), (1, 1), (4, 0)):
        if tokens or name in ("sum", "mean", "tokens and columns", "with work on both sides"):
            check(compiled, bag, table, torch.randint(70, (bags, tokens)))
    with pytest.raises(IndexError, match="index out of range in self"):
        compiled(table, torch.full((3, 5), 70))


@pytest.mark.parametrize("wrong", [70, -1, -(2**63), 2**40])
@pytest.mark.parametrize("target", TARGETS)
def test_each_index_is_checked(target: str, wrong: int) -> None:
    table, i, bag = torch.randn(70, 128), torch.randint(70, (64, 16)), Bag(BAGS["sum"])
    compiled = mlopt.jit(bag, table, i, **TARGETS[target])
    for place in ((0, 0), (63, 15), (31, 7)):
        bad = i.clone()
        bad[place] = wrong
        with pytest.raises(IndexError, match="index out of range in self"):
            bag(table, bad)
        with pytest.raises(IndexError, match="index out of range in self"):
            compiled(table, bad)
    check(compiled, bag, table, i)


@pytest.mark.parametrize("target", TARGETS)
def test_checks_of_what_is_reduced_in_steps(target: str) -> None:
    a, b = torch.randint(1, 9, (4, 40)), torch.randint(1, 9, (4, 40))
    sizes = (({1: torch.export.Dim("length")},) * 2,)
    compiled = mlopt.jit(Module(lambda a, b: (a // b).sum(1)), a, b, dynamic_shapes=sizes, **TARGETS[target])
    assert torch.equal(compiled(a, b), (a // b).sum(1))
    b[3, 37] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(a, b)


def count(module: nn.Module, *inputs: torch.Tensor, target: str) -> int:
    """How many kernels a call runs, and how many what comes before it; each of them is tiles."""
    kernels = kernels_in(module, inputs, target)
    assert all(each.path == "tile" for each in kernels)
    return sum(each.calls for each in kernels)


@pytest.mark.parametrize("name", BAGS)
def test_one_kernel(name: str) -> None:
    inputs = torch.randn(70, 64), torch.randint(70, (8, 50))
    assert count(Bag(BAGS[name]), *inputs, target="cpu") == (2 if name == "argmax" else 1)


def test_gpus_fuse_what_need_not_wait() -> None:
    """Many bags fill all multiprocessors; few would each wait for one token after the other."""
    table = torch.randn(1000, 128)
    many, few = torch.randint(1000, (4096, 64)), torch.randint(1000, (8, 50))
    assert count(Bag(BAGS["sum"]), table, many, target="emulator") == 1
    assert count(Bag(BAGS["sum"]), table, few, target="emulator") == 2
