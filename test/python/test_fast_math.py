"""Arithmetic as that of real numbers, where the user asks for it."""

import mlopt
import pytest
import torch

WAYS = [{}, {"target": "cuda:sm_80", "device": "emulator"}]
TOLERANCE = {torch.float64: 1e-13, torch.float32: 5e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def chain(x):
    return torch.log(torch.exp(x)) * 2.0 * 3.0 - 1.0 + x / 3.0


def norm(x, w):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5) * w + 1.5


def softmax(x):
    return x.softmax(-1)


def product(x, w):
    return torch.relu(x @ w.T) / 8.0 + 1.0


@pytest.mark.parametrize("way", WAYS, ids=["cpu", "emulator"])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("function", "shapes"),
    [(chain, [(7, 33)]), (norm, [(7, 33), (33,)]), (softmax, [(7, 33)]), (product, [(7, 33), (5, 33)])],
)
def test_close_to_eager(way, dtype, function, shapes):
    values = [torch.randn(shape, dtype=torch.float64).to(dtype) for shape in shapes]
    compiled = mlopt.jit(function, *values, fast_math=True, **way)
    assert all(kernel.path == "tile" for kernel in compiled.kernels)
    expected = function(*[value.double() for value in values])
    torch.testing.assert_close(
        compiled(*values).double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


def test_a_row_is_divided_once():
    x = torch.randn(64, 100)
    tile = {fast: mlopt.jit(softmax, x, fast_math=fast).asm["tile"] for fast in (False, True)}
    (division,) = [line for line in tile[False].splitlines() if "arith.divf" in line]
    assert "x100xf32>" in division
    (division,) = [line for line in tile[True].splitlines() if "arith.divf" in line]
    assert "x1xf32>" in division


def test_only_where_it_is_asked_for(monkeypatch):
    x = torch.randn(5)
    asked = mlopt.jit(chain, x, fast_math=True).asm["tile"]
    assert "math.fma" in asked
    assert "math.exp" not in asked
    plain = mlopt.jit(chain, x).asm["tile"]
    assert "math.fma" not in plain
    assert "math.exp" in plain
    monkeypatch.setenv("MLOPT_FAST_MATH", "1")
    assert mlopt.jit(chain, x).asm["tile"] == asked


def test_through_torch_compile():
    x = torch.randn(6, 7)
    compiled = torch.compile(softmax, backend="mlopt", options={"fast_math": True})
    torch.testing.assert_close(compiled(x), softmax(x))
