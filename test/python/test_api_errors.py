"""mlopt.jit: errors at run time, what cannot be compiled, fallback and verify, wrong options."""

import warnings

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError, InputError, UnsupportedOpError
from mlopt.test.python.api_modules import Call, Net, close
from torch import nn

pytestmark = pytest.mark.usefixtures("inference")


# Errors at run time


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


def test_so_does_one_of_indices():
    text = """
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<5xi32>, %y: tensor<5xi32>) -> tensor<5xi32> {
  %e = tensor.empty() : tensor<5xi32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<5xi32>, tensor<5xi32>) outs(%e : tensor<5xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %n = arith.index_cast %a : i32 to index
    %d = arith.index_cast %b : i32 to index
    %r = arith.ceildivsi %n, %d : index
    %s = arith.index_cast %r : index to i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  return %q : tensor<5xi32>
}"""
    compiled = mlopt.compile_mlir(text)
    x = np.array([7, -7, 6, 0, -9], np.int32)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, np.array([2, 2, 0, 2, -1], np.int32))
    assert compiled(x, np.array([2, 2, 3, 2, -1], np.int32)).tolist() == [4, -3, 2, 0, 9]


# What cannot be compiled, and what is compared


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.linalg.svdvals(x) + 1


def test_unsupported_ops_are_named():
    with pytest.raises(UnsupportedOpError, match=r"svd[\s\S]*test_api_errors\.py:\d+"):
        mlopt.jit(Unsupported(), torch.randn(4, 4))


@pytest.mark.parametrize("op", [torch.linalg.inv, lambda x: torch.linalg.solve(x, x)])
def test_so_are_ops_that_check_their_results(op):
    with pytest.raises(UnsupportedOpError, match=r"aten\._?linalg_\w+\n.*test_api_errors\.py:\d+"):
        mlopt.jit(lambda x: op(x) + 1, torch.eye(4))


def test_fallback():
    module, x = Unsupported(), torch.randn(4, 4)
    with pytest.warns(UserWarning, match=r"runs in eager[\s\S]*svd[\s\S]*test_api_errors\.py"):
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


def test_fallback_takes_numpy_arrays():
    def function(pair, *, scale):
        pair[0].add_(1)
        return {"values": torch.linalg.svdvals(pair[0]) * scale, "none": None}

    x = torch.randn(4, 4).numpy()
    with pytest.warns(UserWarning, match="runs in eager"):
        compiled = mlopt.jit(function, (x, x), example_kwargs={"scale": x[0]}, fallback=True)
    for first in (x.copy(), x.copy()[::-1], x.copy().T):
        expected = np.linalg.svd(first + 1, compute_uv=False) * 2
        kept = first.copy()
        out = compiled((first, x), scale=np.float32(2))
        assert type(out["values"]) is np.ndarray
        np.testing.assert_allclose(out["values"], expected, rtol=1e-4)
        np.testing.assert_array_equal(first, kept + 1)
    assert type(compiled((torch.randn(4, 4), None), scale=2)["values"]) is torch.Tensor
    with pytest.raises(InputError, match="leaf 0 of the arguments is a numpy array of <U1"):
        compiled((np.array("a"), None), scale=2)


def test_what_the_user_did_wrong_writes_no_reproducer(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    wrong = [
        lambda: mlopt.jit(Unsupported(), torch.randn(4, 4)),
        lambda: mlopt.jit(lambda x: x * 1j, torch.randn(4)),
        lambda: mlopt.jit(lambda x: x + 1, torch.randn(4, dtype=torch.complex64)),
        lambda: mlopt.jit(lambda x: x.bernoulli(), torch.randn(4)),
        lambda: mlopt.jit(lambda x: x.nonzero(), torch.randn(4)),
        lambda: mlopt.jit(lambda x: x + 1, torch.randn(4), cpu="z80"),
        lambda: mlopt.jit(lambda x: x + 1, torch.randn(4), features="+nonsense"),
        lambda: mlopt.compile_mlir("func.func @main("),
        lambda: mlopt.compile_mlir("func.func @main() { return }", func_name="other"),
        lambda: mlopt.compile_mlir("func.func @main(%x: tensor<4xcomplex<f32>>) { return }"),
    ]
    for action in wrong:
        with pytest.raises(CompileError) as raised:
            action()
        assert raised.value.reproducer == ""
    assert list(tmp_path.rglob("*")) == []


def test_options():
    with pytest.raises(CompileError, match=r"no option 'optlevel'[\s\S]*opt_level"):
        mlopt.jit(Net(), torch.randn(4, 16), optlevel=1)
    with pytest.raises(CompileError, match=r"target='tpu'[\s\S]*use one of: cpu"):
        mlopt.jit(Net(), torch.randn(4, 16), target="tpu")


def test_what_cannot_be_traced_names_the_users_line(capfd):
    def function(x):
        return x @ torch.zeros(3, 3)

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(CompileError, match="must have same reduction dim") as raised:
        mlopt.jit(function, torch.randn(2, 4))
    assert raised.value.where == f"{__file__}:{line}"
    assert capfd.readouterr().err == ""
