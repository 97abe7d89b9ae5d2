"""mlopt.compile_mlir: MLIR text, with and without torch."""

import re
import subprocess
import sys

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError, InputError, UnsupportedOpError
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
        ("module {}", r"the module has no function[\s\S]*@main"),
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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tosa.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>", "'tosa.tanh'"),
        (
            "linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>)"
            " -> tensor<4x8xf32>",
            "'linalg.softmax'",
        ),
        (
            "scf.forall (%i) in (4) shared_outs(%o = %x) -> tensor<4x8xf32> { scf.forall.in_parallel { } }",
            "'scf.forall'",
        ),
        ("math.clampf %x to [%x, %x] : tensor<4x8xf32>", "'math.clampf'"),
        ("math.isinf %x : tensor<4x8xf32>", "'math.isinf'"),
        ("arith.truncf %x : tensor<4x8xf32> to tensor<4x8xf8E3M4>", "makes a tensor<4x8xf8E3M4>"),
        ("call @main(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>", "@main calls itself"),
        ("call @other(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>", "@other has no body"),
        (
            "scf.execute_region -> tensor<4x8xf32> {\n"
            "%c = tensor.concat dim(0) %x : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
            "scf.yield %c : tensor<4x8xf32> }",
            r"'tensor\.concat' inside a loop or branch",
        ),
    ],
)
def test_mlir_ops_that_cannot_be_compiled(line, message):
    text = f"""func.func private @other(tensor<4x8xf32>) -> tensor<4x8xf32>
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
    %y = {line}
    return %x : tensor<4x8xf32>
    }}"""
    with pytest.raises(UnsupportedOpError, match=message) as caught:
        mlopt.compile_mlir(text)
    assert re.search(r"line \d, column \d", caught.value.where)
    assert caught.value.remedy
    assert "bug" not in str(caught.value)


LOOPS = """func.func @main(%x: tensor<4x8xf32>, %n: tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %count = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %count : i64 to index
  %start = math.exp %x : tensor<4x8xf32>
  %sum = scf.for %i = %c0 to %end step %c1 iter_args(%a = %start) -> (tensor<4x8xf32>) {
    %next = arith.addf %a, %x : tensor<4x8xf32>
    scf.yield %next : tensor<4x8xf32>
  }
  %some = arith.cmpi sgt, %count, %zero : i64
  %scaled = scf.if %some -> (tensor<4x8xf32>) {
    %product = arith.mulf %sum, %start : tensor<4x8xf32>
    scf.yield %product : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  }
  %result = arith.addf %scaled, %start : tensor<4x8xf32>
  return %result, %sum : tensor<4x8xf32>, tensor<4x8xf32>
}"""


def test_tensors_in_loops_and_branches_take_the_slow_path():
    compiled = mlopt.compile_mlir(LOOPS)
    assert sum(kernel.path == "slow: not in a kernel" for kernel in compiled.kernels) == 2
    x = torch.randn(4, 8)
    for count in (0, 3):
        total = x.exp() + count * x
        close(compiled(x, torch.tensor(count)), ((total * x.exp() if count else x) + x.exp(), total))


GENERATED = """func.func @main(%x: tensor<4x8xf32>, %s: f32)
    -> (tensor<8x4xf32>, tensor<4x7xf32>, tensor<4xf32>) {
  %turned = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %x[%j, %i] : tensor<4x8xf32>
    tensor.yield %v : f32
  } : tensor<8x4xf32>
  %all = tensor.splat %s : tensor<4x8xf32>
  %scaled = arith.mulf %x, %all : tensor<4x8xf32>
  %padded = tensor.pad %scaled low[0, 1] high[0, -2] {
  ^bb0(%i: index, %j: index):
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    tensor.yield %f : f32
  } : tensor<4x8xf32> to tensor<4x7xf32>
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%ones : tensor<4xf32>) dimensions = [1]
  return %turned, %padded, %sums : tensor<8x4xf32>, tensor<4x7xf32>, tensor<4xf32>
}"""


def test_generated_tensors_become_kernels():
    compiled = mlopt.compile_mlir(GENERATED)
    assert all(kernel.path == "tile" for kernel in compiled.kernels)
    x = torch.randn(4, 8)
    padded = torch.cat([torch.arange(4.0)[:, None], 2.5 * x[:, :6]], 1)
    close(compiled(x, 2.5), (x.t(), padded, x.sum(1) + 1))


DISAGREEING = """func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x4xf32>, %z: tensor<?xf32>)
    -> (tensor<?x4xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %m = linalg.matmul ins(%x, %y : tensor<?x?xf32>, tensor<?x4xf32>) outs(%f : tensor<?x4xf32>)
      -> tensor<?x4xf32>
  %six = tensor.cast %z : tensor<?xf32> to tensor<6xf32>
  %s = arith.addf %six, %six : tensor<6xf32>
  %r = tensor.cast %s : tensor<6xf32> to tensor<?xf32>
  return %m, %r : tensor<?x4xf32>, tensor<?xf32>
}"""


def test_sizes_that_disagree_are_errors():
    compiled = mlopt.compile_mlir(DISAGREEING)
    for rows, inner in ((3, 5), (0, 5), (3, 0), (17, 33)):
        x, y, z = torch.randn(rows, inner), torch.randn(inner, 4), torch.randn(6)
        close(compiled(x, y, z), (x @ y, z + z))
    x, y, z = torch.randn(3, 5), torch.randn(5, 4), torch.randn(6)
    for wrong in (4, 6):
        words = r"linalg.matmul at line \d+, column \d+: dim 1 of operand 0 and dim 0 of operand 1 differ"
        with pytest.raises(RuntimeError, match=words):
            compiled(x, torch.randn(wrong, 4), z)
    with pytest.raises(RuntimeError, match=r"tensor.cast at .*: dim 0 of the operand is not 6"):
        compiled(x, y, z[:5])


FLOORED = """func.func @main(%a: tensor<3xi64>, %b: tensor<3xi64>) -> tensor<3xi64> {
  %x = arith.sitofp %a : tensor<3xi64> to tensor<3xf64>
  %y = arith.sitofp %b : tensor<3xi64> to tensor<3xf64>
  %q = arith.divf %x, %y : tensor<3xf64>
  %f = math.floor %q : tensor<3xf64>
  %r = arith.fptosi %f : tensor<3xf64> to tensor<3xi64>
  return %r : tensor<3xi64>
}"""


@pytest.mark.parametrize("in_one_body", [False, True])
def test_a_floor_of_a_quotient_in_f64_stays_one(in_one_body):
    text = FLOORED
    if in_one_body:
        lines = re.sub(r"tensor<3x(\w+)>", r"\1", FLOORED).splitlines()[1:-2]
        text = "\n".join([
            "func.func @main(%p: tensor<3xi64>, %o: tensor<3xi64>) -> tensor<3xi64> {",
            "%all = linalg.map ins(%p, %o : tensor<3xi64>, tensor<3xi64>) outs(%p : tensor<3xi64>)",
            "(%a: i64, %b: i64, %out: i64) {",
            *lines,
            "linalg.yield %r : i64 }",
            "return %all : tensor<3xi64> }",
        ])  # fmt: skip
    a, b = torch.tensor([2**53 + 1, -7, 7]), torch.tensor([1, 2, -2])
    result = mlopt.compile_mlir(text)(a, b)
    assert result.tolist() == [2**53, -4, -4]


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
