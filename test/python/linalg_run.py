"""Runs linalg text as it is, and after the passes up to the kernels, both through upstream's plain loops.

    python linalg_run.py FILE…      one line a file: its name and the largest relative difference

A process of its own: what upstream's lowering cannot take aborts.
"""

import ctypes
import re
import sys
import sysconfig
from pathlib import Path

import numpy as np
from mlir import ir
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager
from mlopt.dialects.context import make_context
from mlopt.passes.outlining.host import give_results_memory, pass_results_as_arguments
from mlopt.pipelines.cpu import cpu_stages
from mlopt.pipelines.driver import run_pipeline

KERNELS = ",".join(stage.passes for stage in cpu_stages() if stage.name in ("linalg", "kernels"))
# Upstream knows no mlopt.attention; test_attention.py runs what it becomes.
KERNELS = re.sub(r"mlopt-raise-attention(\{[^}]*\})?,", "", KERNELS)
LOOPS = (
    # No cse here: results that start from one empty tensor would all be written to one of their places.
    "canonicalize,eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map},drop-equivalent-buffer-results,"
    "func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,"
    "arith-expand{include-bf16=true},convert-math-to-llvm,convert-math-to-libm,convert-arith-to-llvm,"
    "convert-index-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "convert-ub-to-llvm,reconcile-unrealized-casts"
)
NUMPY = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.uint16,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
ANY_SIZE = 3  # for what is dynamic


def function(module: ir.Module, name: str) -> ir.Operation | None:
    named = (op.operation for op in module.body.operations if "sym_name" in op.attributes)
    return next((op for op in named if op.attributes["sym_name"].value == name), None)


def as_floats(array: np.ndarray, element: str) -> np.ndarray:
    if element == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def random_input(kind: ir.RankedTensorType, rng: np.random.Generator) -> np.ndarray:
    element = str(kind.element_type)
    shape = [ANY_SIZE if kind.is_dynamic_dim(dim) else size for dim, size in enumerate(kind.shape)]
    if element.startswith("i"):
        return np.asarray(rng.integers(1, 3, shape), NUMPY[element])  # indices, divisors: all in range
    values = np.asarray(rng.standard_normal(shape), np.float32)
    if len(shape) == 1:
        values = np.abs(values) + 0.1  # variances
    if element == "bf16":
        return np.asarray(values.view(np.uint32) >> 16, np.uint16)
    return np.asarray(values, NUMPY[element])


def descriptor(array: np.ndarray) -> ctypes.Structure:
    sizes = ctypes.c_int64 * array.ndim
    fields = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    kind = type("Memref", (ctypes.Structure,), {"_fields_": [*fields, ("sizes", sizes), ("strides", sizes)]})
    steps = [stride // array.itemsize for stride in array.strides] if array.size else [1] * array.ndim
    return kind(array.ctypes.data, array.ctypes.data, 0, sizes(*array.shape), sizes(*steps))


def compiled(module: ir.Module) -> ExecutionEngine:
    for name in ("main", "prepare"):
        host = function(module, name)
        if host is not None:
            host.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get(module.context)
    PassManager.parse(f"builtin.module({LOOPS})", module.context).run(module.operation)
    folder = Path(sysconfig.get_paths()["purelib"], "mlir", "lib")
    return ExecutionEngine(module, opt_level=0, shared_libs=[str(folder / "libmlir_c_runner_utils.so")])


def call(engine: ExecutionEngine, name: str, arrays: list[np.ndarray]) -> None:
    memrefs = [ctypes.pointer(descriptor(array)) for array in arrays]
    pointers = [ctypes.cast(ctypes.pointer(memref), ctypes.c_void_p) for memref in memrefs]
    engine.lookup(name)((ctypes.c_void_p * len(pointers))(*pointers))


def outputs(host: ir.Operation, arguments: list[np.ndarray], value: int) -> list[tuple[np.ndarray, str]]:
    """Memory for the results of a host function in destination-passing form."""
    names = {f"a{n}_{dim}": size for n, each in enumerate(arguments) for dim, size in enumerate(each.shape)}
    given = host.attributes.get("mlopt.result_sizes", [])
    sizes = iter(eval(each.value, names) for each in given)
    made = []
    for argument in host.regions[0].blocks[0].arguments:
        if isinstance(argument.type, ir.MemRefType):
            dynamic = argument.type.is_dynamic_dim
            shape = [next(sizes) if dynamic(dim) else size for dim, size in enumerate(argument.type.shape)]
            element = str(argument.type.element_type)
            made.append((np.full(shape, value, NUMPY[element]), element))
    return made


def difference(path: Path) -> float:
    with make_context(), ir.Location.unknown():
        plain, passed = (ir.Module.parse(path.read_text()) for _ in range(2))
        run_pipeline(plain.operation, "builtin.module(mlopt-bool-storage)")
        run_pipeline(passed.operation, f"builtin.module({KERNELS})")
        main = function(plain, "main")
        rng = np.random.default_rng(0)
        inputs = [random_input(each.type, rng) for each in main.regions[0].blocks[0].arguments]
        give_results_memory(main)
        pass_results_as_arguments(main)
        host, prepare = function(passed, "main"), function(passed, "prepare")
        marks = list(host.attributes["arg_attrs"])
        weights = [each for each, mark in zip(inputs, marks, strict=False) if "mlopt.weight" in mark]
        got = outputs(host, inputs, 77)
        expected = [(np.zeros_like(each), element) for each, element in got]
        prepared = [each for each, _ in outputs(prepare, weights, 0)] if prepare is not None else []
        has_prepare = prepare is not None
        call(compiled(plain), "main", inputs + [each for each, _ in expected])
        engine = compiled(passed)
        if has_prepare:
            call(engine, "prepare", weights + prepared)
        call(engine, "main", inputs + prepared + [each for each, _ in got])
    return max(
        _difference(as_floats(old, element), as_floats(new, element))
        for (old, element), (new, _) in zip(expected, got, strict=True)
    )


def _difference(old: np.ndarray, new: np.ndarray) -> float:
    if not np.array_equal(np.isnan(old), np.isnan(new)):
        return np.inf
    same = (old == new) | np.isnan(old)
    return float(np.max(np.where(same, 0, np.abs(old - new) / (1 + np.abs(old))), initial=0))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, difference(Path(name)), flush=True)
