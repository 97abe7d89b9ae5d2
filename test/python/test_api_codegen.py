"""Code generation and loading, of modules in the llvm dialect."""

import ctypes
import gc
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mlir import ir
from mlopt.runtime import codegen, loader
from mlopt.test.python.executables import ADD, generate


def test_codegen_shows_its_work():
    code = generate(ADD.replace("COUNT", "%n = llvm.mlir.constant(4 : i64) : i64"))
    assert code.object.startswith(b"\x7fELF")
    assert "@mlopt_main" in code.llvm_ir
    assert "mlopt_main:" in code.assembly


def test_codegen_names_ops_that_are_not_llvm():
    with pytest.raises(codegen.CodegenError, match=r"func\.func"):
        generate("func.func @f() { return }")


def test_vector_width_of_a_processor():
    assert codegen.Target("x86-64").vector_bits == 128
    assert codegen.Target("x86-64-v3").vector_bits == 256
    assert codegen.Target("x86-64-v4").vector_bits == 512


def test_loading_names_missing_symbols():
    code = generate("llvm.func @nowhere()\nllvm.func @f() { llvm.call @nowhere() : () -> ()\n llvm.return }")
    with pytest.raises(loader.LoadError, match="cannot be linked"):
        loader.load(code.object, ["f"])


PARALLEL = """
llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @omp_get_num_threads() -> i32
llvm.func @body(%p: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.atomicrmw add %p, %one acq_rel : !llvm.ptr, i32
  llvm.return
}
llvm.func @f(%n: i32) -> i32 {
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %p = llvm.alloca %one x i32 : (i32) -> !llvm.ptr
  llvm.store %zero, %p : i32, !llvm.ptr
  %body = llvm.mlir.addressof @body : !llvm.ptr
  llvm.call @GOMP_parallel(%body, %p, %n, %zero) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
  %ran = llvm.load %p : !llvm.ptr -> i32
  llvm.return %ran : i32
}
"""


@pytest.mark.parametrize(("has_runtime", "times"), [(True, 3), (False, 1)])
def test_parallel_regions(monkeypatch, has_runtime, times):
    if not has_runtime:
        monkeypatch.setattr(loader, "openmp_runtime", lambda: None)
    loaded = loader.load(generate(PARALLEL).object, ["f"])
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(loaded.address("f"))(3) == times


def test_half_precision_without_the_instructions():
    text = """
llvm.func @f(%x: f32) -> f32 {
  %h = llvm.fptrunc %x : f32 to TYPE
  %y = llvm.fpext %h : TYPE to f32
  llvm.return %y : f32
}"""
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        with ir.Context(), ir.Location.unknown():
            code = codegen.generate(ir.Module.parse(text.replace("TYPE", name)), codegen.Target("x86-64"))
        loaded = loader.load(code.object, ["f"])
        function = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(loaded.address("f"))
        for value in (1.0, 3.14159, -65519.0, 1e-6, 3.4e38, 1e-40, 0.0, math.inf):
            assert function(value) == torch.tensor(value).to(dtype).float().item()
        assert math.isnan(function(math.nan))


def test_openmp_is_torchs():
    runtime = loader.openmp_runtime()
    assert runtime is not None
    assert "torch" in runtime._name


# Another package brings a copy under its own name, as scikit-learn's wheel does.
TWO_RUNTIMES = """
import ctypes, sys
from pathlib import Path
IMPORT
ctypes.CDLL(sys.argv[1])
from mlopt.runtime import loader
runtime = loader.openmp_runtime()
import torch
(own,) = Path(torch.__file__).parent.glob("lib/libgomp*")
both = runtime.GOMP_parallel, ctypes.CDLL(own).GOMP_parallel
known, wanted = (ctypes.cast(each, ctypes.c_void_p).value for each in both)
assert known == wanted, runtime
"""


@pytest.mark.parametrize("before", ["import torch", ""])
def test_openmp_is_torchs_beside_another_packages(before, tmp_path):
    (own,) = Path(torch.__file__).parent.glob("lib/libgomp*")
    copy = tmp_path / "libgomp-a1b2c3d4.so.1"
    copy.write_bytes(own.read_bytes().replace(b"libgomp.so.1\0", b"libgomp-a1.1\0"))
    command = [sys.executable, "-P", "-c", TWO_RUNTIMES.replace("IMPORT", before), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_code_is_freed():
    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    code = generate(ADD.replace("COUNT", "%n = llvm.mlir.constant(4 : i64) : i64")).object
    for _ in range(20):
        loader.load(code, ["mlopt_main"])
    before = resident()
    for _ in range(300):
        loader.load(code, ["mlopt_main"])
    assert resident() - before < 300
