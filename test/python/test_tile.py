"""Tile IR computes what the kernel's linalg ops compute, and so do its strips: all are run and compared.

The shapes are tiny, since upstream's lowering unrolls whole tiles; tile sizes are set by hand so that tiles
are many and ragged.
"""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tile_kernels as kernels

ir = pytest.importorskip("mlir.ir")

from mlir.execution_engine import ExecutionEngine  # noqa: E402
from mlir.passmanager import PassManager  # noqa: E402
from mlir.runtime import get_ranked_memref_descriptor  # noqa: E402
from mlopt.passes.cpu.strip_mine import StripMine  # noqa: E402
from mlopt.passes.schedule import Schedule  # noqa: E402
from mlopt.passes.self_copies import SelfCopies  # noqa: E402
from mlopt.passes.tile import Tile  # noqa: E402

BUFFERIZE = (
    "eliminate-empty-tensors,one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map},drop-equivalent-buffer-results,cse"
)
LOWER = (
    "convert-linalg-to-loops,scf-forall-to-for,func.func(lower-vector-multi-reduction),convert-vector-to-scf{full-unroll=true},"
    "lower-affine,convert-scf-to-cf,expand-strided-metadata,lower-affine,"
    "func.func(math-expand-ops{ops=rsqrt}),convert-math-to-libm,"
    "convert-vector-to-llvm{vector-contract-lowering=outerproduct},convert-math-to-llvm,arith-expand,convert-arith-to-llvm,convert-index-to-llvm,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts"
)
# memref.copy, which the untiled slices lower to
RUNNER = str(Path(ir.__file__).parent / "lib/libmlir_c_runner_utils.so")
NUMPY = {
    "f32": np.float32,
    "f64": np.float64,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "f16": np.float16,
}


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
                lines += [
                    f"%c{number}_{position} = arith.constant {position} : index",
                    f"%d{number}_{position} = memref.dim %a{number}, %c{number}_{position} : {buffer}",
                ]
                sizes.append(f"%d{number}_{position}")
        lines.append(f"%e{number} = tensor.empty({', '.join(sizes)}) : {kind}")
        values.append(f"%e{number}")
    lines.append(
        f"%r:{len(results)} = func.call @{name}({', '.join(values)}) : ({', '.join(types)}) -> "
        f"({', '.join(results)})"
    )
    for number, kind in enumerate(results):
        buffer = kind.replace("tensor", "memref")
        lines.append(
            f"bufferization.materialize_in_destination %r#{number} in restrict writable %a{first + number}"
            f" : ({kind}, {buffer}) -> ()"
        )
    return "\n".join(
        [
            text,
            f"func.func @main({', '.join(head)}) attributes {{llvm.emit_c_interface}} {{",
            *lines,
            "return",
            "}",
        ]
    )


def run(module: ir.Module, arrays: Sequence[np.ndarray]) -> None:
    PassManager.parse(f"builtin.module({LOWER})").run(module.operation)
    engine = ExecutionEngine(module, opt_level=0, shared_libs=[RUNNER])
    pointers = [ctypes.pointer(ctypes.pointer(get_ranked_memref_descriptor(array))) for array in arrays]
    engine.invoke("main", *pointers)


def check(
    text: str,
    arrays: Sequence[np.ndarray],
    tile: Sequence[int] | None = None,
    outs: int = 1,
    tolerance: float = 1e-6,
) -> str:
    """Compile ``text`` as it is, tiled, and strip-mined; compare the last ``outs`` arrays; the tile IR."""
    ctx = ir.Context()
    ctx.enable_multithreading(False)
    with ctx, ir.Location.unknown():
        expected, actual, stripped = (
            [*arrays[:-outs], *(array.copy() for array in arrays[-outs:])] for _ in range(3)
        )
        module = ir.Module.parse(with_main(text))
        PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
        run(module, expected)
        module = ir.Module.parse(with_main(text))
        Schedule().run(module.operation)
        kernel = module.body.operations[0]
        assert "mlopt.slow" not in kernel.attributes, kernel.attributes["mlopt.slow"]
        if tile is not None:
            kernel.attributes["mlopt.schedule"] = ir.Attribute.parse(
                f"{{tile = array<i64: {str(list(tile))[1:-1]}>}}"
            )
        Tile().run(module.operation)
        assert module.operation.verify()
        tiled = str(module)
        PassManager.parse(f"builtin.module({BUFFERIZE})").run(module.operation)
        SelfCopies().run(module.operation)
        buffers = str(module)
        assert not re.search(r"memref\.(copy|alloc)\b|tensor<", buffers), buffers
        run(module, actual)
        module = ir.Module.parse(buffers)
        StripMine().run(module.operation)
        run(module, stripped)
    for one, *others in zip(expected[-outs:], actual[-outs:], stripped[-outs:], strict=True):
        for other in others:
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
    check(
        kernels.layer_norm(2, 5, 7),
        [data(2, 5, 7), data(7), data(7), data(2, 5, 7)],
        (1, 2, 0, 0, 0, 0, 0, 0),
        tolerance=1e-5,
    )


@pytest.mark.parametrize("tile", [None, (2, 3, 4), (0, 4, 3), (2, 0, 0)])
def test_matmul(tile: tuple[int, ...] | None) -> None:
    check(
        kernels.matmul_bias_gelu(5, 6, 7), [data(5, 7), data(7, 6), data(6), data(5, 6)], tile, tolerance=1e-5
    )


def test_convolution() -> None:
    arrays = [data(2, 3, 6, 6), data(3, 3, 3, 5), data(5), data(2, 5, 4, 4)]
    check(kernels.conv_relu(2, 3, 5, 4, 3), arrays, (1, 3, 1, 0, 2, 1, 1), tolerance=1e-4)
    check(
        kernels.conv_relu(2, 3, 5, 4, 2, dilation=2),
        [arrays[0], data(3, 2, 2, 5), *arrays[2:]],
        (1, 3, 2, 3, 2, 1, 1),
        tolerance=1e-4,
    )


def test_column_sum() -> None:
    check(kernels.column_sum(7, 5), [data(7, 5), data(5)], (2, 0), tolerance=1e-5)
    check(kernels.column_sum("?", 5), [data(70, 5), data(5)], (2, 0), tolerance=1e-4)


def test_transpose() -> None:
    body = "%x: f32, %o: f32 { linalg.yield %x : f32 }"
    kinds = ["tensor<3x5x7xf32>", "tensor<7x3x5xf32>"]
    text = kernels.generic_kernel("transpose", kinds, "a,b,c -> b,c,a | a,b,c", "ppp", body)
    check(text, [data(3, 5, 7), data(7, 3, 5)], (4, 2, 3))
    check(text.replace("(b,c,a)", "(t,c,a)").replace("(t,c,a)", "(b,c,a)"), [data(3, 5, 7), data(7, 3, 5)])
    # The root is written with its dims turned; its operand is made in the kernel.
    turned = kernels.generic_kernel("transpose", kinds, "b,c,a -> b,c,a | a,b,c", "ppp", body)
    check(turned, [data(3, 5, 7), data(7, 3, 5)], (4, 2, 3))


def test_transpose_of_a_value_made_in_the_kernel() -> None:
    kernel = kernels.Kernel("transpose")
    x, out = kernel.argument("tensor<5x7xf32>"), kernel.argument("tensor<7x5xf32>")
    y = kernels.unary(kernel, x, 2, "%r = arith.mulf %x, %x : f32")
    text = kernel.text(
        kernel.generic("a,b -> b,a | a,b", "pp", [y], [out], "%x: f32, %o: f32 { linalg.yield %x : f32 }")
    )
    check(text, [data(5, 7), data(7, 5)], (3, 2))


@pytest.mark.parametrize("tile", [None, (1, 2, 0, 3, 1, 1)])
def test_max_pool(tile: tuple[int, ...] | None) -> None:
    kinds = ["tensor<2x3x6x8xf32>", "tensor<2x3xf32>", "tensor<2x3x5x6xf32>"]
    body = "%x: f32, %w: f32, %m: f32 { %r = arith.maximumf %x, %m : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel(
        "max_pool",
        kinds,
        "n,c,h,w,kh,kw -> n,c,h+kh,w+kw | kh,kw | n,c,h,w",
        "pppprr",
        body,
        inits=["-1.0e30"],
    )
    check(text, [data(2, 3, 6, 8), data(2, 3), data(2, 3, 5, 6)], tile)


def test_strided_pool_reads_the_expanded_input() -> None:
    kinds = ["tensor<1x3x4x2x4x2xf32>", "tensor<3x3xf32>", "tensor<1x3x3x3xf32>"]
    body = "%x: f32, %w: f32, %m: f32 { %r = arith.addf %x, %m : f32\n linalg.yield %r : f32 }"
    maps = "n,c,h,w,kh,kw -> n,c,h + kh floordiv 2,kh mod 2,w + kw floordiv 2,kw mod 2 | kh,kw | n,c,h,w"
    text = kernels.generic_kernel("avg_pool", kinds, maps, "pppprr", body, inits=["0.0"])
    check(text, [data(1, 3, 4, 2, 4, 2), data(3, 3), data(1, 3, 3, 3)], (0, 2, 1, 0, 1, 1), tolerance=1e-5)


def test_strided_convolution() -> None:
    kinds = ["tensor<1x3x4x2x4x2xf32>", "tensor<3x3x3x5xf32>", "tensor<1x5x3x3xf32>"]
    maps = "n,co,h,w,ci,kh,kw -> n,ci,h + kh floordiv 2,kh mod 2,w + kw floordiv 2,kw mod 2 | ci,kh,kw,co | n,co,h,w"
    text = kernels.generic_kernel("conv2d", kinds, maps, "pppprrr", kernels.MAC, inits=["0.0"])
    tiled = check(
        text,
        [data(1, 3, 4, 2, 4, 2), data(3, 3, 3, 5), data(1, 5, 3, 3)],
        (0, 3, 1, 0, 2, 1, 1),
        tolerance=1e-4,
    )
    assert "vector.contract" in tiled


def test_depthwise_convolution() -> None:
    kinds = ["tensor<1x3x6x6xf32>", "tensor<3x1x3x3x1xf32>", "tensor<1x3x1x4x4xf32>"]
    maps = "n,g,co,h,w,ci,kh,kw -> n,g+ci,h+kh,w+kw | g,ci,kh,kw,co | n,g,co,h,w"
    text = kernels.generic_kernel("conv2d", kinds, maps, "ppppprrr", kernels.MAC, inits=["0.0"])
    tiled = check(text, [data(1, 3, 6, 6), data(3, 1, 3, 3, 1), data(1, 3, 1, 4, 4)], tolerance=1e-4)
    assert "vector.contract" not in tiled


def test_batch_matmul_and_matrix_vector() -> None:
    kinds = ["tensor<3x4x5xf32>", "tensor<3x5x6xf32>", "tensor<3x4x6xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,k,n | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check(text, [data(3, 4, 5), data(3, 5, 6), data(3, 4, 6)], (1, 3, 4, 2), tolerance=1e-5)
    kinds = ["tensor<4x5xf32>", "tensor<5xf32>", "tensor<4xf32>"]
    text = kernels.generic_kernel("mv", kinds, "m,k -> m,k | k | m", "pr", kernels.MAC, inits=["0.0"])
    assert "multi_reduction" in check(text, [data(4, 5), data(5), data(4)], (3, 0), tolerance=1e-5)


def test_matmul_corners() -> None:
    arrays = [data(5, 7), data(7, 6), data(5, 6)]
    check(kernels.matmul("?", 6, 7, a=("?", 7)), arrays, (2, 4, 3), tolerance=1e-5)
    empty = check(kernels.matmul(5, 6, 0), [data(5, 0), data(0, 6), data(5, 6)])
    assert "vector.contract" not in empty
    check(kernels.matmul(0, 6, 7), [data(0, 7), data(7, 6), data(0, 6)])
    check(kernels.relu_chain(0, 6), [data(0, 6), data(0, 6)])
    check(kernels.softmax(5, 1), [data(5, 1), data(5, 1)])


ARGMAX = """%x: f32, %m: f32, %i: i64 {
  %k = linalg.index 1 : index
  %j = arith.index_cast %k : index to i64
  %c = arith.cmpf ogt, %x, %m : f32
  %v = arith.select %c, %x, %m : f32
  %n = arith.select %c, %j, %i : i64
  linalg.yield %v, %n : f32, i64 }"""


def test_argmax() -> None:
    kinds = ["tensor<5x7xf32>", "tensor<5xf32>", "tensor<5xi64>"]
    text = kernels.generic_kernel(
        "max_dim", kinds, "m,n -> m,n | m | m", "pr", ARGMAX, outs=2, inits=["-1.0e30", "0"]
    )
    check(text, [data(5, 7), data(5), data(5, kind="i64")], (2, 0), outs=2)


def test_two_sums_at_once() -> None:
    kinds = ["tensor<5x7xf32>", "tensor<5xf32>", "tensor<5xf32>"]
    body = (
        "%x: f32, %s: f32, %q: f32 { %a = arith.addf %x, %s : f32\n %b = arith.mulf %x, %x : f32\n"
        " %c = arith.addf %b, %q : f32\n linalg.yield %a, %c : f32, f32 }"
    )
    text = kernels.generic_kernel(
        "sums", kinds, "m,n -> m,n | m | m", "pr", body, outs=2, inits=["0.0", "0.0"]
    )
    check(text, [data(5, 7), data(5), data(5)], (2, 0), outs=2, tolerance=1e-5)


def test_full_reduction_and_scalars() -> None:
    kinds = ["tensor<5x7xf32>", "tensor<f32>"]
    body = "%x: f32, %s: f32 { %r = arith.addf %x, %s : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("sum", kinds, "m,n -> m,n | ", "rr", body, inits=["0.0"])
    check(text, [data(5, 7), np.array(1.5, np.float32)], tolerance=1e-5)
    dynamic = text.replace("5x7", "?x?")
    check(dynamic, [data(5, 70), np.array(1.5, np.float32)], tolerance=1e-5)
    kinds = ["tensor<f32>", "tensor<f32>", "tensor<f32>"]
    body = "%x: f32, %y: f32, %o: f32 { %r = arith.mulf %x, %y : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("mul", kinds, " ->  |  | ", "", body)
    check(text, [np.array(2.5, np.float32), np.array(3.0, np.float32), np.array(0.0, np.float32)])
    kinds = ["tensor<5xf32>", "tensor<f32>", "tensor<5xf32>"]
    text = kernels.generic_kernel("mul", kinds, "a -> a |  | a", "p", body)
    check(text, [data(5), np.array(3.0, np.float32), data(5)], (2,))


@pytest.mark.parametrize("kind", ["f64", "f16", "i64", "i32", "i8"])
def test_types(kind: str) -> None:
    f = "f" if kind.startswith("f") else "i"
    mac = (
        f"%x: {kind}, %y: {kind}, %s: {kind} {{ %p = arith.mul{f} %x, %y : {kind}\n %r = arith.add{f} %s, %p : {kind}\n"
        f" linalg.yield %r : {kind} }}"
    )
    kinds = [f"tensor<4x5x{kind}>", f"tensor<5x6x{kind}>", f"tensor<4x6x{kind}>"]
    zero = "0.0" if f == "f" else "0"
    text = kernels.generic_kernel("matmul", kinds, kernels.MATMUL_MAPS, "ppr", mac, inits=[zero])
    arrays = [data(4, 5, kind=kind), data(5, 6, kind=kind), data(4, 6, kind=kind)]
    if kind == "f16":  # the accumulator is f32: compare with that, not with sums in f16
        tiled = tile_text(text)
        assert (
            "vector<4x4xf16>, vector<4x6xf16> into vector<4x6xf32>" in tiled
            or "into vector<4x6xf32>" in tiled
        )
    else:
        check(text, arrays, (3, 4, 2))
    body = f"%x: {kind}, %s: {kind} {{ %r = arith.add{f} %x, %s : {kind}\n linalg.yield %r : {kind} }}"
    text = kernels.generic_kernel(
        "sum", [*kinds[:1], f"tensor<4x{kind}>"], "m,n -> m,n | m", "pr", body, inits=[zero]
    )
    check(
        text, [data(4, 5, kind=kind), data(4, kind=kind)], (3, 0), tolerance=1e-2 if kind == "f16" else 1e-6
    )


def tile_text(text: str) -> str:
    """The tile IR of a kernel by the sizes that mlopt-schedule chooses."""
    ctx = ir.Context()
    ctx.enable_multithreading(False)
    with ctx, ir.Location.unknown():
        module = ir.Module.parse(text)
        Schedule().run(module.operation)
        Tile().run(module.operation)
        assert module.operation.verify()
        return str(module)


def test_quantised_product() -> None:
    body = (
        "%x: i8, %y: i8, %s: i32 { %a = arith.extsi %x : i8 to i32\n %b = arith.extui %y : i8 to i32\n"
        " %p = arith.muli %a, %b : i32\n %r = arith.addi %s, %p : i32\n linalg.yield %r : i32 }"
    )
    kinds = ["tensor<4x5xi8>", "tensor<5x6xi8>", "tensor<4x6xi32>"]
    text = kernels.generic_kernel("matmul", kinds, kernels.MATMUL_MAPS, "ppr", body, inits=["0"])
    arrays = [
        np.arange(20, dtype=np.int8).reshape(4, 5) - 9,
        (np.arange(30) * 8).astype(np.int8).reshape(5, 6),
        np.zeros((4, 6), np.int32),
    ]
    check(text, arrays, (3, 4, 2))


EMBEDDING = """%i: i64, %o: f32 {
  %zero = arith.constant 0 : i64
  %rows = arith.constant 7 : i64
  %low = arith.cmpi sge, %i, %zero : i64
  %high = arith.cmpi slt, %i, %rows : i64
  %ok = arith.andi %low, %high : i1
  cf.assert %ok, "IndexError: index out of range in self"
  %safe = arith.select %ok, %i, %zero : i64
  %row = arith.index_cast %safe : i64 to index
  %column = linalg.index 2 : index
  %r = tensor.extract %a1[%row, %column] : tensor<7x5xf32>
  linalg.yield %r : f32 }"""


def test_embedding() -> None:
    kinds = ["tensor<2x3xi64>", "tensor<7x5xf32>", "tensor<2x3x5xf32>"]
    text = kernels.generic_kernel("embedding", kinds, "a,b,c -> a,b | a,b,c", "ppp", EMBEDDING)
    arrays = [np.array([[0, 6, 3], [2, 2, 5]]), data(7, 5), data(2, 3, 5)]
    tiled = check(text, arrays)
    assert "vector<1x5xf32>" in tiled or "vector<5xf32>" in tiled
    check(text, arrays, (1, 1, 2))


def test_gather_of_elements() -> None:
    body = """%i: i64, %o: f32 {
      %a = linalg.index 0 : index
      %j = arith.index_cast %i : i64 to index
      %r = tensor.extract %a1[%a, %j] : tensor<3x5xf32>
      linalg.yield %r : f32 }"""
    kinds = ["tensor<3x2xi64>", "tensor<3x5xf32>", "tensor<3x2xf32>"]
    text = kernels.generic_kernel("gather", kinds, "a,b -> a,b | a,b", "pp", body)
    check(text, [np.array([[0, 4], [2, 2], [1, 3]]), data(3, 5), data(3, 2)])


def test_check_of_many_elements_ignores_padding() -> None:
    body = """%x: i64, %o: i64 {
      %zero = arith.constant 0 : i64
      %ok = arith.cmpi ne, %x, %zero : i64
      cf.assert %ok, "ZeroDivisionError: integer division or modulo by zero"
      %r = arith.muli %x, %x : i64
      linalg.yield %r : i64 }"""
    text = kernels.generic_kernel("square", ["tensor<5xi64>", "tensor<5xi64>"], "a -> a | a", "p", body)
    check(text, [np.arange(1, 6), np.zeros(5, np.int64)], (3,))


def test_index() -> None:
    body = """%o: i64 {
      %a = linalg.index 0 : index
      %b = linalg.index 1 : index
      %s = arith.muli %a, %b : index
      %r = arith.index_cast %s : index to i64
      linalg.yield %r : i64 }"""
    text = kernels.generic_kernel("arange", ["tensor<5x7xi64>"], "a,b -> a,b", "pp", body)
    check(text, [data(5, 7, kind="i64")], (2, 3))


def test_flip_reads_one_element_at_a_time() -> None:
    body = "%x: f32, %o: f32 { linalg.yield %x : f32 }"
    kinds = ["tensor<5x7xf32>", "tensor<5x7xf32>"]
    text = kernels.generic_kernel("flip", kinds, "a,b -> a, 6 - b | a,b", "pp", body)
    check(text, [data(5, 7), data(5, 7)])


def slice_kernel(text: str, result: str) -> str:
    return text.replace("RESULT", result)


def test_slices() -> None:
    take = """func.func private @slice(%a0: tensor<5x9x2xf32>, %a1: tensor<5x4xf32>) -> tensor<5x4xf32> attributes {mlopt.kernel} {
      %v = tensor.extract_slice %a0[0, 3, 1] [5, 4, 1] [1, 1, 1] : tensor<5x9x2xf32> to tensor<5x4xf32>
      return %v : tensor<5x4xf32>
    }"""
    arrays = [data(5, 9, 2), data(5, 4)]
    tiled = tile_text(take)
    assert "vector.transfer_read %arg0" in tiled
    then = take.replace(
        "return %v",
        """%e = tensor.empty() : tensor<5x4xf32>
      %w = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<5x4xf32>) outs(%a1 : tensor<5x4xf32>) {
      ^bb0(%x: f32, %o: f32):
        %q = arith.mulf %x, %x : f32
        linalg.yield %q : f32
      } -> tensor<5x4xf32>
      return %w""",
    )
    check(then, arrays, (2, 3))
    check(
        then.replace("[5, 4, 1] [1, 1, 1]", "[5, 4, 1] [1, 2, 1]").replace("[0, 3, 1]", "[0, 1, 1]"), arrays
    )


def test_concatenation() -> None:
    text = """func.func private @cat(%a0: tensor<5x3xf32>, %a1: tensor<5x4xf32>, %a2: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {mlopt.kernel} {
      %v = tensor.insert_slice %a0 into %a2[0, 0] [5, 3] [1, 1] : tensor<5x3xf32> into tensor<5x7xf32>
      %w = tensor.insert_slice %a1 into %v[0, 3] [5, 4] [1, 1] : tensor<5x4xf32> into tensor<5x7xf32>
      return %w : tensor<5x7xf32>
    }"""
    check(text, [data(5, 3), data(5, 4), data(5, 7)], (2, 0, 0))
    last = text.replace("into %v[", "into %a2[").replace("%v = ", "// ")
    check(last, [data(5, 3), data(5, 4), data(5, 7)], (2, 3))


def test_padding() -> None:
    text = """func.func private @pad(%a0: tensor<2x3x4xf32>, %a1: tensor<2x6x7xf32>) -> tensor<2x6x7xf32> attributes {mlopt.kernel} {
      %c = arith.constant 2.5 : f32
      %f = linalg.fill ins(%c : f32) outs(%a1 : tensor<2x6x7xf32>) -> tensor<2x6x7xf32>
      %w = tensor.insert_slice %a0 into %f[0, 1, 2] [2, 3, 4] [1, 1, 1] : tensor<2x3x4xf32> into tensor<2x6x7xf32>
      return %w : tensor<2x6x7xf32>
    }"""
    check(text, [data(2, 3, 4), data(2, 6, 7)])


def test_two_results_of_different_rank() -> None:
    kernel = kernels.Kernel("both")
    x, full, row = (kernel.argument(kind) for kind in ("tensor<5x7xf32>", "tensor<5x7xf32>", "tensor<5xf32>"))
    y = kernels.unary(kernel, x, 2, "%r = arith.mulf %x, %x : f32", full)
    s = kernel.generic(
        "a,b -> a,b | a",
        "pr",
        [y],
        [kernel.fill("0.0", row[1], row)],
        "%x: f32, %s: f32 { %r = arith.addf %x, %s : f32\n linalg.yield %r : f32 }",
    )
    check(kernel.text(y, s), [data(5, 7), data(5, 7), data(5)], (2, 0), outs=2, tolerance=1e-5)


def test_dynamic_batch() -> None:
    kinds = ["tensor<?x4x5xf32>", "tensor<?x5x6xf32>", "tensor<?x4x6xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,k,n | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check(text, [data(3, 4, 5), data(3, 5, 6), data(3, 4, 6)], (1, 3, 4, 2), tolerance=1e-5)
    check(text, [data(3, 4, 5), data(3, 5, 6), data(3, 4, 6)], (2, 3, 4, 2), tolerance=1e-5)
    kinds = ["tensor<?x3x6x6xf32>", "tensor<3x3x3x5xf32>", "tensor<?x5x4x4xf32>"]
    maps = "n,co,oh,ow,ci,kh,kw -> n,ci,oh+kh,ow+kw | ci,kh,kw,co | n,co,oh,ow"
    text = kernels.generic_kernel("conv2d", kinds, maps, "pppprrr", kernels.MAC, inits=["0.0"])
    check(text, [data(2, 3, 6, 6), data(3, 3, 3, 5), data(2, 5, 4, 4)], (1, 3, 1, 0, 2, 1, 1), tolerance=1e-4)
    kinds = ["tensor<?x3xi64>", "tensor<7x5xf32>", "tensor<?x3x5xf32>"]
    text = kernels.generic_kernel("embedding", kinds, "a,b,c -> a,b | a,b,c", "ppp", EMBEDDING)
    check(text, [np.array([[0, 6, 3], [2, 2, 5]]), data(7, 5), data(2, 3, 5)])


def test_any_is_one_reduction() -> None:
    body = (
        "%x: i8, %s: i8 { %a = arith.trunci %x : i8 to i1\n %b = arith.trunci %s : i8 to i1\n"
        " %o = arith.ori %a, %b : i1\n %r = arith.extui %o : i1 to i8\n linalg.yield %r : i8 }"
    )
    text = kernels.generic_kernel(
        "any", ["tensor<5x7xi8>", "tensor<5xi8>"], "m,n -> m,n | m", "pr", body, inits=["0"]
    )
    truths = (data(5, 7) > 3).astype(np.int8)
    truths[2] = 0
    assert "multi_reduction <or>" in check(text, [truths, data(5, kind="i8")], (2, 0))


def test_constants_and_scalars_in_the_kernel() -> None:
    text = """func.func private @scaled(%a0: tensor<3xf32>, %a1: f32, %a2: tensor<3xf32>) -> tensor<3xf32> attributes {mlopt.kernel} {
      %table = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
      %splat = arith.constant dense<3.0> : tensor<3xf32>
      %factor = arith.addf %a1, %a1 : f32
      %w = linalg.generic {indexing_maps = [affine_map<(a)->(a)>, affine_map<(a)->(a)>, affine_map<(a)->(a)>, affine_map<(a)->(a)>], iterator_types = ["parallel"]}
        ins(%a0, %table, %splat : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) outs(%a2 : tensor<3xf32>) {
      ^bb0(%x: f32, %t: f32, %s: f32, %o: f32):
        %p = arith.mulf %x, %t : f32
        %q = arith.addf %p, %s : f32
        %r = arith.mulf %q, %factor : f32
        linalg.yield %r : f32
      } -> tensor<3xf32>
      return %w : tensor<3xf32>
    }"""
    assert "vector.transfer_read" in tile_text(text)
    assert "vector.broadcast" in tile_text(text)
