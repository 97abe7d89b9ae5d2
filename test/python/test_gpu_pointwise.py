"""Element-wise kernels, distributed over threads, compute what numpy computes, on the emulator."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tile_kernels as kernels
from gpu_numbers import NUMPY, TOLERANCE, check, numbers, pointwise, to_bf16, wide


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
