"""Running sums and products: as eager's, of any size, and memory is read twice and written once."""

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.frontends.decomposing import reductions
from mlopt.test.corpus.basic import Function


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 26, 31, 160, 257, 1000, 1009])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.uint8, torch.bool], ids=str)
def test_all_places(size: int, dtype: torch.dtype) -> None:
    x = (3 * torch.randn(2, size, 3)).to(dtype)
    torch.testing.assert_close(reductions._cumsum(x, 1), x.cumsum(1))
    torch.testing.assert_close(reductions._cumsum(x.mT, -1), x.mT.cumsum(-1))
    y = torch.where(x == 0, 1, x.sign()) if dtype.is_floating_point else x
    torch.testing.assert_close(reductions._cumprod(y, 1), y.cumprod(1))


@pytest.mark.parametrize("place", [0, 15, 16, 500])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_stays_where_it_ends(place: int, value: float) -> None:
    x = torch.rand(600, dtype=torch.float64) + 0.5
    x[place] = value
    torch.testing.assert_close(reductions._cumsum(x, 0), x.cumsum(0), equal_nan=True)
    y = x.clamp(max=1) if value > 0 else x
    torch.testing.assert_close(reductions._cumprod(y, 0), y.cumprod(0), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_logarithms_of_sums_of_what_overflows(dtype: torch.dtype) -> None:
    inf = torch.inf
    special = torch.tensor(
        [[-200, -201, -199, 1], [6e4, 1, 2, 3], [-inf, -inf, 1, inf], [1, torch.nan, 2, -inf]]
    )
    function = Function(lambda x, y: (x.logcumsumexp(1), y.logcumsumexp(0)))
    x, y = special.to(dtype), (20 * torch.randn(1000, 2)).to(dtype)
    for found, eager in zip(mlopt.jit(function, x, y)(x, y), function(x, y), strict=True):
        torch.testing.assert_close(found, eager, equal_nan=True)


def test_logarithms_along_what_has_any_size_are_refused() -> None:
    sizes = {"x": {0: torch.export.Dim("n", min=2)}}
    with pytest.raises(mlopt.CompileError, match="logcumsumexp along dim 0, whose size is dynamic"):
        mlopt.jit(Scan(), torch.randn(7), dynamic_shapes=sizes)


class Scan(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.logcumsumexp(0)


@pytest.mark.parametrize(("shape", "dim"), [((32, 2048), 1), ((2048, 32), 0), ((64, 1000), 1)])
def test_what_memory_moves(shape: tuple[int, int], dim: int) -> None:
    function = Function(lambda x: x.cumsum(dim))
    x = torch.randn(shape)
    compiled = mlopt.jit(function, x, target="cuda:sm_80", device="emulator")
    with emulator.record() as reports:
        found = compiled(x)
    torch.testing.assert_close(found, x.double().cumsum(dim).float(), rtol=1e-5, atol=1e-4)
    moved = sum(each.counters.dram_read + each.counters.dram_written for each in reports)
    assert moved <= 1.75 * 2 * x.nbytes
