"""Reductions of each kind, over rows, columns and all, compute what numpy computes, on the emulator."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tile_kernels as kernels
from gpu_numbers import TOLERANCE, check, numbers, to_bf16, wide


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


NARROW = {
    ("maximumf", "f16"): (np.max, "0xFC00"),
    ("minimumf", "bf16"): (np.min, "0x7F80"),
    ("maxsi", "i16"): (np.max, "-32768"),
    ("minsi", "i8"): (np.min, "127"),
    ("addi", "i8"): (np.sum, "0"),
    ("xori", "i8"): (np.bitwise_xor.reduce, "0"),
}


@pytest.mark.parametrize(("op", "element"), NARROW)
@pytest.mark.parametrize("shape", [(1000, 72), (37, 40), (37, 20)])
def test_narrow_columns_cross_lanes_in_words(op: str, element: str, shape: tuple[int, int]) -> None:
    """Two or four at once; not a number and infinities reach their own column alone."""
    function, init = NARROW[op, element]
    x = numbers(shape, element)
    if op.endswith("f"):
        special = np.array([np.nan, np.inf, -np.inf])
        x[[5, 7, 9], [3, 8, 9]] = to_bf16(special) if element == "bf16" else special
    kinds = [kernels.tensor(shape, element), kernels.tensor(shape[1:], element)]
    body = (
        f"%x: {element}, %a: {element} {{ %r = arith.{op} %a, %x : {element}\n linalg.yield %r : {element} }}"
    )
    text = kernels.generic_kernel("reduce", kinds, "a,b -> a,b | b", "rp", body, inits=[init])
    expected = function(wide(x), axis=0).astype(wide(x).dtype)
    check(text, [x, np.zeros(shape[1], x.dtype)], [expected], 0)


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


@pytest.mark.parametrize("size", [1, 1003, 100000])
def test_a_whole_tensor_to_one_number(size: int) -> None:
    x = numbers((size,))
    body = "%x: f32, %o: f32 { %r = arith.addf %x, %o : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel(
        "total", [f"tensor<{size}xf32>", "tensor<f32>"], "a -> a | ", "r", body, inits=["0.0"]
    )
    check(text, [x, np.zeros((), np.float32)], [wide(x).sum()], 1e-4)
    check(
        text.replace(f"tensor<{size}xf32>", "tensor<?xf32>"),
        [x, np.zeros((), np.float32)],
        [wide(x).sum()],
        1e-4,
    )
