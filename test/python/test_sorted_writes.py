"""Writes through many indices where nothing runs loops: the decompositions, and programs for a GPU."""

import mlopt
import pytest
import torch
from mlopt.frontends.decomposing import indices
from mlopt.frontends.decomposing.scatters import _neutral
from mlopt.frontends.decomposing.sorted_writes import reduce_sorted, write_sorted

pytestmark = pytest.mark.usefixtures("inference")

NAN, INF = torch.nan, torch.inf


def drawn(given, places):
    """Indices of all kinds: different ones, some that come often, all the same, in order, backwards."""
    some = torch.randint(places, (given,))
    yield from (some, some.sort()[0], some.sort()[0].flip(0), torch.full((given,), places - 1), some * 0)
    yield torch.arange(given) % places
    yield some.clamp(max=places // 3)


@pytest.mark.parametrize("given", [1, 2, 15, 17, 70, 300, 2500])
@pytest.mark.parametrize("places", [1, 90, 1000])
def test_the_last_of_equal_indices_wins(given, places):
    x, values = torch.randn(places, 3), torch.randn(given, 3)
    for index in drawn(given, places):
        wanted = x.clone()
        for place, value in zip(index.tolist(), values, strict=True):
            wanted[place] = value
        assert torch.equal(write_sorted(x, index, values), wanted)


@pytest.mark.parametrize("given", [1, 17, 70, 300, 2500])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_values_of_a_place_are_reduced(given, include_self, reduce):
    """In f32, where another place's NaN and infinities must not come in, and in int64."""
    places = 90
    for index in drawn(given, places):
        x, values = (
            (torch.rand(rows, 2) + 4.5) / 5 * torch.randn(rows, 2).sign() for rows in (places, given)
        )
        values[::29], values[5::31] = torch.tensor([NAN, INF]), torch.tensor([-INF, 1.0])
        whole = torch.randint(-9, 9, (places, 2)), torch.randint(-2, 3, (given, 2))
        for own, source in ((x, values), whole):
            wide = torch.float64 if own.is_floating_point() else own.dtype
            wanted = own.to(wide).scatter_reduce(
                0, index[:, None].expand(-1, 2), source.to(wide), reduce, include_self=include_self
            )
            neutral = _neutral(reduce, own.dtype)
            found = reduce_sorted(own, index, source, reduce, neutral, include_self=include_self)
            torch.testing.assert_close(found.to(wide), wanted, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_many_into_many_on_a_gpu(monkeypatch):
    """Rows, columns, and single elements; a wrong index is an error as in eager."""
    monkeypatch.setattr(indices, "LIMIT", 100)
    monkeypatch.setattr(indices, "LISTED", 100)

    def function(x, i, y):
        flat = i[:, None].expand(-1, 3)
        return x.index_copy(0, i, y), x.t().index_add(1, i, y.t()), x.scatter_reduce(0, flat, y, "amax")

    x, y = torch.randn(90, 3), torch.randn(70, 3)
    compiled = mlopt.jit(
        function, x, torch.arange(70), y, target="cuda:sm_80", device="emulator", fallback=False
    )
    for index in (torch.randperm(90)[:70], torch.arange(70) // 3, torch.randint(90, (70,))):
        for ours, eager in zip(compiled(x, index, y), function(x, index, y), strict=True):
            torch.testing.assert_close(ours, eager)
    with pytest.raises(IndexError, match="index out of range"):
        compiled(x, torch.arange(70) + 21, y)


def test_a_gradient_of_an_embedding_on_a_gpu(monkeypatch):
    """More rows times tokens times width than are compared."""
    monkeypatch.setattr(indices, "LISTED", indices.LIMIT)
    tokens, width, rows = 150, 32, 15000

    def function(grad, tokens):
        return torch.zeros(rows, width, dtype=grad.dtype).index_add(0, tokens, grad)

    assert rows * tokens * width > indices.LIMIT
    grad, places = torch.randn(tokens, width), torch.randint(rows // 50, (tokens,))
    compiled = mlopt.jit(function, grad, places, target="cuda:sm_80", device="emulator")
    wanted = function(grad.double(), places)
    torch.testing.assert_close(compiled(grad, places).double(), wanted, rtol=1e-5, atol=1e-5)
