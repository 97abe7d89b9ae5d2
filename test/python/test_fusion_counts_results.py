"""Results that share memory in eager: the kernel that makes one of them writes the others, too."""

from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus.basic import Function
from mlopt.test.python.kernel_counts import TARGETS

X = torch.randn(16, 32)
W = torch.randn(32, 32)

CASES: dict[str, tuple[int, Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "an argument and a result": (1, lambda x: (x, x.view(-1), x * 2), (X,)),
    "a result and views of it": (1, lambda x: ((y := x.softmax(-1)), y.view(-1), y.t()), (X,)),
    "half floats of a product": (
        1,
        lambda x, w: ((y := torch.relu(x @ w)), y.view(-1)),
        (X.half(), W.half()),
    ),
    "a concat": (2, lambda x: ((y := torch.cat((x, x + 1))), y.clone()), (X,)),  # copied when it is whole
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_what_is_returned_twice_is_written_twice(name: str, target: str) -> None:
    most, function, given = CASES[name]
    module = Function(function)
    compiled = mlopt.jit(module, *given, **TARGETS[target])
    assert sum(each.calls for each in compiled.kernels) == most
    Verifier(module, given, {}).check(compiled(*given))


@pytest.mark.parametrize("target", TARGETS)
def test_an_argument_is_read_as_it_was_or_as_it_is_written(target: str) -> None:
    """Of an unknown number of rows: one kernel reads them before, and gives what is read after."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = x.sum(-1)
        return before, x.add_(1), x * 2, x.view(-1)

    example = torch.randn(7, 32)
    shapes = (({0: torch.export.Dim("rows", min=2)},),)
    compiled = mlopt.jit(Function(function), example.clone(), dynamic_shapes=shapes, **TARGETS[target])
    assert sum(each.calls for each in compiled.kernels) == 1
    for rows in (2, 7, 131):
        given = torch.randn(rows, 32)
        ours = given.clone()
        results = compiled(ours)
        for got, want in zip((*results, ours), (*function(given), given), strict=True):
            torch.testing.assert_close(got, want)
            assert got.stride() == want.stride()
