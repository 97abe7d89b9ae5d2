"""Strips compute what the kernel's linalg ops compute: the ops by upstream's loops, the strips by ours, compared.

Extents are chosen around the lane counts of AVX2 and AVX-512, so that strips are full, overlapping and masked.
"""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python import tile_kernels as kernels
from mlopt.test.python.kernel_checks import ARGMAX, EMBEDDING, check_strips, data


@pytest.mark.parametrize("columns", [1, 7, 16, 50, 64, 65, 130])
@pytest.mark.parametrize("tile", [None, (2, 33), (3, 0)])
def test_element_wise_chain(columns: int, tile: tuple[int, ...] | None) -> None:
    check_strips(kernels.relu_chain(5, columns), [data(5, columns), data(5, columns)], tile)


@pytest.mark.parametrize("columns", [1, 7, 64, 100, 128])
def test_rows(columns: int) -> None:
    x = data(5, columns)
    check_strips(kernels.softmax(5, columns), [x, x], (2, 0, 0, 0, 0))
    check_strips(kernels.softmax("?", columns), [x, x], (2, 0, 0, 0, 0))
    rows, row = data(2, 5, columns), data(columns)
    check_strips(
        kernels.layer_norm(2, 5, columns), [rows, row, row, rows], (1, 2, 0, 0, 0, 0, 0, 0), tolerance=1e-5
    )


def test_columns() -> None:
    for columns in (5, 70):
        check_strips(
            kernels.column_sum(7, columns), [data(7, columns), data(columns)], (64, 0), tolerance=1e-5
        )
        check_strips(
            kernels.column_sum("?", columns), [data(70, columns), data(columns)], (64, 0), tolerance=1e-4
        )


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1, 300, 5), (5, 70, 9), (9, 64, 18), (7, 16, 33), (4, 130, 16)]
)
def test_matmul(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    arrays = [data(m, k), data(k, n), data(n), data(m, n)]
    for tile in (None, (6, 128, 4), (0, 0, 0)):
        check_strips(kernels.matmul_bias_gelu(m, n, k), arrays, tile, tolerance=2e-5)


def test_matmul_with_a_packed_operand() -> None:
    for columns in (270, 512):
        arrays = [data(70, 9), data(9, columns), data(columns), data(70, columns)]
        for tile in ((0, 128, 4), (66, 0, 2)):
            check_strips(kernels.matmul_bias_gelu(70, columns, 9), arrays, tile, tolerance=2e-5)
    kinds = ["tensor<2x70x9xf32>", "tensor<2x9x300xf32>", "tensor<2x70x300xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,k,n | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check_strips(text, [data(2, 70, 9), data(2, 9, 300), data(2, 70, 300)], (2, 0, 128, 2), tolerance=2e-5)


def test_long_products_in_blocks() -> None:
    m, n, k = 67, 270, 2051
    arrays = [data(m, k), data(k, n), data(m, n)]
    for tile in ((0, 64, 4), (0, 100, 8)):
        emitted = check_strips(kernels.matmul(m, n, k), arrays, tile, tolerance=2e-4)
        assert "memref<67x" in emitted or "memref<1x67x" in emitted  # the sums
    for rows, columns, k in ((1, 1100, 203), (3, 700, 400)):
        arrays = [data(rows, k), data(k, columns), data(rows, columns)]
        for tile in ((0, 0, 4), (0, 600, 8)):
            check_strips(kernels.matmul(rows, columns, k), arrays, tile, tolerance=1e-4)


TURNED = "m,n,k -> m,k | n,k | m,n"


@pytest.mark.parametrize("shape", [(2, 3, 5), (5, 70, 9), (70, 129, 40), (3, 200, 300), (66, 64, 131)])
def test_products_of_rows_with_rows(shape: tuple[int, int, int]) -> None:
    """Squares of the right factor are turned, in panels that end past its last row and column."""
    m, n, k = shape
    text = kernels.generic_kernel(
        "matmul", [f"tensor<{a}x{b}xf32>" for a, b in ((m, k), (n, k), (m, n))], TURNED, "ppr", kernels.MAC,
        inits=["0.0"],
    )  # fmt: skip
    for tile in (None, (0, 64, 4), (8, 100, 8), (0, 0, 0)):
        check_strips(text, [data(m, k), data(n, k), data(m, n)], tile, tolerance=1e-4)


def test_long_products_of_rows_with_rows() -> None:
    """In blocks of the summed dim; what does not divide into steps of it is gathered."""
    for k, tile in ((2048, (0, 64, 8)), (2052, (5, 0, 4)), (3001, (0, 64, 8))):
        kinds = [f"tensor<70x{k}xf32>", f"tensor<67x{k}xf32>", "tensor<70x67xf32>"]
        text = kernels.generic_kernel("matmul", kinds, TURNED, "ppr", kernels.MAC, inits=["0.0"])
        emitted = check_strips(text, [data(70, k), data(67, k), data(70, 67)], tile, tolerance=5e-4)
        assert emitted.count("vector.gather") <= k % 4


def test_batches_of_rows_with_any_number_of_rows() -> None:
    kinds = ["tensor<3x?x20xf32>", "tensor<3x?x20xf32>", "tensor<3x?x?xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,n,k | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check_strips(text, [data(3, 9, 20), data(3, 70, 20), data(3, 9, 70)], (1, 8, 64, 4), tolerance=1e-5)


def test_matmul_of_any_number_of_rows() -> None:
    arrays = [data(13, 7), data(7, 70), data(13, 70)]
    check_strips(kernels.matmul("?", 70, 7, a=("?", 7)), arrays, (8, 64, 3), tolerance=1e-5)


@pytest.mark.parametrize("channels", [5, 17, 70])
def test_convolution(channels: int) -> None:
    arrays = [data(2, 3, 12, 12), data(3, 3, 3, channels), data(channels), data(2, channels, 10, 10)]
    for tile in ((1, 64, 1, 0, 2, 1, 1), (1, 64, 4, 7, 2, 1, 1)):
        check_strips(kernels.conv_relu(2, 3, channels, 10, 3), arrays, tile, tolerance=1e-4)


def test_convolution_with_stride() -> None:
    kinds = ["tensor<1x3x4x2x4x2xf32>", "tensor<3x3x3x5xf32>", "tensor<1x5x3x3xf32>"]
    maps = "n,co,h,w,ci,kh,kw -> n,ci,h + kh floordiv 2,kh mod 2,w + kw floordiv 2,kw mod 2 | ci,kh,kw,co | n,co,h,w"
    text = kernels.generic_kernel("conv2d", kinds, maps, "pppprrr", kernels.MAC, inits=["0.0"])
    arrays = [data(1, 3, 4, 2, 4, 2), data(3, 3, 3, 5), data(1, 5, 3, 3)]
    check_strips(text, arrays, (0, 3, 1, 0, 2, 1, 1), tolerance=1e-4)


def test_depthwise_convolution() -> None:
    kinds = ["tensor<1x3x20x20xf32>", "tensor<3x1x3x3x1xf32>", "tensor<1x3x1x18x18xf32>"]
    maps = "n,g,co,h,w,ci,kh,kw -> n,g+ci,h+kh,w+kw | g,ci,kh,kw,co | n,g,co,h,w"
    text = kernels.generic_kernel("conv2d", kinds, maps, "ppppprrr", kernels.MAC, inits=["0.0"])
    check_strips(text, [data(1, 3, 20, 20), data(3, 1, 3, 3, 1), data(1, 3, 1, 18, 18)], tolerance=1e-4)


COPY = "%x: f32, %o: f32 { linalg.yield %x : f32 }"


@pytest.mark.parametrize("shape", [(3, 5), (16, 16), (33, 70), (64, 20), (8, 100)])
def test_transpose(shape: tuple[int, int]) -> None:
    a, b = shape
    kinds = [f"tensor<{a}x{b}xf32>", f"tensor<{b}x{a}xf32>"]
    text = kernels.generic_kernel("transpose", kinds, "b,a -> a,b | b,a", "pp", COPY)
    for tile in (None, (32, 32), (5, 7)):
        check_strips(text, [data(a, b), data(b, a)], tile)


def test_permuted_dims() -> None:
    kinds = ["tensor<3x5x40xf32>", "tensor<40x3x5xf32>"]
    text = kernels.generic_kernel("transpose", kinds, "a,b,c -> b,c,a | a,b,c", "ppp", COPY)
    check_strips(text, [data(3, 5, 40), data(40, 3, 5)], (17, 2, 3))
    turned = kernels.generic_kernel("transpose", kinds, "b,c,a -> b,c,a | a,b,c", "ppp", COPY)
    check_strips(turned, [data(3, 5, 40), data(40, 3, 5)], (4, 2, 17))
    kinds = ["tensor<3x5x40xf32>", "tensor<5x3x40xf32>"]
    text = kernels.generic_kernel("transpose", kinds, "a,b,c -> b,a,c | a,b,c", "ppp", COPY)
    check_strips(text, [data(3, 5, 40), data(5, 3, 40)])


POOLS = {
    "max": "%r = arith.maximumf %x, %m : f32",
    "avg": "%r = arith.addf %x, %m : f32",
}


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pools(kind: str) -> None:
    body = f"%x: f32, %w: f32, %m: f32 {{ {POOLS[kind]}\n linalg.yield %r : f32 }}"
    kinds = ["tensor<2x3x22x24xf32>", "tensor<2x3xf32>", "tensor<2x3x21x22xf32>"]
    maps = "n,c,h,w,kh,kw -> n,c,h+kh,w+kw | kh,kw | n,c,h,w"
    text = kernels.generic_kernel("pool", kinds, maps, "pppprr", body, inits=["-1.0"])
    for tile in (None, (1, 2, 0, 17, 1, 1)):
        check_strips(text, [data(2, 3, 22, 24), data(2, 3), data(2, 3, 21, 22)], tile, tolerance=1e-5)
    kinds = ["tensor<1x3x4x2x40x2xf32>", "tensor<3x3xf32>", "tensor<1x3x3x39xf32>"]
    maps = "n,c,h,w,kh,kw -> n,c,h + kh floordiv 2,kh mod 2,w + kw floordiv 2,kw mod 2 | kh,kw | n,c,h,w"
    text = kernels.generic_kernel("pool", kinds, maps, "pppprr", body, inits=["-1.0"])
    arrays = [data(1, 3, 4, 2, 40, 2), data(3, 3), data(1, 3, 3, 39)]
    check_strips(text, arrays, (0, 2, 1, 0, 1, 1), tolerance=1e-5)


def test_batches_and_vectors() -> None:
    kinds = ["tensor<3x4x5xf32>", "tensor<3x5x70xf32>", "tensor<3x4x70xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,k,n | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check_strips(text, [data(3, 4, 5), data(3, 5, 70), data(3, 4, 70)], (1, 3, 64, 2), tolerance=1e-5)
    kinds = ["tensor<3x4x70xf32>", "tensor<3x20x70xf32>", "tensor<3x4x20xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,n,k | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check_strips(text, [data(3, 4, 70), data(3, 20, 70), data(3, 4, 20)], (1, 4, 16, 4), tolerance=1e-5)
    kinds = ["tensor<40x70xf32>", "tensor<70xf32>", "tensor<40xf32>"]
    text = kernels.generic_kernel("mv", kinds, "m,k -> m,k | k | m", "pr", kernels.MAC, inits=["0.0"])
    check_strips(text, [data(40, 70), data(70), data(40)], (30, 0), tolerance=1e-5)
    kinds = ["tensor<70xf32>", "tensor<70x300xf32>", "tensor<300xf32>"]
    text = kernels.generic_kernel("vm", kinds, "n,k -> k | k,n | n", "pr", kernels.MAC, inits=["0.0"])
    check_strips(text, [data(70), data(70, 300), data(300)], (256, 4), tolerance=1e-5)


def test_argmax() -> None:
    for columns in (7, 70):
        kinds = [f"tensor<5x{columns}xf32>", "tensor<5xf32>", "tensor<5xi64>"]
        text = kernels.generic_kernel(
            "max_dim", kinds, "m,n -> m,n | m | m", "pr", ARGMAX, outs=2, inits=["-1.0e30", "0"]
        )
        check_strips(text, [data(5, columns), data(5), data(5, kind="i64")], (2, 0), outs=2)
    kinds = ["tensor<5x70xf32>", "tensor<70xf32>", "tensor<70xi64>"]
    text = kernels.generic_kernel(
        "max_dim", kinds, "n,m -> m,n | n | n", "pr", ARGMAX, outs=2, inits=["-1.0e30", "0"]
    )
    check_strips(text, [data(5, 70), data(70), data(70, kind="i64")], (40, 0), outs=2)


def test_two_sums_at_once() -> None:
    kinds = ["tensor<5x70xf32>", "tensor<5xf32>", "tensor<5xf32>"]
    body = (
        "%x: f32, %s: f32, %q: f32 { %a = arith.addf %x, %s : f32\n %b = arith.mulf %x, %x : f32\n"
        " %c = arith.addf %b, %q : f32\n linalg.yield %a, %c : f32, f32 }"
    )
    text = kernels.generic_kernel(
        "sums", kinds, "m,n -> m,n | m | m", "pr", body, outs=2, inits=["0.0", "0.0"]
    )
    check_strips(text, [data(5, 70), data(5), data(5)], (2, 0), outs=2, tolerance=1e-5)


def test_full_reduction_and_scalars() -> None:
    kinds = ["tensor<5x70xf32>", "tensor<f32>"]
    body = "%x: f32, %s: f32 { %r = arith.addf %x, %s : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("sum", kinds, "m,n -> m,n | ", "rr", body, inits=["0.0"])
    check_strips(text, [data(5, 70), np.array(1.5, np.float32)], tolerance=1e-5)
    check_strips(text.replace("5x70", "?x?"), [data(5, 70), np.array(1.5, np.float32)], tolerance=1e-5)
    kinds = ["tensor<f32>", "tensor<f32>", "tensor<f32>"]
    body = "%x: f32, %y: f32, %o: f32 { %r = arith.mulf %x, %y : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("mul", kinds, " ->  |  | ", "", body)
    check_strips(text, [np.array(2.5, np.float32), np.array(3.0, np.float32), np.array(0.0, np.float32)])
    kinds = ["tensor<70xf32>", "tensor<f32>", "tensor<70xf32>"]
    text = kernels.generic_kernel("mul", kinds, "a -> a |  | a", "p", body)
    check_strips(text, [data(70), np.array(3.0, np.float32), data(70)], (50,))


@pytest.mark.parametrize("kind", ["f64", "i64", "i32", "i8"])
def test_types(kind: str) -> None:
    f = "f" if kind.startswith("f") else "i"
    mac = (
        f"%x: {kind}, %y: {kind}, %s: {kind} {{ %p = arith.mul{f} %x, %y : {kind}\n"
        f" %r = arith.add{f} %s, %p : {kind}\n linalg.yield %r : {kind} }}"
    )
    zero = "0.0" if f == "f" else "0"
    kinds = [f"tensor<4x5x{kind}>", f"tensor<5x70x{kind}>", f"tensor<4x70x{kind}>"]
    text = kernels.generic_kernel("matmul", kinds, kernels.MATMUL_MAPS, "ppr", mac, inits=[zero])
    check_strips(text, [data(4, 5, kind=kind), data(5, 70, kind=kind), data(4, 70, kind=kind)], (3, 64, 2))
    body = f"%x: {kind}, %s: {kind} {{ %r = arith.add{f} %x, %s : {kind}\n linalg.yield %r : {kind} }}"
    text = kernels.generic_kernel(
        "sum", [f"tensor<4x70x{kind}>", f"tensor<4x{kind}>"], "m,n -> m,n | m", "pr", body, inits=[zero]
    )
    check_strips(text, [data(4, 70, kind=kind), data(4, kind=kind)], (3, 0))


def test_integer_division_past_the_end() -> None:
    body = "%x: i32, %y: i32, %o: i32 { %r = arith.divsi %x, %y : i32\n linalg.yield %r : i32 }"
    text = kernels.generic_kernel(
        "div", ["tensor<3x7xi32>", "tensor<7xi32>", "tensor<3x7xi32>"], "a,b -> a,b | b | a,b", "pp", body
    )
    check_strips(
        text, [data(3, 7, kind="i32"), np.arange(1, 8, dtype=np.int32), data(3, 7, kind="i32")], (2, 0)
    )


def test_mixed_widths() -> None:
    body = (
        "%x: i8, %y: f64, %o: f32 { %a = arith.sitofp %x : i8 to f32\n %b = arith.truncf %y : f64 to f32\n"
        " %r = arith.addf %a, %b : f32\n linalg.yield %r : f32 }"
    )
    kinds = ["tensor<3x70xi8>", "tensor<70xf64>", "tensor<3x70xf32>"]
    text = kernels.generic_kernel("mixed", kinds, "a,b -> a,b | b | a,b", "pp", body)
    check_strips(text, [data(3, 70, kind="i8"), data(70, kind="f64"), data(3, 70)], (2, 0))


def test_quantised_product() -> None:
    body = (
        "%x: i8, %y: i8, %s: i32 { %a = arith.extsi %x : i8 to i32\n %b = arith.extui %y : i8 to i32\n"
        " %p = arith.muli %a, %b : i32\n %r = arith.addi %s, %p : i32\n linalg.yield %r : i32 }"
    )
    kinds = ["tensor<4x5xi8>", "tensor<5x70xi8>", "tensor<4x70xi32>"]
    text = kernels.generic_kernel("matmul", kinds, kernels.MATMUL_MAPS, "ppr", body, inits=["0"])
    check_strips(
        text, [data(4, 5, kind="i8"), data(5, 70, kind="i8"), np.zeros((4, 70), np.int32)], (3, 64, 2)
    )


def test_embedding() -> None:
    kinds = ["tensor<2x3xi64>", "tensor<7x5xf32>", "tensor<2x3x5xf32>"]
    text = kernels.generic_kernel("embedding", kinds, "a,b,c -> a,b | a,b,c", "ppp", EMBEDDING)
    check_strips(text, [np.array([[0, 6, 3], [2, 2, 5]]), data(7, 5), data(2, 3, 5)], (1, 1, 2))


def test_special_values_are_kept() -> None:
    x = data(5, 70)
    x[0, 3], x[1, 69], x[2, 0], x[3] = np.nan, np.inf, -np.inf, -0.0
    check_strips(kernels.relu_chain(5, 70), [x, x])
    body = "%x: f32, %m: f32 { %r = arith.maximumf %x, %m : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel(
        "amax", ["tensor<5x70xf32>", "tensor<5xf32>"], "m,n -> m,n | m", "pr", body, inits=["0xFF800000"]
    )
    check_strips(text, [x, data(5)], (2, 0))
    check_strips(kernels.column_sum(5, 70), [x, data(70)], (64, 0), tolerance=1e-5)
