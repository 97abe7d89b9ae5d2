"""erfc, erfinv and lgamma: errors beside eager's against f64, and the edges, in each dtype."""

from __future__ import annotations

import math

import mlopt
import pytest
import torch
from mlopt.errors import UnsupportedOpError
from mlopt.runtime.verification import Verifier
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
EDGES = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 0.999, 1e-30, -3.0, 1.1, 30.0, -30.0, 1e30)
FUNCTIONS = {
    "erfc": (torch.special.erfc, lambda size: torch.randn(size) * 4),
    "erfinv": (torch.special.erfinv, lambda size: torch.rand(size) * 2 - 1),
    "lgamma": (torch.special.gammaln, lambda size: torch.randn(size) * 20),
}


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def inputs(draw, dtype, size=(41, 67)):
    """Numbers of each size, and the edges."""
    x = draw(size)
    x[0] = torch.rand(size[1]) * 1e-3
    x[1, : len(EDGES)] = torch.tensor(EDGES)
    x[1, len(EDGES) : len(EDGES) + 3] = torch.tensor([math.inf, -math.inf, math.nan])
    return x.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_beside_eager(name, dtype):
    function, draw = FUNCTIONS[name]
    if name == "lgamma" and dtype == torch.float64:
        with pytest.raises(UnsupportedOpError, match=r"aten\.lgamma"):
            mlopt.jit(function, inputs(draw, dtype))
        return
    compiled = mlopt.jit(function, inputs(draw, dtype))
    x = inputs(draw, dtype)
    Verifier(Call(function), (x,), {}).check(compiled(x))
    assert not compiled.report.slow_paths


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_integers(name):
    function, _ = FUNCTIONS[name]
    x = torch.tensor([[-1, 0, 1, 2, 3, 5]])
    torch.testing.assert_close(mlopt.jit(function, x)(x), function(x), rtol=1e-5, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_for_a_gpu(name):
    function, draw = FUNCTIONS[name]
    x = inputs(draw, torch.float32, (3, 67))
    compiled = mlopt.jit(function, x, target="cuda:sm_80", device="emulator")
    Verifier(Call(function), (x,), {}).check(compiled(x))


def test_gradients():
    x = (torch.rand(50) * 1.8 - 0.9).requires_grad_()

    def function(x):
        return torch.erfc(x) * torch.erfinv(x)

    grads = []
    with torch.enable_grad():
        for each in (torch.compile(function, backend="mlopt"), function):
            grads += torch.autograd.grad(each(x).sum(), x)
    torch.testing.assert_close(*grads, rtol=2e-5, atol=2e-5)
