"""Tile IR computes what the kernel's linalg ops compute: both are lowered by upstream passes, run, and compared.

The shapes are tiny, since the upstream lowering unrolls whole tiles; tile sizes are set by hand so that tiles
are many and ragged.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tile_kernels as kernels  # noqa: E402

ir = pytest.importorskip("mlir.ir")

from mlir.execution_engine import ExecutionEngine  # noqa: E402
from mlir.passmanager import PassManager  # noqa: E402
from mlir.runtime import get_ranked_memref_descriptor  # noqa: E402

from mlopt.passes.schedule import Schedule  # noqa: E402
from mlopt.passes.tile import Tile  # noqa: E402

BUFFERIZE = ("eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries=true "
             "function-boundary-type-conversion=identity-layout-map},drop-equivalent-buffer-results,canonicalize,cse")
LOWER = ("convert-linalg-to-loops,scf-forall-to-for,func.func(lower-vector-multi-reduction),convert-vector-to-scf{full-unroll=true},"
         "lower-affine,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
         "func.func(math-expand-ops{ops=rsqrt}),convert-math-to-libm,"
         "convert-vector-to-llvm{vector-contract-lowering=outerproduct},convert-math-to-llvm,arith-expand,convert-arith-to-llvm,convert-index-to-llvm,"
         "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts")
NUMPY = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i8": np.int8, "f16": np.float16}


def with_main(text: str) -> str:
    """The kernel with a @main in destination-passing form around it."""
    name, arguments = re.search(r"@(\w+)\((.*?)\) ->", text).groups()
    types = [argument.split(": ")[1] for argument in arguments.split(", ")]
    results = re.search(r"-> \(?(.*?)\)? attributes", text).group(1).split(", ")
    first = len(types) - len(results)
    head, lines, values = [], [], []
    for number, kind in enumerate(types):
        if number < first:
            writable = " {bufferization.writable = false}" if kind.startswith("tensor") else ""
            head.append(f"%a{number}: {kind}{writable}")
            values.append(f"%a{number}")
            continue
        buffer = kind.replace("tensor", "memref")
        head.append(f"%a{number}: {buffer}")
        sizes = []
        for position, size in enumerate(kind[7:-1].split("x")[:-1]):
            if size == "?":
                lines += [f"%c{number}_{position} = arith.constant {position} : index",
                          f"%d{number}_{position} = memref.dim %a{number}, %c{number}_{position} : {buffer}"]
                sizes.append(f"%d{number}_{position}")
        lines.append(f"%e{number} = tensor.empty({', '.join(sizes)}) : {kind}")
        values.append(f"%e{number}")
    lines.append(f"%r:{len(results)} = func.call @{name}({', '.join(values)}) : ({', '.join(types)}) -> "
                 f"({', '.join(results)})")
    for number, kind in enumerate(results):
        buffer = kind.replace("tensor", "memref")
        lines.append(f"bufferization.materialize_in_destination %r#{number} in restrict writable %a{first + number}"
                     f" : ({kind}, {buffer}) -> ()")
    return "\n".join([text, f"func.func @main({', '.join(head)}) attributes {{llvm.emit_c_interface}} {{", *lines,
                      "return", "}"])


def run(module: ir.Module, arrays: Sequence[np.ndarray]) -> None:
    PassManager.parse(f"builtin.module({LOWER})").run(module.operation)
    engine = ExecutionEngine(module, opt_level=0)
    pointers = [ctypes.pointer(ctypes.pointer(get_ranked_memref_descriptor(array))) for array in arrays]
    engine.invoke("main", *pointers)


def check(text: str, arrays: Sequence[np.ndarray], tile: Sequence[int] | None = None, outs: int = 1,
          tolerance: float = 1e-6) -> str:
    """Compile ``text`` as it is and tiled, run both, compare the last ``outs`` arrays; the tile IR."""
    ctx = ir.Context()
    ctx.enable_multithreading(False)
    with ctx, ir.Location.unknown():
        expected, actual = ([*arrays[:-outs], *(array.copy() for array in arrays[-outs:])] for _ in range(2))
        module = ir.Module.parse(with_main(text))
        PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
        run(module, expected)
        module = ir.Module.parse(with_main(text))
        Schedule().run(module.operation)
        kernel = module.body.operations[0]
        assert "mlopt.slow" not in kernel.attributes, kernel.attributes["mlopt.slow"]
        if tile is not None:
            kernel.attributes["mlopt.schedule"] = ir.Attribute.parse(f"{{tile = array<i64: {str(list(tile))[1:-1]}>}}")
        Tile().run(module.operation)
        assert module.operation.verify()
        tiled = str(module)
        PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
        buffers = str(module)
        assert not re.search(r"memref\.(copy|alloc)|tensor<", buffers), buffers
        run(module, actual)
    for one, other in zip(expected[-outs:], actual[-outs:], strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return tiled


def data(*shape: int, kind: str = "f32") -> np.ndarray:
    generator = np.random.default_rng(sum(shape) + len(shape))
    values = generator.standard_normal(shape) * 3
    return np.ascontiguousarray(values.astype(NUMPY[kind]))


@pytest.mark.parametrize("tile", [None, (2, 3), (3, 0), (0, 4)])
def test_element_wise_chain(tile: tuple[int, ...] | None) -> None:
    check(kernels.relu_chain(5, 7), [data(5, 7), data(5, 7)], tile)


def test_softmax() -> None:
    check(kernels.softmax(5, 7), [data(5, 7), data(5, 7)], (2, 0, 0, 0, 0))
    check(kernels.softmax("?", 7), [data(5, 7), data(5, 7)], (2, 0, 0, 0, 0))


def test_layer_norm() -> None:
    check(kernels.layer_norm(2, 5, 7), [data(2, 5, 7), data(7), data(7), data(2, 5, 7)], (1, 2, 0, 0, 0, 0, 0, 0),
          tolerance=1e-5)


@pytest.mark.parametrize("tile", [None, (2, 3, 4), (0, 4, 3), (2, 0, 0)])
def test_matmul(tile: tuple[int, ...] | None) -> None:
    check(kernels.matmul_bias_gelu(5, 6, 7), [data(5, 7), data(7, 6), data(6), data(5, 6)], tile, tolerance=1e-5)


def test_convolution() -> None:
    arrays = [data(2, 3, 6, 6), data(3, 3, 3, 5), data(5), data(2, 5, 4, 4)]
    check(kernels.conv_relu(2, 3, 5, 4, 3), arrays, (1, 3, 1, 0, 2, 1, 1), tolerance=1e-4)
    check(kernels.conv_relu(2, 3, 5, 4, 2, dilation=2), [arrays[0], data(3, 2, 2, 5), *arrays[2:]],
          (1, 3, 2, 3, 2, 1, 1), tolerance=1e-4)


def test_column_sum() -> None:
    check(kernels.column_sum(7, 5), [data(7, 5), data(5)], (2, 0), tolerance=1e-5)
    check(kernels.column_sum("?", 5), [data(70, 5), data(5)], (2, 0), tolerance=1e-4)
