"""mlopt.jit as users call it: what is compiled, what it shows, threads, numpy, processors."""

import functools
import os
import sys

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import InputError
from mlopt.test.python.api_modules import Call, Net, close
from mlopt.test.python.threads import at_once, on_any_number
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


def test_result_and_report(net):
    module, compiled = net
    x = torch.randn(4, 16)
    close(compiled(x), module(x))
    assert {"torch", "linalg", "kernels", "tile", "llvm", "object"} <= set(compiled.asm)
    assert all(compiled.asm.values())
    assert "ret" in compiled.asm["object"]
    with pytest.raises(KeyError, match=r"there are: torch, linalg, kernels"):
        compiled.asm["tiles"]
    assert any("matmul" in kernel.ops for kernel in compiled.kernels)
    assert not compiled.report.slow_paths
    assert compiled.report.coverage == 1
    products = 2 * 4 * (16 * 32 + 32 * 8)
    assert products <= compiled.report.flops <= 1.1 * products
    assert "FLOP/B" in str(compiled.report)
    assert repr(compiled).startswith("<mlopt.Compiled Net for cpu: ")
    assert compiled.options.opt_level == 2


def test_functions_and_lambdas():
    def swish(x):
        return x * torch.sigmoid(x)

    compiled = mlopt.jit(swish, torch.randn(10))
    assert "swish" in repr(compiled)
    x = torch.randn(10)
    close(compiled(x), swish(x))


@pytest.mark.parametrize("function", [torch.relu, functools.partial(torch.mul, torch.tensor(2.0)), nn.ReLU()])
def test_callables_without_a_signature(function):
    x = torch.randn(5)
    assert torch.equal(mlopt.jit(function, x)(x), function(x))


def test_one_example_for_two_arguments():
    def function(a, b):
        return a + b, a @ b

    x, y = torch.randn(4, 4), torch.randn(4, 4)
    compiled = mlopt.jit(function, x, x)
    for args in ((x, y), (y, x), (x, x)):
        for actual, expected in zip(compiled(*args), function(*args), strict=True):
            close(actual, expected)


def test_jit_in_several_threads():
    x, results = torch.randn(5), {}

    def work(factor):
        results[factor] = mlopt.jit(lambda x: x * factor, x)(x)

    at_once(work, *((factor,) for factor in range(4)))
    assert len(results) == 4
    assert all(torch.equal(result, x * factor) for factor, result in results.items())


def test_bits_do_not_change_from_call_to_call(net):
    _, compiled = net
    x = torch.randn(4, 16)
    assert len({compiled(x).numpy().tobytes() for _ in range(5)}) == 1


def test_threads(net):
    module, compiled = net
    inputs = [torch.randn(4, 16) for _ in range(4)]
    expected = [module(x) for x in inputs]

    def work(x, y):
        with torch.no_grad():
            for _ in range(50):
                assert torch.allclose(compiled(x), y, atol=1e-5)

    at_once(work, *zip(inputs, expected, strict=True))


def test_bits_do_not_depend_on_the_number_of_threads():
    x = torch.randn(512, 512)
    compiled = mlopt.jit(Call(lambda x: torch.softmax(x @ x, -1).sum(0)), x)
    on_any_number(lambda: compiled(x), (1, 2, 3))


def test_numpy_in_numpy_out(net):
    module, compiled = net
    x = torch.randn(4, 16)
    out = compiled(x.numpy())
    assert type(out) is np.ndarray
    close(torch.from_numpy(out), module(x))
    from_arrays = mlopt.jit(module, x.numpy())
    close(from_arrays(x), module(x))


def test_numpy_and_bfloat16(monkeypatch):
    x = torch.randn(4, 16)
    half = mlopt.jit(Call(lambda x: x.bfloat16()), x)
    assert half(x).dtype is torch.bfloat16
    out = half(x.numpy())
    assert out.dtype.name == "bfloat16"
    assert torch.equal(torch.from_numpy(out.astype(np.float32)), x.bfloat16().float())
    back = mlopt.jit(Call(lambda x: x * 2), x.bfloat16())
    assert (back(out) == out * 2).all()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(InputError, match=r"bfloat16, which numpy does not know[\s\S]*ml_dtypes"):
        half(x.numpy())


@pytest.mark.parametrize("cpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_casts_on_old_and_new_processors(dtype, cpu):
    x = torch.cat(
        [torch.randn(20) * 10.0**e for e in range(-42, 38, 5)] + [torch.tensor([torch.nan, torch.inf, 0.0])]
    )
    there = mlopt.jit(Call(lambda x: x.to(dtype)), x, cpu=cpu)
    torch.testing.assert_close(there(x), x.to(dtype), rtol=0, atol=0, equal_nan=True)
    x = x.to(dtype)
    back = mlopt.jit(Call(lambda x: x.float()), x, cpu=cpu)
    torch.testing.assert_close(back(x), x.float(), rtol=0, atol=0, equal_nan=True)


def test_a_forked_child_can_call(net):
    _, compiled = net
    x = torch.randn(4, 16)
    expected = compiled(x)
    child = os.fork()
    if child == 0:
        with torch.no_grad():
            os._exit(0 if torch.equal(compiled(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_for_a_processor_with_avx2():
    module = Net().eval()
    compiled = mlopt.jit(module, torch.randn(4, 16), cpu="x86-64-v3")
    assert "zmm" not in compiled.asm["object"]
    assert "ymm" in compiled.asm["object"]
    x = torch.randn(4, 16)
    close(compiled(x), module(x))
