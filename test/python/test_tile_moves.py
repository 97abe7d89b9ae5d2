"""Tile IR of ops that move elements (transposes, gathers, slices) reads and writes the right ones."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import numpy as np
from mlopt.test.python import tile_kernels as kernels
from mlopt.test.python.kernel_checks import EMBEDDING, check_tiles, data, tile_text


def test_transpose() -> None:
    body = "%x: f32, %o: f32 { linalg.yield %x : f32 }"
    kinds = ["tensor<3x5x7xf32>", "tensor<7x3x5xf32>"]
    text = kernels.generic_kernel("transpose", kinds, "a,b,c -> b,c,a | a,b,c", "ppp", body)
    check_tiles(text, [data(3, 5, 7), data(7, 3, 5)], (4, 2, 3))
    check_tiles(text, [data(3, 5, 7), data(7, 3, 5)])
    # The root is written with its dims turned; its operand is made in the kernel.
    turned = kernels.generic_kernel("transpose", kinds, "b,c,a -> b,c,a | a,b,c", "ppp", body)
    check_tiles(turned, [data(3, 5, 7), data(7, 3, 5)], (4, 2, 3))


def test_transpose_of_a_value_made_in_the_kernel() -> None:
    kernel = kernels.Kernel("transpose")
    x, out = kernel.argument("tensor<5x7xf32>"), kernel.argument("tensor<7x5xf32>")
    y = kernels.unary(kernel, x, 2, "%r = arith.mulf %x, %x : f32")
    text = kernel.text(
        kernel.generic("a,b -> b,a | a,b", "pp", [y], [out], "%x: f32, %o: f32 { linalg.yield %x : f32 }")
    )
    check_tiles(text, [data(5, 7), data(7, 5)], (3, 2))


def test_embedding() -> None:
    kinds = ["tensor<2x3xi64>", "tensor<7x5xf32>", "tensor<2x3x5xf32>"]
    text = kernels.generic_kernel("embedding", kinds, "a,b,c -> a,b | a,b,c", "ppp", EMBEDDING)
    arrays = [np.array([[0, 6, 3], [2, 2, 5]]), data(7, 5), data(2, 3, 5)]
    tiled = check_tiles(text, arrays)
    assert "vector<1x5xf32>" in tiled or "vector<5xf32>" in tiled
    check_tiles(text, arrays, (1, 1, 2))


def test_gather_of_elements() -> None:
    body = """%i: i64, %o: f32 {
      %a = linalg.index 0 : index
      %j = arith.index_cast %i : i64 to index
      %r = tensor.extract %a1[%a, %j] : tensor<3x5xf32>
      linalg.yield %r : f32 }"""
    kinds = ["tensor<3x2xi64>", "tensor<3x5xf32>", "tensor<3x2xf32>"]
    text = kernels.generic_kernel("gather", kinds, "a,b -> a,b | a,b", "pp", body)
    check_tiles(text, [np.array([[0, 4], [2, 2], [1, 3]]), data(3, 5), data(3, 2)])


def test_check_of_many_elements_ignores_padding() -> None:
    body = """%x: i64, %o: i64 {
      %zero = arith.constant 0 : i64
      %ok = arith.cmpi ne, %x, %zero : i64
      cf.assert %ok, "ZeroDivisionError: integer division or modulo by zero"
      %r = arith.muli %x, %x : i64
      linalg.yield %r : i64 }"""
    text = kernels.generic_kernel("square", ["tensor<5xi64>", "tensor<5xi64>"], "a -> a | a", "p", body)
    check_tiles(text, [np.arange(1, 6), np.zeros(5, np.int64)], (3,))


def test_index() -> None:
    body = """%o: i64 {
      %a = linalg.index 0 : index
      %b = linalg.index 1 : index
      %s = arith.muli %a, %b : index
      %r = arith.index_cast %s : index to i64
      linalg.yield %r : i64 }"""
    text = kernels.generic_kernel("arange", ["tensor<5x7xi64>"], "a,b -> a,b", "pp", body)
    check_tiles(text, [data(5, 7, kind="i64")], (2, 3))


def test_flip_reads_one_element_at_a_time() -> None:
    body = "%x: f32, %o: f32 { linalg.yield %x : f32 }"
    kinds = ["tensor<5x7xf32>", "tensor<5x7xf32>"]
    text = kernels.generic_kernel("flip", kinds, "a,b -> a, 6 - b | a,b", "pp", body)
    check_tiles(text, [data(5, 7), data(5, 7)])


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
    check_tiles(then, arrays, (2, 3))
    check_tiles(
        then.replace("[5, 4, 1] [1, 1, 1]", "[5, 4, 1] [1, 2, 1]").replace("[0, 3, 1]", "[0, 1, 1]"), arrays
    )


def test_concatenation() -> None:
    text = """func.func private @cat(%a0: tensor<5x3xf32>, %a1: tensor<5x4xf32>, %a2: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {mlopt.kernel} {
      %v = tensor.insert_slice %a0 into %a2[0, 0] [5, 3] [1, 1] : tensor<5x3xf32> into tensor<5x7xf32>
      %w = tensor.insert_slice %a1 into %v[0, 3] [5, 4] [1, 1] : tensor<5x4xf32> into tensor<5x7xf32>
      return %w : tensor<5x7xf32>
    }"""
    check_tiles(text, [data(5, 3), data(5, 4), data(5, 7)], (2, 0, 0))
    last = text.replace("into %v[", "into %a2[").replace("%v = ", "// ")
    check_tiles(last, [data(5, 3), data(5, 4), data(5, 7)], (2, 3))


def test_padding() -> None:
    text = """func.func private @pad(%a0: tensor<2x3x4xf32>, %a1: tensor<2x6x7xf32>) -> tensor<2x6x7xf32> attributes {mlopt.kernel} {
      %c = arith.constant 2.5 : f32
      %f = linalg.fill ins(%c : f32) outs(%a1 : tensor<2x6x7xf32>) -> tensor<2x6x7xf32>
      %w = tensor.insert_slice %a0 into %f[0, 1, 2] [2, 3, 4] [1, 1, 1] : tensor<2x3x4xf32> into tensor<2x6x7xf32>
      return %w : tensor<2x6x7xf32>
    }"""
    check_tiles(text, [data(2, 3, 4), data(2, 6, 7)])
