"""What else a program imports, and when, changes nothing, neither for mlopt nor for the others.

torch_mlir, mlir, llvmlite and jax each bring an LLVM; two of them share symbols, and whichever is loaded
second would generate code by the other's tables: memset becomes getc, numbers become NaN.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = '''
import ctypes, hashlib, importlib, sys

TEXT = """
func.func @f(%p: memref<4096xf32>, %q: memref<4096xf32>) attributes {llvm.emit_c_interface} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%q : memref<4096xf32>)
  linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
  } ins(%p : memref<4096xf32>) outs(%q : memref<4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %xx = arith.mulf %x, %x : f32
    %s = arith.addf %xx, %y : f32
    linalg.yield %s : f32
  }
  return
}
"""
PIPELINE = (
    "builtin.module(func.func(convert-linalg-to-loops),convert-scf-to-cf,convert-arith-to-llvm,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)"
)

class Memref(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64),
                ("size", ctypes.c_int64), ("stride", ctypes.c_int64)]

def check(call):
    buffers = [(ctypes.c_float * 4096)(*(n / 2 for n in range(4096))), (ctypes.c_float * 4096)(*[7] * 4096)]
    call(*(Memref(ctypes.addressof(b), ctypes.addressof(b), 0, 4096, 1) for b in buffers))
    assert list(buffers[1]) == [0.25 * n * n for n in range(4096)], list(buffers[1])[:8]

def mlopts():
    from mlopt.runtime import pool
    from mlopt.runtime.loader import load
    code = pool.call("compile", "process_targets:object_code", text=TEXT, pipeline=PIPELINE)
    loaded = load(code, ["_mlir_ciface_f"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(loaded.address("_mlir_ciface_f"))
    check(lambda p, q: function(ctypes.addressof(p), ctypes.addressof(q)))
    return hashlib.sha256(code).hexdigest()

def users():
    from mlir import execution_engine, ir, passmanager
    with ir.Context():
        module = ir.Module.parse(TEXT)
        passmanager.PassManager.parse(PIPELINE).run(module.operation)
        engine = execution_engine.ExecutionEngine(module, opt_level=2)
        pointer = ctypes.pointer
        check(lambda p, q: engine.invoke("f", pointer(pointer(p)), pointer(pointer(q))))

def jits():
    import mlopt, torch
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.ReLU(), torch.nn.Linear(40, 8)).eval()
    x = torch.randn(5, 24)
    with torch.no_grad():
        compiled = mlopt.jit(module, x)
        result = compiled(x)
        torch.testing.assert_close(result, module(x))
    return hashlib.sha256(result.numpy().tobytes()).hexdigest()

def use_jax():
    import jax, numpy
    x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    found = jax.jit(lambda x: jax.numpy.tanh(x @ x.T) + x.sum())(x)
    assert numpy.allclose(found, numpy.tanh(x @ x.T) + x.sum()), found

digests = set()
for step in sys.argv[1:]:
    if step == "mlopt":
        digests.add("object:" + mlopts())
    elif step == "jit":
        digests.add("result:" + jits())
    elif step == "use-mlir":
        users()
    elif step == "use-jax":
        use_jax()
    else:
        importlib.import_module(step)
print(*digests)
'''
ORDERS = [
    "torch_mlir.ir mlopt",
    "mlopt torch_mlir.ir mlopt",
    "torch_mlir.ir mlir.ir mlopt",
    "mlopt use-mlir mlopt use-mlir",
    "use-mlir mlopt use-mlir mlopt",
    "mlopt use-mlir torch_mlir.ir use-mlir mlopt",
    "use-mlir jit use-mlir",
    "torch_mlir.ir jit",
    "use-jax jit use-jax use-mlir",
    "jit use-jax jit use-mlir",
    "use-mlir use-jax torch_mlir.ir jit use-jax",
]


def digest(tmp_path, order):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(HERE), "XDG_STATE_HOME": str(tmp_path), "MLOPT_CACHE": "0"}
    command = [sys.executable, str(program), *order.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """The object and the result of a program that imports nothing else."""
    return digest(tmp_path_factory.mktemp("usual"), "mlopt jit")


@pytest.mark.parametrize("order", ORDERS)
def test_same_bits_and_right_results(usual, order, tmp_path):
    found = digest(tmp_path, order)
    assert found
    assert set(found) <= set(usual)
