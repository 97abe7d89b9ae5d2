"""Totals of numbers of elements that nothing divides: their kernels, and their values against float64."""

import itertools
from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus.basic import Function
from mlopt.test.python.kernel_counts import TARGETS, calls_of, kernels_of

SHAPES = [(33, 517), (1, 100003), (2, 50021), (20011, 31), (4096, 256), (4099, 257), (3, 5, 257, 65)]
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


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(4096, 4096), (300, 70000), (4097, 4095), (1 << 24,)], ids=str)
def test_two_kernels_of_much(shape: tuple[int, ...], target: str) -> None:
    """However many rows there are, and tasks that divide: they add up few parts."""
    x = torch.empty(shape)
    for module in (lambda x: x / x.sum(), lambda x: x / x.amax(), lambda x: x - x.mean()):
        assert len(kernels_of(module, (x,), target)) == 2


@pytest.mark.parametrize(
    ("dims", "target"), [((1, 2), "cpu"), ((0, 1), "cpu"), ((0, 2), "emulator")], ids=str
)
def test_one_kernel_of_several_dims(dims: tuple[int, ...], target: str) -> None:
    """An extreme comes as a chain, one dim after the other, in logsumexp with what reads it."""
    x = torch.randn(15, 17, 31)
    x[3, 2, 1] = float("nan")
    for module in (lambda x: x.amax(dims), lambda x: x.logsumexp(dims)):
        compiled = mlopt.jit(module, x, **TARGETS[target])
        assert len(calls_of(compiled.kernels)) == 1
        torch.testing.assert_close(compiled(x), module(x), equal_nan=True)


@pytest.mark.parametrize("number", [0.1, 1 / 3])
def test_long_sums_of_equal_numbers(number: float) -> None:
    """All roundings go one way: the error grows with the numbers that are added one after the other."""
    x = torch.full((64, 1 << 18), number)
    for module in (torch.sum, lambda x: x.sum(1)):
        _check(mlopt.jit(module, x)(x), module, x)


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


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [100003, 50021, 16411])
def test_a_norm_of_one_row(count: int, target: str) -> None:
    """Each part has a mean and a variance of its own, of as many elements as it has; readers combine them."""
    module, x = Function(lambda x: F.layer_norm(x, (count,))), torch.randn(1, count) + 3
    with torch.no_grad():
        compiled = mlopt.jit(module, x, **TARGETS[target])
    assert sum(each.calls for each in compiled.kernels) == 2
    Verifier(module, (x,), {}).check(compiled(x))
    for place in (0, count - 70, count - 1):
        x = torch.randn(1, count)
        x[0, place] = 1e4  # a part's mean is far from that of all
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("shape", [(2, 8209), (1500, 67)], ids=str)
def test_on_a_gpu(shape: tuple[int, ...]) -> None:
    """Also of more rows than there are to be parts."""
    x = torch.rand(shape)
    compiled = mlopt.jit(lambda x: x / x.sum(), x, **TARGETS["emulator"])
    names = calls_of(compiled.kernels)
    assert len(names) == 2, names
    _check(compiled(x), lambda x: x / x.sum(), x)


def _check(result: Any, module: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """Twice eager's own error at most, or 1e-5 of the result, whose terms have one sign."""
    expected, eager = module(x.double()), module(x)
    assert result.shape == eager.shape and result.dtype == eager.dtype
    if expected.numel():
        allowed = 2 * (eager.double() - expected).abs().max() + 1e-5 * expected.abs()
        close = (result.double() - expected).abs() <= allowed
        assert (close | (result.isnan() & expected.isnan())).all()


@pytest.mark.parametrize(("classes", "dtype"), [(131072, torch.float32), (50257, torch.bfloat16)], ids=str)
def test_the_loss_of_one_row_is_not_made_of_all_log_probabilities(classes: int, dtype: torch.dtype) -> None:
    """Tasks share the row: their parts' results, and what adds them up and reads the score that counts."""
    scores = (torch.randn(1, classes) * 5).to(dtype)
    with torch.no_grad():
        compiled = mlopt.jit(F.cross_entropy, scores, torch.tensor([0]))
    assert sum(each.calls for each in compiled.kernels) == 2
    assert sum(each.bytes for each in compiled.kernels) <= 1.01 * scores.nbytes
    for place in (0, classes // 2 + 1, classes - 1, -100):
        target = torch.tensor([place])
        expected = F.cross_entropy(scores.double(), target)
        error, eager = ((f(scores, target) - expected).abs() for f in (compiled, F.cross_entropy))
        assert place < 0 or error <= max(2 * eager, 1e-5 * (scores.abs().max() + 20))
        assert place >= 0 or (compiled(scores, target).isnan() and expected.isnan())
    with pytest.raises(IndexError):
        compiled(scores, torch.tensor([classes]))


UNKNOWN: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "divided by the sum": lambda x: x / x.sum(),
    "divided by the mean": lambda x: x / x.mean(),
    "less the mean": lambda x: x - x.mean(),
    "divided by the norm": lambda x: x / x.norm(),
    "divided by the largest": lambda x: x / x.amax(),
    "exponentials": lambda x: (x.exp() + 1).sum() * x,
}


@pytest.mark.parametrize(("name", "columns"), [*((name, 1021) for name in UNKNOWN), ("less the mean", 5000)])
def test_two_kernels_of_unknown_rows(name: str, columns: int) -> None:
    """Parts of known number take blocks of rows in turns, also where there are fewer rows than parts."""
    module = Function(UNKNOWN[name])
    example, rows = torch.rand(7, columns), {0: torch.export.Dim("rows", min=1)}
    with torch.no_grad():
        compiled = mlopt.jit(module, example, dynamic_shapes=((rows,),))
    assert sum(each.calls for each in compiled.kernels) == 2
    for count in (1, 3, 4, 255, 256, 257, 1030):
        x = torch.randn(count, columns) + 1
        Verifier(module, (x,), {}).check(compiled(x))
        x[-1, -1] = float("nan")
        assert compiled(x).isnan().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int32], ids=str)
def test_other_types_of_unknown_rows(dtype: torch.dtype) -> None:
    module = Function(lambda x: x * x.sum())
    make = lambda rows: (torch.randn(rows, 3, 512) * 4).to(dtype)  # noqa: E731
    compiled = mlopt.jit(module, make(5), dynamic_shapes=(({0: torch.export.Dim("rows")},),))
    assert sum(each.calls for each in compiled.kernels) == 2
    for rows in (2, 64, 131):
        x = make(rows)
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("target", TARGETS)
def test_products_are_rounded_once(target: str) -> None:
    """Of many factors near 1 each rounding is one of the whole, in whatever order they are multiplied."""
    unit = 2.0**-24 * 1.001
    x = 1 + 1e-3 * torch.randn(1 << 21 if target == "cpu" else 1 << 15)
    rows = x[: 3 << 12].reshape(3, -1)
    functions: tuple[tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor], ...] = (
        (torch.prod, x),
        (lambda x: x.prod(1), rows),
        (lambda x: x.prod(0), rows.T.contiguous()),
        (lambda x: x.cumprod(1), rows),
    )
    for function, factors in functions:
        found, expected = mlopt.jit(function, factors, **TARGETS[target])(factors), function(factors.double())
        assert found.dtype == torch.float32
        assert ((found - expected).abs() <= unit * expected.abs()).all()
