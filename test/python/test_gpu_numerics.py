"""Kernels distributed over threads compute what numpy computes: their PTX runs on the emulator."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

RNG = np.random.default_rng(2026)
NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
}
TOLERANCE = {"f64": 1e-13, "f32": 4e-6, "f16": 2e-3, "bf16": 1.6e-2}


def numbers(shape: Sequence[int], element: str = "f32") -> np.ndarray:
    """Random numbers; bf16 as its bits."""
    if element == "bf16":
        return to_bf16(RNG.standard_normal(shape))
    if element.startswith("i"):
        return RNG.integers(-100, 100, shape).astype(NUMPY[element])
    return RNG.standard_normal(shape).astype(NUMPY[element])


def to_bf16(values: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(values: np.ndarray) -> np.ndarray:
    """As f64; 16 bits without a sign are bf16."""
    if values.dtype == np.uint16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def check(
    text: str,
    arrays: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    tolerance: float = 4e-6,
    schedule: str | None = None,
    shift: int = 0,
    chip: str = "sm_80",
) -> gpu.Kernel:
    kernel = gpu.compile_kernel(text, chip, schedule)
    results = gpu.run_kernel(kernel, arrays, len(expected), shift)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(wide(result), wanted, rtol=tolerance, atol=tolerance)
    return kernel


def pointwise(shape: Sequence[int | str], body: str, elements: Sequence[str], name: str = "pointwise") -> str:
    """An element-wise kernel; ``elements`` are the types of its inputs and, last, of its output."""
    dims = ",".join(f"d{number}" for number in range(len(shape)))
    maps = f"{dims} -> " + " | ".join([dims] * len(elements))
    kinds = [kernels.tensor(shape, element) for element in elements]
    return kernels.generic_kernel(name, kinds, maps, "p" * len(shape), body)


@pytest.mark.parametrize("element", [*NUMPY, "bf16"])
@pytest.mark.parametrize("shape", [(1,), (1003,), (64, 1000), (3, 77)])
def test_pointwise_of_each_type(element: str, shape: tuple[int, ...]) -> None:
    x, y = numbers(shape, element), numbers(shape, element)
    kind = "i" if element.startswith("i") else "f"
    body = f"%x: {element}, %y: {element}, %o: {element} {{ %p = arith.mul{kind} %x, %y : {element}\n %r = arith.add{kind} %p, %x : {element}\n linalg.yield %r : {element} }}"
    expected = (wide(x) * wide(y) + wide(x)).astype(x.dtype if kind == "i" else np.float64)
    text = pointwise(shape, body, [element] * 3)
    for shift in (0, np.dtype(x.dtype).itemsize):
        check(text, [x, y, np.zeros_like(x)], [expected], TOLERANCE.get(element, 0), shift=shift)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_casts_and_truth_values(chip: str) -> None:
    x = numbers((5, 200)) * 3
    body = """%x: f32, %o: i8 { %z = arith.constant 0.5 : f32
      %c = arith.cmpf ogt, %x, %z : f32
      %r = arith.extui %c : i1 to i8
      linalg.yield %r : i8 }"""
    check(pointwise((5, 200), body, ["f32", "i8"]), [x, np.zeros((5, 200), np.int8)], [x > 0.5], chip=chip)
    body = "%x: f32, %o: bf16 { %r = arith.truncf %x : f32 to bf16\n linalg.yield %r : bf16 }"
    kernel = check(
        pointwise((5, 200), body, ["f32", "bf16"]),
        [x, np.zeros((5, 200), np.uint16)],
        [wide(to_bf16(x))],
        tolerance=0,
        chip=chip,
    )
    assert ".v4" in kernel.ptx
    body = "%x: bf16, %o: f64 { %r = arith.extf %x : bf16 to f64\n linalg.yield %r : f64 }"
    bits = to_bf16(x)
    check(pointwise((5, 200), body, ["bf16", "f64"]), [bits, np.zeros((5, 200))], [wide(bits)], chip=chip)


@pytest.mark.parametrize("size", [1, 31, 127, 128, 1000, 130003])
def test_dynamic_sizes(size: int) -> None:
    x = numbers((size,))
    body = "%x: f32, %o: f32 { %r = math.exp %x : f32\n linalg.yield %r : f32 }"
    for shift in (0, 4):
        check(pointwise(("?",), body, ["f32", "f32"]), [x, np.zeros_like(x)], [np.exp(wide(x))], shift=shift)


@pytest.mark.parametrize("shape", [(17, 99), (1, 4), (5, 1024), (33, 64)])
def test_dynamic_matrices(shape: tuple[int, int]) -> None:
    x, bias = numbers(shape), numbers(shape[1:])
    body = "%x: f32, %b: f32, %o: f32 { %r = arith.addf %x, %b : f32\n linalg.yield %r : f32 }"
    kind, row = "tensor<?x?xf32>", "tensor<?xf32>"
    text = kernels.generic_kernel("bias", [kind, row, kind], "a,b -> a,b | b | a,b", "pp", body)
    kernel = check(text, [x, bias, np.zeros_like(x)], [wide(x) + bias])
    assert kernel.launches[0][0] == ("bias" if shape[1] % 4 == 0 else "bias_unaligned")
    text = kernels.generic_kernel(
        "turn", [kind, kind], "a,b -> b,a | a,b", "pp", "%x: f32, %o: f32 { linalg.yield %x : f32 }"
    )
    check(text, [x, np.zeros(shape[::-1], np.float32)], [wide(x.T)])


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(wide(x) - wide(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("columns", [1, 7, 32, 77, 100, 1000, 1024, 5003])
def test_softmax(columns: int) -> None:
    x = numbers((5, columns)) * 3
    for schedule in (
        None,
        "tile = array<i64: 1, 0, 0, 0, 0>, warps = array<i64: 8>",
        "tile = array<i64: 4, 0, 0, 0, 0>, warps = array<i64: 4>",
    ):
        if columns > 1 and not (schedule and columns > 4000):
            check(kernels.softmax(5, columns), [x, np.zeros_like(x)], [softmax(x)], schedule=schedule)


@pytest.mark.parametrize("columns", [1000, 1024, 5003])
@pytest.mark.parametrize("elements", [1, 2])
def test_rows_in_steps(columns: int, elements: int) -> None:
    x, gain, bias = numbers((3, columns)), numbers((columns,)), numbers((columns,))
    kernel = gpu.compile_kernel(kernels.softmax(3, columns), elements=elements)
    assert "scf.for" in kernel.threads
    (result,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)])
    np.testing.assert_allclose(result, softmax(x), 4e-6, 4e-6)
    kernel = gpu.compile_kernel(kernels.layer_norm(1, 3, columns), elements=elements)
    (result,) = gpu.run_kernel(kernel, [x[None], gain, bias, np.zeros_like(x[None])])
    centred = wide(x) - wide(x).mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
    np.testing.assert_allclose(result[0], expected, 2e-5, 2e-5)


@pytest.mark.parametrize("columns", [1000, 1024])
def test_rows_in_steps_that_are_not_finite(columns: int) -> None:
    x = numbers((5, columns)) * 9
    x[0], x[1, -1], x[2, 5], x[3, :-1] = -np.inf, np.inf, np.nan, -np.inf
    kernel = gpu.compile_kernel(kernels.softmax(5, columns), elements=1)
    (result,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(result, softmax(x), 4e-6, 4e-6)


@pytest.mark.parametrize("element", ["bf16", "f16", "f64"])
@pytest.mark.parametrize("shift", [0, 2])
def test_rows_that_stay_in_shared_memory(element: str, shift: int) -> None:
    x = numbers((2, 1501), element)
    shift *= x.itemsize
    kernel = gpu.compile_kernel(kernels.softmax(2, 1501, element), elements=2)
    (result,) = gpu.run_kernel(kernel, [x, np.zeros_like(x)], shift=shift)
    assert kernel.launches[0][3] >= 1501 * x.itemsize
    np.testing.assert_allclose(wide(result), softmax(x), TOLERANCE[element], TOLERANCE[element])


def test_rows_that_no_block_can_hold() -> None:
    x = numbers((2, 128256))
    kernel = check(kernels.softmax(2, 128256), [x, np.zeros_like(x)], [softmax(x)])
    assert "1x32768xf32" not in kernel.tile
    assert kernel.threads.count("scf.for") >= 3


def test_softmax_of_half_floats_and_of_any_number_of_rows() -> None:
    x = numbers((9, 100), "bf16")
    check(
        kernels.softmax(9, 100, "bf16"),
        [x, np.zeros_like(x)],
        [softmax(x)],
        TOLERANCE["bf16"],
    )
    x = numbers((9, 100))
    for rows in (1, 9):
        check(kernels.softmax("?", 100), [x[:rows], np.zeros_like(x[:rows])], [softmax(x[:rows])])


@pytest.mark.parametrize("columns", [48, 77, 1536, 3000])
def test_layer_norm(columns: int) -> None:
    x, gain, bias = numbers((2, 3, columns)), numbers((columns,)), numbers((columns,))
    centred = wide(x) - wide(x).mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
    check(kernels.layer_norm(2, 3, columns), [x, gain, bias, np.zeros_like(x)], [expected], 2e-5)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (300, 50), (1001, 3), (70, 1000), (20000, 8)])
def test_sums_over_columns(rows: int, columns: int) -> None:
    x = numbers((rows, columns))
    expected = [wide(x).sum(0)]
    out = np.zeros(columns, np.float32)
    if rows * columns > 1:
        check(kernels.column_sum(rows, columns), [x, out], expected, 1e-4)
        check(kernels.column_sum("?", columns), [x, out], expected, 1e-4)


REDUCTIONS = {
    ("addf", "f64"): (np.sum, "0.0"),
    ("addf", "f16"): (np.sum, "0.0"),
    ("mulf", "f32"): (np.prod, "1.0"),
    ("maximumf", "f32"): (np.max, "0xFF800000"),
    ("minimumf", "f64"): (np.min, "0x7FF0000000000000"),
    ("maximumf", "bf16"): (np.max, "0xFF80"),
    ("minnumf", "f16"): (np.min, "0x7C00"),
    ("addi", "i64"): (np.sum, "0"),
    ("maxsi", "i32"): (np.max, "-2147483648"),
    ("minsi", "i8"): (np.min, "127"),
    ("muli", "i64"): (np.prod, "1"),
    ("xori", "i16"): (np.bitwise_xor.reduce, "0"),
    ("andi", "i8"): (np.bitwise_and.reduce, "-1"),
    ("ori", "i64"): (np.bitwise_or.reduce, "0"),
}


@pytest.mark.parametrize(("op", "element"), REDUCTIONS)
@pytest.mark.parametrize(("maps", "axis"), [("a,b -> a,b | a", 1), ("a,b -> a,b | b", 0)])
def test_reductions_of_each_kind(op: str, element: str, maps: str, axis: int) -> None:
    function, init = REDUCTIONS[op, element]
    shape = (37, 150) if op != "mulf" else (11, 21)
    x = numbers(shape, element)
    kinds = [kernels.tensor(shape, element), kernels.tensor((shape[1 - axis],), element)]
    body = (
        f"%x: {element}, %a: {element} {{ %r = arith.{op} %a, %x : {element}\n linalg.yield %r : {element} }}"
    )
    iterators = "pr" if axis else "rp"
    text = kernels.generic_kernel("reduce", kinds, maps, iterators, body, inits=[init])
    expected = function(wide(x), axis=axis).astype(wide(x).dtype)
    out = np.zeros(shape[1 - axis], x.dtype)
    check(text, [x, out], [expected], TOLERANCE.get(element, 0) * 20)


def test_nan_and_infinity_in_a_maximum() -> None:
    x = numbers((6, 100))
    x[1, 3], x[2, 99], x[3, :] = np.nan, np.inf, -np.inf
    body = "%x: f32, %a: f32 { %r = arith.maximumf %a, %x : f32\n linalg.yield %r : f32 }"
    kinds = ["tensor<6x100xf32>", "tensor<6xf32>"]
    text = kernels.generic_kernel("top", kinds, "a,b -> a,b | a", "pr", body, inits=["0xFF800000"])
    check(text, [x, np.zeros(6, np.float32)], [x.max(1)])


@pytest.mark.parametrize("shape", [(37, 50), (5, 1003), (300, 8)])
def test_argmax_has_two_results(shape: tuple[int, int]) -> None:
    x = numbers(shape)
    body = """%x: f32, %v: f32, %i: i64 { %j = linalg.index 1 : index
      %k = arith.index_cast %j : index to i64
      %g = arith.cmpf ogt, %x, %v : f32
      %a = arith.select %g, %x, %v : f32
      %b = arith.select %g, %k, %i : i64
      linalg.yield %a, %b : f32, i64 }"""
    rows, columns = shape
    kinds = [f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>", f"tensor<{rows}xi64>"]
    text = kernels.generic_kernel(
        "argmax", kinds, "a,b -> a,b | a | a", "pr", body, outs=2, inits=["0xFF800000", "0"]
    )
    check(text, [x, np.zeros(rows, np.float32), np.zeros(rows, np.int64)], [x.max(1), x.argmax(1)])


@pytest.mark.parametrize(
    ("shape", "maps", "axes"),
    [
        ((100, 70), "a,b -> b,a | a,b", (1, 0)),
        ((128, 256), "a,b -> b,a | a,b", (1, 0)),
        ((4, 33, 5, 64), "a,b,c,d -> a,c,b,d | a,b,c,d", (0, 2, 1, 3)),
        ((4, 33, 5, 64), "a,b,c,d -> a,d,b,c | a,b,c,d", (0, 2, 3, 1)),
        ((3, 3, 3), "a,b,c -> c,b,a | a,b,c", (2, 1, 0)),
    ],
)
@pytest.mark.parametrize("element", ["f32", "f16", "i8", "f64"])
def test_transposes(shape: tuple[int, ...], maps: str, axes: tuple[int, ...], element: str) -> None:
    x = numbers(shape, element)
    expected = np.ascontiguousarray(x.transpose(axes))
    kinds = [kernels.tensor(shape, element), kernels.tensor(expected.shape, element)]
    body = f"%x: {element}, %o: {element} {{ linalg.yield %x : {element} }}"
    text = kernels.generic_kernel("turn", kinds, maps, "p" * len(shape), body)
    check(text, [x, np.zeros_like(expected)], [wide(expected)], 0)


def test_broadcasts() -> None:
    x, y = numbers((7, 1, 40)), numbers((9, 1))
    kinds = ["tensor<7x1x40xf32>", "tensor<9x1xf32>", "tensor<7x9x40xf32>"]
    body = "%x: f32, %y: f32, %o: f32 { %r = arith.addf %x, %y : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("add", kinds, "a,b,c -> a,0,c | b,0 | a,b,c", "ppp", body)
    check(text, [x, y, np.zeros((7, 9, 40), np.float32)], [wide(x) + y])


@pytest.mark.parametrize("size", [8, 45, 200])
def test_differences_of_one_vector(size: int) -> None:
    v = numbers((size,))
    kernel = kernels.Kernel("outer")
    x, out = kernel.argument(f"tensor<{size}xf32>"), kernel.argument(f"tensor<{size}x{size}xf32>")
    body = "%x: f32, %y: f32, %o: f32 { %r = arith.subf %x, %y : f32\n linalg.yield %r : f32 }"
    text = kernel.text(kernel.generic("a,b -> a | b | a,b", "pp", [x, x], [out], body))
    check(text, [v, np.zeros((size, size), np.float32)], [wide(v)[:, None] - v[None]])
    check(
        text,
        [v, np.zeros((size, size), np.float32)],
        [wide(v)[:, None] - v[None]],
        schedule="tile = array<i64: 0, 0>, warps = array<i64: 4>",
    )


def test_scalars() -> None:
    body = "%x: f32, %o: f32 { %r = math.exp %x : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("one", ["tensor<f32>", "tensor<f32>"], " ->  | ", "", body)
    x = np.float32(1.5).reshape(())
    check(text, [x, np.zeros((), np.float32)], [np.exp(np.float64(1.5))])
    body = "%x: f32, %s: f32, %o: f32 { %r = arith.mulf %x, %s : f32\n linalg.yield %r : f32 }"
    kinds = ["tensor<70xf32>", "tensor<f32>", "tensor<70xf32>"]
    text = kernels.generic_kernel("scale", kinds, "a -> a |  | a", "p", body)
    y = numbers((70,))
    check(text, [y, x, np.zeros_like(y)], [1.5 * wide(y)])


@pytest.mark.parametrize("size", [1, 1003, 100000])
def test_a_whole_tensor_to_one_number(size: int) -> None:
    x = numbers((size,))
    body = "%x: f32, %o: f32 { %r = arith.addf %x, %o : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel(
        "total", [f"tensor<{size}xf32>", "tensor<f32>"], "a -> a | ", "r", body, inits=["0.0"]
    )
    check(text, [x, np.zeros((), np.float32)], [wide(x).sum()], 1e-4)


@pytest.mark.parametrize("columns", [1, 48, 77])
def test_rows_at_indices_and_what_checks_them(columns: int) -> None:
    body = """%i: i64, %o: f32 {
      %n = arith.constant 50 : i64
      %z = arith.constant 0 : i64
      %c = arith.cmpi ult, %i, %n : i64
      cf.assert %c, "IndexError: index out of range"
      %s = arith.select %c, %i, %z : i64
      %k = arith.index_cast %s : i64 to index
      %j = linalg.index 1 : index
      %r = tensor.extract %a0[%k, %j] : tensor<50xCOLxf32>
      linalg.yield %r : f32 }""".replace("COL", str(columns))
    kernel = kernels.Kernel("gather")
    kernel.argument(f"tensor<50x{columns}xf32>")
    index, out = kernel.argument("tensor<11xi64>"), kernel.argument(f"tensor<11x{columns}xf32>")
    text = kernel.text(kernel.generic("a,b -> a | a,b", "pp", [index], [out], body))
    compiled = gpu.compile_kernel(text)
    table, places = numbers((50, columns)), RNG.integers(0, 50, 11)
    result, status = gpu.run_kernel(compiled, [table, places, np.zeros((11, columns), np.float32)])
    assert status == 0
    np.testing.assert_array_equal(result, table[places])
    for wrong in (50, -1, 1 << 40):
        places[7] = wrong
        result, status = gpu.run_kernel(compiled, [table, places, np.zeros((11, columns), np.float32)])
        assert status == 1
        np.testing.assert_array_equal(result[:7], table[places[:7]])


def test_parts_of_a_buffer() -> None:
    x, out = numbers((6, 30)), numbers((20, 100))
    text = """func.func private @insert(%a0: tensor<6x30xf32>, %a1: tensor<20x100xf32>) -> tensor<20x100xf32> attributes {mlopt.kernel} {
      %r = tensor.insert_slice %a0 into %a1[3, 41] [6, 30] [1, 1] : tensor<6x30xf32> into tensor<20x100xf32>
      return %r : tensor<20x100xf32>
    }"""
    expected = out.copy()
    expected[3:9, 41:71] = x
    check(text, [x, out], [expected], 0)
    text = """func.func private @slice(%a0: tensor<20x100xf32>, %a1: tensor<6x10xf32>) -> tensor<6x10xf32> attributes {mlopt.kernel} {
      %r = tensor.extract_slice %a0[3, 41] [6, 10] [1, 3] : tensor<20x100xf32> to tensor<6x10xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
        ins(%r : tensor<6x10xf32>) outs(%a1 : tensor<6x10xf32>) {
      ^bb0(%x: f32, %o: f32):
        %y = arith.negf %x : f32
        linalg.yield %y : f32
      } -> tensor<6x10xf32>
      return %s : tensor<6x10xf32>
    }"""
    check(text, [out, np.zeros((6, 10), np.float32)], [-wide(out)[3:9, 41:71:3]], 0)
