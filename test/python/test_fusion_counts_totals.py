"""Totals of numbers of elements that nothing divides: their kernels, and their values against float64."""

import itertools
from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.test.python.kernel_counts import TARGETS, kernels_of

SHAPES = [(33, 517), (1, 100003), (2, 50021), (20011, 31)]
NO_ELEMENTS = (0, 5)
TOTALS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "divided by the sum": lambda x: x / x.sum(),
    "loss": lambda x: F.mse_loss(x.tanh(), x.exp()),
    "largest": torch.max,
}
EMPTY = [(name, NO_ELEMENTS) for name in TOTALS if name != "largest"]  # of no elements eager has none


@pytest.mark.parametrize(("name", "shape"), [*itertools.product(TOTALS, SHAPES), *EMPTY], ids=str)
def test_two_kernels(name: str, shape: tuple[int, ...]) -> None:
    """Parts, each with some of what is left over, and what adds them up."""
    module, x = TOTALS[name], torch.rand(shape) + 0.5
    with torch.no_grad():
        compiled = mlopt.jit(module, x)
    names = [each.name for each in compiled.kernels for _ in range(each.calls)]
    assert len(names) <= 2, names
    _check(compiled(x), module, x)


def test_one_kernel_of_a_few_rows() -> None:
    assert len(kernels_of(lambda x: x / x.sum(), (torch.rand(64, 64),), "cpu")) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32], ids=str)
def test_other_types(dtype: torch.dtype) -> None:
    x = (torch.rand(2, 8209) * 3 + 1).to(dtype)
    if dtype.is_floating_point:
        _check(mlopt.jit(lambda x: x / x.sum(), x)(x), lambda x: x / x.sum(), x)
    else:
        assert torch.equal(mlopt.jit(torch.sum, x)(x), x.sum())


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")], ids=str)
@pytest.mark.parametrize("place", [0, 16410 - 70, 16410])
def test_numbers_that_are_none(place: int, number: float) -> None:
    """The last elements, of which some are read twice, count once, whatever they are."""
    x = torch.rand(16411)
    x[place] = number
    compiled = mlopt.jit(lambda x: (x.sum(), x.amax()), x)
    for result, expected in zip(compiled(x), (x.sum(), x.amax()), strict=True):
        torch.testing.assert_close(result, expected, equal_nan=True)


def test_on_a_gpu() -> None:
    x = torch.rand(2, 8209)
    names = kernels_of(lambda x: x / x.sum(), (x,), "emulator")
    assert len(names) == 2, names
    compiled = mlopt.jit(lambda x: x / x.sum(), x, **TARGETS["emulator"])
    _check(compiled(x), lambda x: x / x.sum(), x)


def _check(result: Any, module: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """Twice eager's own error at most, or 1e-5 of the result, whose terms have one sign."""
    expected, eager = module(x.double()), module(x)
    assert result.shape == eager.shape and result.dtype == eager.dtype
    if expected.numel():
        allowed = 2 * (eager.double() - expected).abs().max() + 1e-5 * expected.abs()
        close = (result.double() - expected).abs() <= allowed
        assert (close | (result.isnan() & expected.isnan())).all()
