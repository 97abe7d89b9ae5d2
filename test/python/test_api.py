"""mlopt.jit and mlopt.compile_mlir as users call them: results, structure, state, aliasing, errors."""

import functools
import os
import subprocess
import sys
import threading
import warnings

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError, InputError, UnsupportedOpError, VerifyError
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.second = nn.Linear(32, 8)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Call(nn.Module):
    """A module around a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def close(ours, eager):
    torch.testing.assert_close(ours, eager, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    module = Net().eval()
    return module, mlopt.jit(module, torch.randn(4, 16))


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


# What is compiled, and what it shows


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

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
    wrong = []

    def work(x, y):
        with torch.no_grad():
            for _ in range(50):
                if not torch.allclose(compiled(x), y, atol=1e-5):
                    wrong.append(x)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_bits_do_not_depend_on_the_number_of_threads():
    x = torch.randn(512, 512)
    compiled = mlopt.jit(Call(lambda x: torch.softmax(x @ x, -1).sum(0)), x)
    threads = torch.get_num_threads()
    results = set()
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            results.add(compiled(x).numpy().tobytes())
    finally:
        torch.set_num_threads(threads)
    assert len(results) == 1


def test_numpy_in_numpy_out(net):
    module, compiled = net
    x = torch.randn(4, 16)
    out = compiled(x.numpy())
    assert type(out) is np.ndarray
    close(torch.from_numpy(out), module(x))
    from_arrays = mlopt.jit(module, x.numpy())
    close(from_arrays(x), module(x))
    half = mlopt.jit(Call(lambda x: x.bfloat16()), x)
    assert half(x).dtype is torch.bfloat16
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


# Arguments and results that are trees


class Tree(nn.Module):
    def forward(self, pair, mask=None, *, extra, scale=2.0, names=("a", "b")):
        x, inner = pair
        y = inner["y"] * scale
        if mask is not None:
            y = y + mask
        return {names[0]: (x + y, None), names[1]: [extra - x, x.shape[0], "text"]}, y


def test_trees():
    module = Tree()
    x, y, extra = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4)
    compiled = mlopt.jit(module, (x, {"y": y}), example_kwargs={"extra": extra})
    ours = compiled((x, {"y": y}), extra=extra)
    eager = module((x, {"y": y}), extra=extra)
    assert list(ours[0]) == ["a", "b"]
    assert ours[0]["a"][1] is None
    assert ours[0]["b"][1:] == [3, "text"]
    for again in (ours, compiled(pair=(x, {"y": y}), mask=None, extra=extra, scale=2.0)):
        close(again[0]["a"][0], eager[0]["a"][0])
        close(again[0]["b"][0], eager[0]["b"][0])
        close(again[1], eager[1])
    with pytest.raises(InputError, match="'mask' was not there"):
        compiled((x, {"y": y}), x, extra=extra)
    with pytest.raises(InputError, match="'scale' was not there"):
        compiled((x, {"y": y}), extra=extra, scale=3.0)
    with pytest.raises(InputError, match=r"structure .*compiled for"):
        compiled([x, {"y": y}], extra=extra)
    with pytest.raises(InputError, match="missing a required"):
        compiled((x, {"y": y}))


def test_constants_among_the_arguments():
    compiled = mlopt.jit(Call(lambda x, n, s: x * n if s == "mul" else x + n), torch.randn(4), 3, "mul")
    x = torch.randn(4)
    close(compiled(x, 3, "mul"), x * 3)
    with pytest.raises(InputError, match=r"is 4, it was 3 when the module was compiled"):
        compiled(x, 4, "mul")
    with pytest.raises(InputError, match="'add'"):
        compiled(x, 3, "add")


def test_keywords_and_numbers_of_arguments(net):
    module, compiled = net
    x = torch.randn(4, 16)
    close(compiled(x=x), module(x))
    with pytest.raises(InputError, match="too many positional"):
        compiled(x, x)
    with pytest.raises(InputError, match="missing"):
        compiled()
    with pytest.raises(InputError, match=r"float32\[4, 16\]"):
        compiled(torch.randn(5, 16))


# Memory: strides, aliases, sizes


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x.t(),
        lambda x: x.view(2, 12),
        lambda x: x[1:, ::2],
        lambda x: x[:, :1].expand(4, 9),
        lambda x: (x, x, x + 1, x[0]),
        lambda x: (x + 1).t(),
        lambda x: x.unfold(1, 3, 1),
        lambda x: torch.empty_like(x.t()).fill_(2),
    ],
)
def test_outputs_are_fresh_and_have_eagers_strides(function):
    x = torch.randn(4, 6)
    compiled = mlopt.jit(Call(function), x)
    kept = x.clone()
    ours, eager = compiled(x), function(x)
    # Of overlapping elements (unfold) each gets memory of its own.
    torch.testing.assert_close(
        ours, eager, check_stride=not isinstance(eager, torch.Tensor) or eager.dim() < 3
    )
    for out in ours if isinstance(ours, tuple) else (ours,):
        assert out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        if 0 not in out.stride():
            out.fill_(7)
    assert torch.equal(x, kept)
    torch.testing.assert_close(compiled(x), eager)


def test_memory_formats():
    module = nn.Conv2d(3, 8, 3, padding=1).eval()
    x = torch.randn(2, 3, 8, 8)
    compiled = mlopt.jit(module, x)
    close(compiled(x), module(x))
    channels_last = x.to(memory_format=torch.channels_last)
    close(compiled(channels_last), module(x))
    compiled = mlopt.jit(module, channels_last)
    assert compiled(channels_last).stride() == module(channels_last).stride()
    close(compiled(channels_last), module(x))


def test_inputs_that_overlap():
    compiled = mlopt.jit(Call(lambda x, y: x * y + x), torch.randn(8), torch.randn(8))
    base = torch.randn(9)
    for x, y in (
        (base[1:], base[:-1]),
        (base[1:], base[1:]),
        (base[:1].expand(8), base[1:]),
        (base[:8], base[:8]),
    ):
        close(compiled(x, y), x * y + x)
    strided = torch.randn(16)[::2]
    close(compiled(strided, strided), strided * strided + strided)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (1,), (1, 1, 1)])
def test_small_and_empty(shape):
    x = torch.randn(shape)
    compiled = mlopt.jit(Call(lambda x: x * 2 + 1), x)
    out = compiled(x)
    assert torch.equal(out, x * 2 + 1)
    assert out.stride() == (x * 2 + 1).stride()


def test_inputs_that_are_mutated():
    def step(state, x):
        state.add_(x)
        return state * 2

    compiled = mlopt.jit(Call(step), torch.zeros(4), torch.randn(4))
    state, x = torch.randn(4), torch.randn(4)
    expected = state + x
    close(compiled(state, x), expected * 2)
    close(state, expected)
    backing = torch.randn(8)
    expected = backing[::2] + x
    compiled(backing[::2], x)
    close(backing[::2], expected)
    with pytest.raises(InputError, match="shares memory"):
        compiled(state, state)


# State


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("hidden", torch.ones(4), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        return self.linear(x) + self.count * self.hidden


def test_buffers_that_are_mutated():
    module = Counter()
    compiled = mlopt.jit(module, torch.randn(2, 4))
    x = torch.randn(2, 4)
    for number in (1, 2, 3):
        close(compiled(x), module.linear(x) + number)
        assert torch.equal(module.count, torch.full((4,), float(number)))
    module.count.zero_()
    close(compiled(x), module.linear(x) + 1)
    module.hidden.fill_(2)
    close(compiled(x), module.linear(x) + 4)


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(8, 4))

    def forward(self, position, x):
        self.cache.index_copy_(0, position, self.linear(x))
        return self.cache.sum(0)


def test_a_cache_written_by_index():
    module, eager = Cache(), Cache()
    eager.load_state_dict(module.state_dict())
    compiled = mlopt.jit(module, torch.tensor([0]), torch.randn(1, 4))
    for position in range(3):
        x = torch.randn(1, 4)
        close(compiled(torch.tensor([position]), x), eager(torch.tensor([position]), x))
        close(module.cache, eager.cache)


def test_weights_that_change():
    module = Net()
    compiled = mlopt.jit(module, torch.randn(4, 16))
    x = torch.randn(4, 16)

    def check():
        close(compiled(x), module(x))
        close(compiled(x), module(x))

    check()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    with torch.enable_grad():
        module(x).sum().backward()
    optimizer.step()
    check()
    module.load_state_dict(Net().state_dict())
    check()
    module.load_state_dict(Net().state_dict(), assign=True)
    check()
    module.first.weight.data = torch.randn(32, 16)
    check()
    module.first.weight.data = torch.randn(16, 32).t()
    check()
    module.first.weight = nn.Parameter(torch.randn(32, 16))
    check()
    module.first.bias[0] = 100
    check()
    module.second = nn.Linear(32, 8)
    with pytest.raises(InputError, match="the submodule 'second' was replaced"):
        compiled(x)


def test_tied_parameters():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 6)
            self.head = nn.Linear(6, 10, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    module = Tied()
    tokens = torch.tensor([1, 2, 9])
    compiled = mlopt.jit(module, tokens)
    close(compiled(tokens), module(tokens))
    module.embedding.weight.mul_(2)
    close(compiled(tokens), module(tokens))
    module.head.weight = nn.Parameter(torch.randn(10, 6))
    with pytest.raises(InputError, match="no longer tied"):
        compiled(tokens)


def test_gradients_are_never_dropped_silently(net):
    _, compiled = net
    x = torch.randn(4, 16)
    with torch.enable_grad():
        with pytest.raises(InputError, match=r"'x' requires grad.*\n.*no_grad"):
            compiled(x.clone().requires_grad_())
        out = compiled(x)
        assert out.requires_grad
        with pytest.raises(RuntimeError, match="compiles for inference"):
            out.sum().backward()
    assert not compiled(x).requires_grad
    with torch.inference_mode():
        assert compiled(x).is_inference()


def test_autocast(net):
    module, compiled = net
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(InputError, match="autocast"):
            compiled(torch.randn(4, 16))
        with pytest.raises(CompileError, match="autocast"):
            mlopt.jit(module, torch.randn(4, 16))


# Dynamic sizes


def test_dynamic_batch():
    module = Net().eval()
    batch = torch.export.Dim("batch", max=512)
    compiled = mlopt.jit(module, torch.randn(4, 16), dynamic_shapes=({0: batch},))
    for size in (2, 3, 4, 65, 512):
        x = torch.randn(size, 16)
        close(compiled(x), module(x))
    with pytest.raises(InputError, match=r"size 0 of input 'x' is 513"):
        compiled(torch.randn(513, 16))
    with pytest.raises(InputError, match=r"float32\[\?, 16\]"):
        compiled(torch.randn(4, 17))


def test_dynamic_sizes_of_outputs():
    def function(x):
        return (x + 1).t(), x.view(-1) * 2, x.shape[0], x, x.t(), x[:, :2], torch.cat([x, x])

    compiled = mlopt.jit(Call(function), torch.randn(3, 4), dynamic_shapes=((({0: torch.export.Dim("n")},),)))
    for size in (2, 3, 4, 9):
        x = torch.randn(size, 4)
        torch.testing.assert_close(compiled(x), function(x), check_stride=True)


def test_dynamic_sizes_that_depend_on_each_other():
    n = torch.export.Dim("n")
    shapes = (({0: n}, {0: 2 * n}),)
    compiled = mlopt.jit(
        Call(lambda x, y: x + y[::2]), torch.randn(3, 4), torch.randn(6, 4), dynamic_shapes=shapes
    )
    x, y = torch.randn(5, 4), torch.randn(10, 4)
    close(compiled(x, y), x + y[::2])
    with pytest.raises(InputError, match=r"is 9, but must be 2\*.*shape\[0\], which is 10"):
        compiled(x, y[:9])


# Slices


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:6, :5] * 2,
        lambda x: x[:6, :5].reshape(-1) * 2,
        lambda x: x[:6, :8] + x[:6, 1:9],
        lambda x: x[1:, :4][:3, 2:].t() - 1,
        lambda x: torch.cat([x[:3, :5], x[4:6, :5]]).relu(),
        lambda x: x[:6, :5] @ x[:5, :4],
        lambda x: x[:6, :5].softmax(-1) + x[2:8, 3:8].sum(-1, keepdim=True),
        lambda x: x.t()[:5, :6].t()[:4, :3].exp(),
        lambda x: x[:, ::2].sum(-1),
        lambda x: x[1::3, ::2].softmax(-1),
    ],
)
def test_slices_of_several_dimensions(function):
    x = torch.randn(8, 9)
    close(mlopt.jit(Call(function), x)(x), function(x))


# Errors at run time


def test_diagonals_take_the_slow_path():
    x = torch.randn(5, 5)
    compiled = mlopt.jit(lambda x: (x.diagonal().sum(), x.diag(), torch.einsum("ii->i", x) * 2), x)
    close(compiled(x), (x.trace(), x.diag(), x.diag() * 2))
    assert "a diagonal is read" in str(compiled.report)


def test_an_index_out_of_range_raises():
    module = nn.Embedding(10, 4)
    compiled = mlopt.jit(module, torch.tensor([1, 2]))
    for wrong in (10, -1):
        with pytest.raises(IndexError) as ours:
            compiled(torch.tensor([1, wrong]))
        with pytest.raises(IndexError) as eager:
            module(torch.tensor([1, wrong]))
        assert str(ours.value) == str(eager.value)
    close(compiled(torch.tensor([9, 0])), module(torch.tensor([9, 0])))


def test_a_write_out_of_range_raises():
    """Where the sizes are large, too: there the write is a loop of scalars."""
    functions = (lambda x, i, y: x.index_put((i,), y), lambda x, i, y: x.scatter(0, i, y))
    for size, count in ((20, 9), (20_000, 9_000)):
        x, index, y = torch.randn(size), torch.randperm(size)[:count], torch.randn(count)
        for function in functions:
            compiled = mlopt.jit(Call(function), x, index, y)
            wrong = index.clone()
            wrong[3] = 1 << 40
            with pytest.raises(IndexError):
                compiled(x, wrong, y)
            close(compiled(x, index, y), function(x, index, y))


def test_an_integer_division_by_zero_raises():
    compiled = mlopt.jit(Call(lambda x, y: x // y), torch.tensor([7, 8]), torch.tensor([2, 3]))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(torch.tensor([7, 8]), torch.tensor([2, 0]))
    assert compiled(torch.tensor([7, -8]), torch.tensor([2, 3])).tolist() == [3, -3]


# What cannot be compiled, and what is compared


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.linalg.svdvals(x) + 1


def test_unsupported_ops_are_named():
    with pytest.raises(UnsupportedOpError, match=r"svd[\s\S]*test_api\.py:\d+"):
        mlopt.jit(Unsupported(), torch.randn(4, 4))


def test_fallback():
    module, x = Unsupported(), torch.randn(4, 4)
    with pytest.warns(UserWarning, match=r"runs in eager[\s\S]*svd[\s\S]*test_api\.py"):
        compiled = mlopt.jit(module, x, fallback=True)
    torch.testing.assert_close(compiled(x), module(x))
    assert compiled.report.coverage == 0
    assert "svd" in str(compiled.report)
    assert "runs in eager" in repr(compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        mlopt.jit(Net(), torch.randn(4, 16), fallback=True)
    with pytest.warns(UserWarning, match="runs in eager: .* cannot be decomposed"):
        compiled = mlopt.jit(lambda x: x.index_put((x > 0,), x[x > 0] * 2), x, fallback=True)
    assert torch.equal(compiled(x), torch.where(x > 0, 2 * x, x))


def test_verify():
    class Scaled(nn.Module):
        scale = 2.0

        def forward(self, x):
            return x * self.scale, (x > 0)

    module = Scaled()
    x = torch.randn(4)
    compiled = mlopt.jit(module, x, verify=True)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), module(x))
    compiled = mlopt.jit(module, x, verify=True)
    module.scale = 2.01  # not a weight: eager changes, compiled code does not
    with pytest.raises(VerifyError, match=r"output 0 \(float32\[4\]\) differs from eager in \d of 4"):
        compiled(x)


def test_verify_leaves_state_alone():
    module = Counter()
    compiled = mlopt.jit(module, torch.randn(2, 4), verify=True)
    compiled(torch.randn(2, 4))
    assert module.count.tolist() == [1.0] * 4


def test_options():
    with pytest.raises(CompileError, match=r"no option 'optlevel'[\s\S]*opt_level"):
        mlopt.jit(Net(), torch.randn(4, 16), optlevel=1)
    with pytest.raises(CompileError, match=r"target='tpu'[\s\S]*use one of: cpu"):
        mlopt.jit(Net(), torch.randn(4, 16), target="tpu")


def test_for_a_processor_with_avx2():
    module = Net().eval()
    compiled = mlopt.jit(module, torch.randn(4, 16), cpu="x86-64-v3")
    assert "zmm" not in compiled.asm["object"]
    assert "ymm" in compiled.asm["object"]
    x = torch.randn(4, 16)
    close(compiled(x), module(x))


# MLIR text, with and without torch

AXPY = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @axpy(%a: f32, %x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%y : tensor<?x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.mulf %a, %in : f32
    %s = arith.addf %m, %out : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""


def test_compile_mlir():
    compiled = mlopt.compile_mlir(AXPY, func_name="axpy")
    x, y = torch.randn(5, 8), torch.randn(5, 8)
    kept = y.clone()
    close(compiled(2.0, x, y), 2 * x + y)
    out = compiled(3.0, x.numpy(), y.numpy()[::-1])
    assert type(out) is np.ndarray
    np.testing.assert_allclose(out, 3 * x.numpy() + y.numpy()[::-1], rtol=1e-5, atol=1e-5)
    assert torch.equal(y, kept)
    with pytest.raises(InputError, match=r"argument 1 is float64\[5, 8\], compiled for float32\[\?, 8\]"):
        compiled(2.0, x.double().numpy(), y.numpy())
    with pytest.raises(InputError, match="takes 3 arguments, 2 were passed"):
        compiled(x, y)


TWO = """
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.square ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @both(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}
"""


def test_functions_that_call_others():
    x = np.arange(4, dtype=np.float32)
    square, same = mlopt.compile_mlir(TWO, func_name="both")(x)
    assert (square == x * x).all()
    assert (same == x).all()
    assert not np.shares_memory(same, x)


def test_mlir_with_weights():
    text = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32> {mlopt.weight}) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %t = linalg.transpose ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x16xf32>)
      outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}"""
    compiled = mlopt.compile_mlir(text)
    assert {kernel.function for kernel in compiled.kernels} == {"main", "prepare"}
    x, w = torch.randn(4, 8), torch.randn(16, 8)
    for _ in range(3):
        close(compiled(x, w), x @ w.t())
        close(torch.from_numpy(compiled(x.numpy(), w.numpy())), x @ w.t())
        w.mul_(2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @main(", r"cannot be parsed[\s\S]*line 1, column 16"),
        ("module {}", r"no function @main[\s\S]*none"),
        ("func.func @f(%x: tensor<4xf32>) { return }", r"no function @main[\s\S]*@f"),
        ("func.func private @main(%x: tensor<4xf32>)", "has no body"),
        ("func.func @main(%x: tensor<4xf32>) { return }", "has no results"),
        (
            "func.func @main(%x: memref<4xf32>) { return }",
            "argument 0 of @main is memref<4xf32>, which is not a",
        ),
        (
            "func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> { return %x : tensor<*xf32> }",
            "which has no rank",
        ),
        (
            "func.func @main(%x: tensor<complex<f64>>) -> tensor<complex<f64>> "
            "{ return %x : tensor<complex<f64>> }",
            r"elements are not supported[\s\S]*f64, f32",
        ),
    ],
)
def test_mlir_that_cannot_be_compiled(text, message):
    with pytest.raises(CompileError, match=message):
        mlopt.compile_mlir(text)


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_mlir_text_needs_no_torch():
    script = f"""
import sys, numpy as np, mlopt
compiled = mlopt.compile_mlir({AXPY!r}, func_name="axpy")
x = np.arange(24, dtype=np.float32).reshape(3, 8)
assert (compiled(2.0, x, x) == 3 * x).all()
print([name for name in ("torch", "mlir", "torch_mlir") if name in sys.modules])
"""
    assert run(script).strip() == "[]"


def test_the_users_process_has_no_mlir():
    script = """
import sys, torch, mlopt
compiled = mlopt.jit(torch.nn.Linear(4, 4), torch.randn(2, 4))
compiled(torch.randn(2, 4)); str(compiled.report); compiled.asm["object"]
print([name for name in sys.modules if name.split(".")[0] in ("mlir", "torch_mlir")])
"""
    assert run(script).strip() == "[]"
