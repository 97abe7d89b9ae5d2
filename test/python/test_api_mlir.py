"""mlopt.compile_mlir: MLIR text, with and without torch."""

import subprocess
import sys

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError, InputError
from mlopt.test.python.api_modules import close

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
