"""Kernels that move elements (transposes, rows at indices, parts) give what numpy gives, on the emulator."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels
from gpu_numbers import RNG, check, numbers, wide


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


@pytest.mark.parametrize(("shared", "used"), [(None, 8416), (6000, 4208), (4000, 0)])
def test_tiles_that_a_block_has_no_room_for(shared: int | None, used: int) -> None:
    """Side by side, one after the other, or not at all."""
    kind = kernels.tensor((100, 70))
    turned = kernels.tensor((70, 100))
    body = """%z: f32, %x: f32, %y: f32, %o: f32 {
      %p = arith.mulf %x, %y : f32
      %r = arith.addf %p, %z : f32
      linalg.yield %r : f32 }"""
    text = kernels.generic_kernel(
        "turn", [kind, turned, turned, kind], "a,b -> a,b | b,a | b,a | a,b", "pp", body
    )
    kernel = gpu.compile_kernel(text, shared=shared)
    z, x, y = numbers((100, 70)), numbers((70, 100)), numbers((70, 100))
    (result,) = gpu.run_kernel(kernel, [z, x, y, np.zeros_like(z)])
    np.testing.assert_array_equal(result, x.T * y.T + z)
    assert {each for _, _, _, each in kernel.launches} == {used}
