"""Reads and writes through indices and booleans beside eager, and what of them eager refuses."""

import mlopt
import pytest
import torch
from mlopt.errors import CompileError
from mlopt.test.python.beside_eager import assert_as_eager, assert_same
from torch.nn import functional as F

NAN, INF = float("nan"), float("inf")


def test_a_place_that_is_data():
    def both(x, s, i):
        return x[s.argmax()], x[:, i] + 1, x[i, 1]

    x, s = torch.randn(4, 3), torch.randn(4)
    compiled = mlopt.jit(both, x, s, torch.tensor(1, dtype=torch.int32))
    for place in (2, -1):
        i = torch.tensor(place, dtype=torch.int32)
        assert_same(compiled(x, s, i), both(x, s, i))
    for place in (3, -4):
        with pytest.raises(IndexError, match="index out of range"):
            compiled(x, s, torch.tensor(place, dtype=torch.int32))


# Eager raises IndexError or RuntimeError; all of ours are IndexError.
NO_NEGATIVE = {
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "scatter": lambda x, i: x.scatter(0, i[:, None], x),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[:, None], x, "amax"),
    "gather": lambda x, i: x.gather(0, i[:, None]),
}


@pytest.mark.parametrize("wrong", [-1, 4])
@pytest.mark.parametrize("name", NO_NEGATIVE)
def test_indices_that_eager_refuses(name, wrong):
    x, right = torch.randn(4, 3), torch.tensor([0, 3])
    with pytest.raises((IndexError, RuntimeError)):
        NO_NEGATIVE[name](x, torch.tensor([0, wrong]))
    compiled = mlopt.jit(NO_NEGATIVE[name], x, right)
    with pytest.raises(IndexError, match="index out of range"):
        compiled(x, torch.tensor([0, wrong]))
    torch.testing.assert_close(compiled(x, right), NO_NEGATIVE[name](x, right))


def test_negative_indices_that_eager_takes():
    def function(x, i):
        return x.index_fill(0, i, 2.0), torch.index_put(x, (i,), x[:2]), x[i]

    assert_as_eager(function, torch.randn(4, 3), torch.tensor([0, -1]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8], ids=str)
def test_scatter_reduce(dtype):
    def function(x, i, y):
        ways = [(way, keep) for way in ("sum", "prod", "mean", "amax", "amin") for keep in (True, False)]
        return tuple(x.scatter_reduce(0, i, y, way, include_self=keep) for way, keep in ways)

    x, y = torch.randint(-9, 9, (4, 5)), torch.randint(-9, 9, (4, 5))
    assert_as_eager(
        function, x.to(dtype), torch.tensor([[0, 1, 1, 3], [0, 2, 1, 3], [0, 1, 1, 3]]), y.to(dtype)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8], ids=str)
def test_scatters_of_many_into_many(dtype):
    """All pairs are too many to compare: by loops over what is given."""

    def function(x, i, y):
        ways = [(way, keep) for way in ("sum", "prod", "mean", "amax", "amin") for keep in (True, False)]
        return (
            *(x.scatter_reduce(0, i, y, way, include_self=keep) for way, keep in ways),
            x.index_add(0, i, y),
        )

    x, y, i = torch.randint(-9, 9, (90,)).to(dtype), torch.randint(-2, 3, (70,)).to(dtype), torch.arange(70)
    if dtype.is_floating_point:
        x[:3], y[:6] = torch.tensor([NAN, -0.0, INF]), torch.tensor([1, -0.0, -INF, NAN, INF, -INF])
    compiled = mlopt.jit(function, x, i, y)
    for index in (i, 69 - i // 3, i * 0):
        for found, right in zip(compiled(x, index, y), function(x, index, y), strict=True):
            torch.testing.assert_close(found, right, equal_nan=True)
    assert "scf.for" in mlopt.jit(torch.scatter_add, x, 0, i, y).asm["loops"]


def test_scatters_into_many_columns():
    """Loops take a leading index; a wrong one of theirs is an error, too."""

    def function(x, i, y):
        return x.index_copy(1, i, y), x.index_add(1, i, y), x.scatter_add(1, i.expand(2, -1), y)

    x, i, y = torch.randn(2, 90), torch.randperm(70), torch.randn(2, 70)
    assert_as_eager(function, x, i, y)
    with pytest.raises(IndexError, match="index out of range"):
        mlopt.jit(function, x, i, y)(x, i + 21, y)


@pytest.mark.parametrize("accumulate", [False, True])
def test_indices_behind_other_dimensions(accumulate):
    def function(x, i, j, y):
        beside = torch.ops.aten.index_put(x, [None, i, j], y.movedim(2, 0)[..., :1], accumulate)
        return beside, torch.ops.aten.index_put(x, [None, i, None, j], y, accumulate)

    i, j = torch.tensor([[0], [-1]]), torch.tensor([4, 1, 2])
    assert_as_eager(function, torch.randn(3, 4, 5, 6), i, j, torch.randn(2, 3, 3, 5))


def test_scatters_of_many_on_gpus():
    """No loops there."""

    def function(x, i, y):
        return x.scatter_add(0, i, y), x.scatter_reduce(0, i, y, "mean"), x.index_copy(0, i, y)

    args = torch.randn(90), torch.randperm(70), torch.randn(70)
    assert_same(mlopt.jit(function, *args, target="cuda:sm_80", device="emulator")(*args), function(*args))


def test_masked_scatter():
    def function(x, mask, source):
        y = x * 1
        y.masked_scatter_(mask, source)
        return y, x.masked_scatter(mask[0], source), x[0].masked_scatter(mask, source.reshape(2, 5))

    mask = torch.tensor([[True, False, True], [False, True, True]])
    assert_as_eager(function, torch.randn(2, 3), mask, torch.arange(10.0))
    assert_as_eager(lambda x, m: x.masked_scatter(m, x[0, :0]), torch.randn(2, 3), mask & False)


REFUSED = {
    "argmax": lambda x: x.argmax(),
    "sub": lambda x: x - 1,
    "mixed sub": lambda x: x - torch.arange(3),
    "topk": lambda x: x.topk(1),
    "relu": torch.relu,
    "floor": torch.floor,
    "mm": lambda x: x[None] @ x[:, None],
    "remainder": lambda x: x % x,
    "hardswish": F.hardswish,
    "abs": torch.abs,
}


@pytest.mark.parametrize("name", REFUSED)
def test_booleans_that_eager_refuses(name):
    x = torch.tensor([True, False, True])
    with pytest.raises((RuntimeError, NotImplementedError)) as eager:
        REFUSED[name](x)
    with pytest.raises(CompileError) as ours:
        mlopt.jit(REFUSED[name], x)
    assert str(eager.value).splitlines()[0][:60] in str(ours.value)
    assert "eager refuses this aten." in str(ours.value)


def test_booleans_that_eager_takes():
    def function(x):
        return x**2, x.square(), x + x, x * 2, x.cumsum(0), x.max(0), x.amax(), ~x, x / x, x.sum()

    assert_as_eager(function, torch.tensor([True, False, True]))
